//! A real nginx for the length of a test, configured in a folder of its own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::super::local::{PATIENCE, Server};

/// A running nginx. Dropping it ends the process.
pub(crate) struct Nginx {
    server: Server,
    folder: PathBuf,
}

impl Nginx {
    /// Starts this nginx in this folder by a configuration in which `PORT` and `BACKEND` are filled in,
    /// and waits until it listens.
    pub(crate) fn start(nginx: &Path, folder: &Path, template: &str, backend: u16) -> Self {
        let server = Server::start(|port| {
            let conf = template
                .replace("PORT", &port.to_string())
                .replace("BACKEND", &backend.to_string());
            fs::write(folder.join("nginx.conf"), conf).unwrap();
            let mut command = Command::new(nginx);
            command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "error.log"]);
            command
        });
        Self { server, folder: folder.to_owned() }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.server.port())
    }

    /// Lets it end by itself, so that its log is whole, and gives the log's path.
    pub(crate) fn finish(mut self) -> PathBuf {
        let child = &mut self.server.child;
        let pid = child.id().to_string();
        let sent = Command::new("sh").args(["-c", "kill -QUIT \"$0\"", &pid]).status().unwrap();
        assert!(sent.success(), "nginx ended before its test");
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "nginx does not end");
            sleep(Duration::from_millis(10));
        }
        self.folder.join("access.log")
    }
}
