//! What nginx passes slow requests to: a server that answers after as many milliseconds as the
//! request's `wait=` says.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

/// A thread stack that is enough for a request.
const STACK: usize = 128 * 1024;

/// A listening backend. Dropping it ends its thread.
pub(crate) struct Backend {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Backend {
    /// Listens on a free port.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if until.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                thread::Builder::new().stack_size(STACK).spawn(move || answer(stream)).unwrap();
            }
        });
        Self { address, ended, thread: Some(thread) }
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // wakes the thread, which waits for a connection
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One request, one response: nginx asks by HTTP/1.0. What goes wrong here fails the client's read.
fn answer(stream: TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut wait_ms = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some((_, after)) = line.split_once("wait=") {
            let digits = after.split(|c: char| !c.is_ascii_digit()).next();
            wait_ms = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
        }
        if line == "\r\n" {
            break;
        }
    }
    sleep(Duration::from_millis(wait_ms));
    let _ = reader.get_mut().write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
}
