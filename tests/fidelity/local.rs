//! What a test needs of this machine: programs, and servers for its length, started on the loopback
//! address, waited for, stopped by their process id whatever the test's end.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a start or a stop may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// Free ports are asked for and then given up: another program may take one in between.
const ATTEMPTS: u32 = 5;

/// A program of this machine; `None` where there is none.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file());
    if found.is_none() {
        skip(&format!("{program} is absent"));
    }
    found
}

/// Says why a test is skipped. With `servers` in `SHADOWCAP_REQUIRE` that is a failure.
pub(crate) fn skip(why: &str) {
    let required = std::env::var("SHADOWCAP_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word == "servers"), "{why}");
    let _ = writeln!(std::io::stdout(), "skipped: {why}");
}

/// A server that listens on a port of its own. Dropping it ends the process.
pub(crate) struct Server {
    pub(crate) child: Child,
    port: u16,
}

impl Server {
    /// Starts what `command` makes of a free port and waits until it listens. Why one doesn't start it tells
    /// on its standard error, which is the test's.
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

/// A port of the loopback address that was free a moment ago: another program may take it.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
