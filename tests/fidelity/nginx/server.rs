//! A real nginx for the length of a test: configured in a folder of its own, started on a free
//! port of the loopback address, stopped by its process id whatever the test's end.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::super::local::free_port;

/// How long a start or a stop may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Free ports are asked for and then given up: another program may take one in between.
const ATTEMPTS: u32 = 5;

/// A running nginx. Dropping it ends the process.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    address: SocketAddrV4,
}

impl Server {
    /// Starts this nginx in this folder by a configuration in which `PORT` and `BACKEND` are filled in,
    /// and waits until it listens.
    pub(crate) fn start(nginx: &Path, folder: &Path, template: &str, backend: u16) -> Self {
        for attempt in 1..=ATTEMPTS {
            let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, free_port());
            let conf = template
                .replace("PORT", &address.port().to_string())
                .replace("BACKEND", &backend.to_string());
            fs::write(folder.join("nginx.conf"), conf).unwrap();
            let child = Command::new(nginx)
                .arg("-p")
                .arg(folder)
                .args(["-c", "nginx.conf", "-e", "error.log"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut server = Self { child, folder: folder.to_owned(), address };
            if server.listens() {
                return server;
            }
            let log = fs::read_to_string(folder.join("error.log")).unwrap_or_default();
            assert!(attempt < ATTEMPTS && log.contains("in use"), "nginx does not start: {log}");
        }
        unreachable!("the last attempt returns or fails")
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// Lets it end by itself, so that its log is whole, and gives the log's path.
    pub(crate) fn finish(mut self) -> PathBuf {
        let pid = self.child.id().to_string();
        let sent = Command::new("sh").args(["-c", "kill -QUIT \"$0\"", &pid]).status().unwrap();
        assert!(sent.success(), "nginx ended before its test");
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "nginx does not end");
            sleep(Duration::from_millis(10));
        }
        self.folder.join("access.log")
    }

    /// Whether it listens before it ends or patience does.
    fn listens(&mut self) -> bool {
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
            if TcpStream::connect(self.address).is_ok() {
                // another program's port may answer too
                sleep(Duration::from_millis(50));
                return self.child.try_wait().unwrap().is_none();
            }
            sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
