//! Servers for the length of a test: started on the loopback address, waited for, stopped by their
//! process id whatever the test's end.

use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::folder::Folder;
use super::local::free_port;

/// How long a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Free ports are asked for and then given up: another program may take one in between.
const ATTEMPTS: u32 = 5;

/// A server that listens on a port of its own. Dropping it ends the process.
pub(crate) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts what `command` makes of a free port and waits until it listens.
    pub(crate) fn start(command: impl Fn(u16) -> Command) -> Self {
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let mut command = command(port);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
            let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            let mut server = Self { child, port };
            if server.listens() {
                return server;
            }
        }
        panic!("the server does not start");
    }

    /// Where it listens on the loopback address.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether it listens before it ends or patience does.
    fn listens(&mut self) -> bool {
        let begun = Instant::now();
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port);
        while self.child.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
            if TcpStream::connect(address).is_ok() {
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

/// A Redis that keeps nothing on disk, in a folder that goes with it.
pub(crate) struct Redis {
    server: Server,
    _folder: Folder,
}

impl Redis {
    pub(crate) fn start(program: &Path) -> Self {
        let folder = Folder::new();
        let server = Server::start(|port| {
            let mut command = Command::new(program);
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
            command.args(["--save", "", "--appendonly", "no", "--dir", &folder.path()]);
            command
        });
        Self { server, _folder: folder }
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.port()
    }
}
