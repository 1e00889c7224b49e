//! Sends a schedule over keep-alive connections, a thread each, and reads every response to its end.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddrV4, TcpStream};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::schedule::Shot;

/// A thread stack that is enough for a connection.
const STACK: usize = 128 * 1024;
/// No response takes longer, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends what each hand holds and gives the number of responses.
pub(crate) fn drive(server: SocketAddrV4, hands: Vec<Vec<Shot>>) -> usize {
    // lets every thread connect before the first request is due
    let start = Instant::now() + Duration::from_millis(500);
    let threads: Vec<_> = hands
        .into_iter()
        .map(|shots| {
            let builder = thread::Builder::new().stack_size(STACK);
            builder.spawn(move || send(server, start, &shots)).unwrap()
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

fn send(server: SocketAddrV4, start: Instant, shots: &[Shot]) -> usize {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for shot in shots {
        let due = start + Duration::from_millis(shot.due_ms);
        let wait = due.saturating_duration_since(Instant::now());
        sleep(wait.max(Duration::from_millis(shot.apart_ms)));
        let Shot { client, target, .. } = shot;
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: fidelity.example\r\nUser-Agent: fidelity/1\r\n\
             X-Forwarded-For: 203.0.113.9, {client}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        read_response(&mut stream);
    }
    shots.len()
}

/// Reads one response whose length is told.
fn read_response(stream: &mut TcpStream) {
    let mut bytes = Vec::with_capacity(512);
    let mut chunk = [0; 1024];
    loop {
        if let Some(whole) = length(&bytes) {
            assert!(bytes.len() <= whole, "more than one response to one request");
            if bytes.len() == whole {
                return;
            }
        }
        let count = stream.read(&mut chunk).unwrap();
        assert!(count > 0, "nginx closed a connection: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&chunk[..count]);
    }
}

/// The whole length of a response, once its header is there.
fn length(bytes: &[u8]) -> Option<usize> {
    let header_end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let header = String::from_utf8_lossy(&bytes[..header_end]).to_ascii_lowercase();
    let (_, after) = header.split_once("content-length:").unwrap();
    Some(header_end + 4 + after.lines().next()?.trim().parse::<usize>().unwrap())
}
