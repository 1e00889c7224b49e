//! Which route a request is of, by the exported file in a real nginx and by the engine: paths in every
//! disguise, as a server decodes them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddrV4, TcpStream};

use shadowcap_engine::export::Target;
use shadowcap_engine::site::Site;
use shadowcap_engine::site::path::normalise;

use crate::folder::Folder;
use crate::local::find;
use crate::nginx::start;
use crate::replayed::{exported, here, policy_of, site};

/// A limit whose key is what a placeholder stands for, so that the file tells it.
const POLICY: &str = r#"
name = "routes"
[[limit]]
name = "all routes"
match = { route = ["root"] }
key = ["route", "part"]
algorithm = "nginx"
rate = "1r/m"
burst = 1
"#;

/// The server. It answers before limits are asked.
const CONF: &str = r#"worker_processes 1; daemon off; master_process off; pid nginx.pid; error_log error.log crit;
events { worker_connections 64; }
http {
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  keepalive_requests 100000000; access_log off;
  include shadowcap.conf;
  server { listen 127.0.0.1:PORT; location / { return 200 "$shadowcap_route|$shadowcap_from_path"; } }
}
"#;

/// What paths are made of.
const PIECES: [&str; 40] = [
    "/",
    "/",
    "/",
    "/",
    "a",
    "b",
    "a",
    "b",
    "/a",
    "/b",
    "/g/",
    "/img/",
    ".jpg",
    "%2f",
    "%2F",
    "..",
    ".",
    "%2e",
    "//",
    "%61",
    "%62",
    "%0a",
    "%c3%a9",
    "\u{e9}",
    "*",
    "/u/",
    "/o/",
    "/x",
    "x",
    "%25",
    "%2561",
    "/w",
    "AB",
    "/v%201/%256C%22o;$x",
    "/a/",
    "+",
    "%20",
    ":",
    "%7f",
    "~",
];

#[test]
fn a_request_is_of_the_route_that_the_engine_says() {
    let Some(nginx) = find("nginx") else { return };
    let site = site(&here("routes-site.toml"));
    let file = exported(&policy_of(POLICY, &site), &site, Target::Nginx).text;
    let folder = Folder::new();
    folder.write("shadowcap.conf", &file);
    let live = start(&nginx, &folder, CONF);
    let mut stream = TcpStream::connect(live.address()).unwrap();
    let mut seen = vec![0_u32; site.routes.len() + 1];
    let mut captured = 0;
    let mut number = 7_u64;
    let mut below = |bound: usize| {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(number >> 33).unwrap() % bound
    };
    for turn in 0..12_000 {
        let mut path = String::from("/");
        for _ in 0..below(9) {
            path.push_str(PIECES[below(PIECES.len())]);
        }
        if turn % 4 == 0 {
            path = FIXED[below(FIXED.len())].to_owned();
        }
        let method = ["GET", "GET", "POST", "PUT"][below(4)];
        let host = ["shop.example", "API.example:8080", "[2001:db8::1]", "api.example"][below(4)];
        let Some(answer) = answer(&mut stream, live.address(), method, host, &path) else {
            continue;
        };
        let (place, expected) = expected(&site, method, host, &path);
        assert_eq!(
            String::from_utf8_lossy(&answer),
            String::from_utf8_lossy(&expected),
            "{method} {host} {path}"
        );
        seen[place] += 1;
        captured += u32::from(!expected.ends_with(b"|"));
    }
    assert!(seen.iter().all(|count| *count >= 20), "{seen:?}");
    assert!(captured >= 100, "{captured}");
}

/// Paths that chance rarely makes.
const FIXED: [&str; 17] = [
    "/img/a.jpg",
    "/img/a/b.jpg",
    "/g/a1b2a/x",
    "/g/ab2a",
    "/u/7/o/9/x",
    "/u/7/a/o/9/b/x",
    "/u//o/9/x",
    "/wAbb",
    "/wab%0a",
    "/x%0ab",
    "/x%0ab%0a",
    "/a/b/a",
    "/q/a/q/b/q/a",
    "/v%201/%256C%22o;$x",
    "/a/7",
    "/a/",
    "/a/x/b/y/a",
];

/// The engine's answer, and the route's place; the last for none.
fn expected(site: &Site, method: &str, host: &str, path: &str) -> (usize, Vec<u8>) {
    let normal = normalise(path.as_bytes());
    let host = host.strip_suffix(":8080").unwrap_or(host);
    let host = host.trim_matches(['[', ']']);
    let matches = site
        .routes
        .iter()
        .position(|route| route.matches(method.as_bytes(), Some(host.as_bytes()), &normal));
    let Some(place) = matches else { return (site.routes.len(), b"|".to_vec()) };
    let route = &site.routes[place];
    let mut answer = format!("{}|", route.name).into_bytes();
    answer.extend_from_slice(route.capture("part", &normal).unwrap_or_default());
    (place, answer)
}

/// The body of nginx's answer; `None` where it takes the request for malformed.
fn answer(
    stream: &mut TcpStream,
    address: SocketAddrV4,
    method: &str,
    host: &str,
    path: &str,
) -> Option<Vec<u8>> {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let count = stream.read(&mut chunk).unwrap();
        assert!(count > 0, "nginx closed a connection: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&chunk[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let (_, after) = head.split_once("content-length: ").unwrap();
        let length: usize = after.lines().next().unwrap().parse().unwrap();
        if bytes.len() < end + 4 + length {
            continue;
        }
        if head.contains("connection: close") {
            *stream = TcpStream::connect(address).unwrap();
        }
        return head.starts_with("http/1.1 200").then(|| bytes[end + 4..].to_vec());
    }
}
