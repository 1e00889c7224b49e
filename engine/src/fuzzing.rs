//! What the fuzz targets call, so that a normal test can replay what they found: each takes any bytes
//! and must neither panic nor break its promise.

use std::io::{self, Cursor};

use crate::format::apache;
use crate::format::csv::Columns;
use crate::format::detect::{Choice, Format, choose};
use crate::format::fields::Values;
use crate::format::json::{self, Mapping};
use crate::format::load_balancer::Balancer;
use crate::format::nginx;
use crate::format::record::Escape;
use crate::format::request::RequestBuffer;
use crate::format::scanner::Scanner;
use crate::format::template::fold;
use crate::format::wrap;
use crate::ingest::source::blocks::{Blocks, Cut};
use crate::ingest::source::decode;
use crate::ingest::source::tap::Tap;
use crate::policy;
use crate::site::path::normalise;
use crate::site::pattern::Pattern;
use crate::site::read::Files;
use crate::site::{self, Site};

/// What a target does with any bytes.
type Target = fn(&[u8]);

/// The targets by name.
pub const TARGETS: [(&str, Target); 4] =
    [("line", line), ("template", template), ("source", source), ("policy", policy)];

/// One line in a format that the first byte picks.
pub fn line(data: &[u8]) {
    let Some((first, line)) = data.split_first() else { return };
    let scanner = match first % 6 {
        0 => Scanner::Combined,
        1 => Scanner::balancer(Balancer::Alb),
        2 => Scanner::balancer(Balancer::Classic),
        3 => {
            let names = json::names(line).unwrap_or_default();
            Scanner::Json(Format::NginxJson, Mapping::new(&names, &[]))
        }
        4 => {
            let header = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            match Columns::new(header, &[]) {
                Some(columns) => Scanner::Csv(columns),
                None => return,
            }
        }
        _ => {
            let format = r#"$remote_addr:$remote_port "$http_x_forwarded_for" $remote_user [$time_local] "$request" $status $upstream_addr $upstream_response_time $msec "#;
            match nginx::compile(format, Escape::Backslash) {
                Ok(format) => Scanner::LogFormat(Format::NginxCustom, format.into()),
                Err(_) => return,
            }
        }
    };
    let line = if *first % 6 == 4 {
        memchr::memchr(b'\n', line).and_then(|at| line.get(at + 1..)).unwrap_or_default()
    } else {
        line
    };
    let inner = wrap::unwrap(line);
    for text in std::iter::once(line).chain(inner.as_deref()) {
        let mut values = Values::default();
        let Ok(record) = scanner.scan(text, &mut values) else { continue };
        let buffer = RequestBuffer::new(&record);
        if let Some(request) = buffer.request() {
            let normal = normalise(request.path);
            let mut template = Vec::new();
            fold(&normal, &mut template);
            let folded = String::from_utf8_lossy(&template).into_owned();
            let pattern = Pattern::parse(&folded);
            let matches = pattern.as_ref().is_ok_and(|pattern| pattern.matches(&normal));
            assert!(matches, "{folded} doesn't match its path");
        }
        for field in [record.user, record.referer, record.user_agent, record.forwarded] {
            let _ = field.map(|raw| record.escape.undo(raw));
        }
    }
}

/// A format string, and after a line end a line to take apart with it.
pub fn template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (format, line) = text.split_once('\n').unwrap_or((&text, ""));
    let formats = [
        nginx::compile(format, Escape::Backslash).ok(),
        nginx::compile(format, Escape::None).ok(),
        apache::compile(format).ok(),
    ];
    for format in formats.into_iter().flatten() {
        let _ = format.scan(line.as_bytes(), &mut Values::default());
    }
    let _ = nginx::from_conf(&text, None);
    let _ = json::variables(format);
    let _ = Pattern::parse(format).map(|pattern| pattern.matches(line.as_bytes()));
}

/// A file: opened, decompressed, cut, its format chosen. Blocks must end at line ends and stay small.
pub fn source(data: &[u8]) {
    const BLOCK: usize = 64;
    const LINE: usize = 256;
    let tap = Tap::new(Box::new(Cursor::new(data.to_vec())));
    let Ok((_, reader)) = decode::open(tap) else { return };
    let mut blocks = Blocks::new(reader, BLOCK, LINE);
    let _ = choose(blocks.peek(), &Choice::default());
    let mut block = Vec::new();
    let mut read = 0;
    loop {
        let cut = blocks.next_block(&mut block);
        if cut == Cut::End || read > 1 << 20 {
            return;
        }
        read += block.len();
        assert!(block.len() <= 2 * (BLOCK + LINE) + 1, "a block of {} bytes", block.len());
    }
}

/// Every file is this list.
struct OneList;

impl Files for OneList {
    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Ok(b"203.0.113.0/24,0.25\n# comment\n+91,0.5\n".to_vec())
    }
}

/// A site and a policy file. What is wrong is told one line a problem, in the order of the file.
pub fn policy(data: &[u8]) {
    let site = site::read::read(data, "site.toml", &OneList);
    let known = site.clone().unwrap_or_else(|_| Site::default());
    let strict = policy::read::read(data, "policy.toml", &known).map(|_| ());
    let lenient = policy::read::read_lenient(data, "policy.toml", &known).map(|_| ());
    for problems in [site.map(|_| ()), strict, lenient].into_iter().filter_map(Result::err) {
        assert!(!problems.is_empty(), "refused without a reason");
        for problem in &problems {
            assert!(!problem.to_string().contains(['\n', '\r', '\u{1b}']), "{problem:?}");
            assert!(problem.place.line > 0 && problem.place.column > 0, "{problem:?}");
        }
    }
    let _ = policy::read::is_policy(&String::from_utf8_lossy(data));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::TARGETS;

    #[test]
    fn what_fuzzing_found_stays_mended() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/regressions");
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let target = TARGETS.iter().find(|(target, _)| name.starts_with(target));
            target.unwrap_or_else(|| panic!("{name} names no target")).1(&fs::read(&path).unwrap());
        }
    }

    #[test]
    fn every_target_takes_usual_input() {
        let line = b"192.0.2.1 - - [01/Jun/2024:12:00:00 +0000] \"GET /a/17 HTTP/1.1\" 200 5\n";
        for (_, target) in TARGETS {
            for first in 0..6 {
                target(&[[first].as_slice(), line].concat());
            }
            target(b"");
            target(b"$remote_addr [$time_local]\n192.0.2.1 [01/Jun/2024:12:00:00 +0000]");
        }
    }
}
