//! What nginx and Redis say of exported files before anything is asked: of every policy that lies in
//! `policies/`, and of files whose names and patterns try to end a quoted text, a comment or a block.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use shadowcap_engine::export::{Exported, Target};
use shadowcap_engine::policy;
use shadowcap_engine::site::key::Source;
use shadowcap_engine::site::read::Folder as Files;
use shadowcap_engine::site::{self, Site};

use crate::folder::Folder;
use crate::local::{find, free_port};
use crate::replayed::{exported, here, policy as read_policy, policy_of, site as read_site};
use crate::server::Redis;

/// Directives that a file for nginx may hold outside of blocks.
const DIRECTIVES: [&str; 13] = [
    "map",
    "geo",
    "limit_req_zone",
    "limit_conn_zone",
    "limit_req",
    "limit_conn",
    "limit_req_status",
    "limit_conn_status",
    "limit_req_dry_run",
    "limit_conn_dry_run",
    "log_format",
    "set_real_ip_from",
    "real_ip_header",
];

/// A file's directives outside of blocks, read as nginx reads them; rows of blocks are left out.
fn directives(text: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut depth = 0_i32;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '#' => while letters.next_if(|letter| *letter != '\n').is_some() {},
            ';' | '{' | '}' => {
                if depth == 0 && letter != '}' {
                    all.push(std::mem::take(&mut words));
                } else if letter == ';' {
                    assert_eq!(words.len(), 2, "a row of a block: {words:?}");
                }
                words.clear();
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                assert!((0..=1).contains(&depth), "blocks don't nest");
            }
            _ if letter.is_whitespace() => {}
            '"' | '\'' => {
                let mut word = String::new();
                loop {
                    match letters.next().expect("a quoted text has no end") {
                        '\\' => word.extend(letters.next()),
                        end if end == letter => break,
                        inner => word.push(inner),
                    }
                }
                let next = letters.peek().expect("something follows");
                assert!(next.is_whitespace() || *next == ';', "{word}{next}");
                words.push(word);
            }
            _ => {
                let mut word = String::from(letter);
                while let Some(next) =
                    letters.next_if(|next| !next.is_whitespace() && !";{}".contains(*next))
                {
                    word.push(next);
                }
                words.push(word);
            }
        }
    }
    assert!(depth == 0 && words.is_empty(), "something has no end: {words:?}");
    all
}

/// nginx's word on an exported file.
fn check_nginx(nginx: &Path, what: &str, file: &Exported) {
    for directive in directives(&file.text) {
        let name = directive[0].as_str();
        assert!(DIRECTIVES.contains(&name) || name == "real_ip_recursive", "{what}: {directive:?}");
    }
    let folder = Folder::new();
    folder.write("shadowcap.conf", &file.text);
    let refuses = file.text.contains(" $shadowcap_refused {");
    let refuses = if refuses { "if ($shadowcap_refused) { return 403; }" } else { "" };
    let port = free_port();
    let conf = format!(
        "pid nginx.pid; error_log stderr; events {{}}\nhttp {{ client_body_temp_path body; proxy_temp_path proxy; \
         fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi; include shadowcap.conf;\n\
         server {{ listen 127.0.0.1:{port}; access_log access.log shadowcap; {refuses} }} }}\n"
    );
    folder.write("nginx.conf", conf);
    let mut command = Command::new(nginx);
    command.args(["-t", "-p"]).arg(folder.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("[warn]"), "{what}: {said}\n{}", file.text);
}

/// Redis' reply to a command: a word, or the numbers of a list.
fn ask(port: u16, words: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut command = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        write!(command, "${}\r\n", word.len()).unwrap();
        command.extend_from_slice(word);
        command.extend_from_slice(b"\r\n");
    }
    stream.write_all(&command).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    match first.strip_prefix('*') {
        Some(count) => lines.take(count.parse().unwrap()).collect::<Vec<_>>().join(" "),
        None if first.starts_with('$') => lines.next().unwrap(),
        None => first,
    }
}

/// Redis' word on an exported script, each of whose limits is asked once.
fn check_redis(redis: &Redis, what: &str, file: &Exported, names: &[String]) {
    let digest = ask(redis.port(), &[b"SCRIPT", b"LOAD", file.text.as_bytes()]);
    assert_eq!(digest.len(), 40, "{what}: {digest}\n{}", file.text);
    for name in names {
        let key = format!("{what}:{name}");
        let words: [&[u8]; 5] =
            [b"EVALSHA", digest.as_bytes(), b"1", key.as_bytes(), name.as_bytes()];
        let answer = ask(redis.port(), &words);
        assert!(answer.starts_with(":1 :"), "{what}: {name}: {answer}\n{}", file.text);
    }
    let words: [&[u8]; 5] = [b"EVALSHA", digest.as_bytes(), b"1", b"k", b"no such limit"];
    assert!(ask(redis.port(), &words).starts_with("-ERR"), "{what}");
}

/// Every policy that lies there, with its site.
fn policies() -> Vec<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies");
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "toml") && !path.ends_with("site.toml")
            {
                let mut folders = path.ancestors().skip(1);
                let site = folders
                    .find_map(|folder| Some(folder.join("site.toml")).filter(|s| s.is_file()));
                found.push((path, site.unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn nginx_and_redis_take_every_policy() {
    let nginx = find("nginx");
    let redis = find("redis-server").map(|program| Redis::start(&program));
    let mut zones = 0;
    for (path, site) in policies() {
        let (what, site) = (path.display().to_string(), read_site(&site));
        let policy = read_policy(&path, &site);
        let file = exported(&policy, &site, Target::Nginx);
        zones += file.text.matches("\nlimit_req_zone ").count();
        if let Some(nginx) = &nginx {
            check_nginx(nginx, &what, &file);
        }
        let file = exported(&policy, &site, Target::RedisLua);
        let asked = policy.limits.iter().map(|limit| limit.name.clone());
        let asked: Vec<String> =
            asked.filter(|name| file.text.contains(&format!("UNITS['{name}']"))).collect();
        if let Some(redis) = &redis {
            check_redis(redis, &what, &file, &asked);
        }
    }
    assert!(zones >= 10, "{zones}");
}

/// Texts that try to be more than texts.
const NASTY: [&str; 16] = [
    "\"; limit_req_dry_run on; #",
    "'; return 403; '",
    "a\nlimit_req off;\nb",
    "a\r\nuser root;",
    "}\n}\nserver { }",
    "$binary_remote_addr${remote_addr}",
    "${",
    "\\",
    "\\\" ; x",
    "# \u{2028}\u{85}\u{202e}",
    "caf\u{e9} \u{4e2d}\u{6587}",
    "--[[ ]] return 1",
    "]] os.exit() --",
    "'] = nil; redis.call('FLUSHALL') --",
    "~*default include hostnames volatile",
    ";;{{}}\"\"''``\t\u{1b}[2J",
];

/// A text as TOML has it.
fn toml(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        write!(out, "\\U{:08x}", u32::from(letter)).unwrap();
    }
    out.push('"');
    out
}

/// The site: what a file may hold of a text, and where it may not, the text itself.
fn nasty_site(text: &str, list: &str) -> Site {
    let tame: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let quoted = toml(&tame);
    // braces are for placeholders in a path, and stand in the expression
    let path = tame.replace(['{', '}', '/', '*'], "");
    let path = toml(&format!("/x/{path}/{{id}}/*y*/**/z"));
    let regex = toml(&format!("^/r{}(?P<id>[^a\"'{{]+)$", regex_syntax::escape(&tame)));
    let query = toml(&format!("query:{}", tame.replace(['+', '|', '='], "")));
    let toml = format!(
        r#"
name = {quoted}
[input]
client_ip = {{ from = "x_forwarded_for", trusted = ["10.0.0.0/8"] }}
[keys]
user = {{ from = [{query}, "cookie:uid", "header:X-User"] }}
id = {{ from = ["path:id"] }}
[labels.{quoted}]
files = ["{list}"]
[[route]]
name = "path"
path = {path}
[[route]]
name = "regex"
regex = {regex}
"#,
    );
    let read = site::read::read(toml.as_bytes(), "site.toml", &Files::of(Path::new("/")));
    let mut site = read.unwrap_or_else(|problems| panic!("{toml}\n{problems:?}"));
    for source in site.keys.iter_mut().flat_map(|key| key.parts.iter_mut().flatten()) {
        if let Source::Query(name) = source {
            text.clone_into(name);
        }
    }
    site
}

/// A policy that has the text wherever it can stand.
fn nasty_policy(text: &str, site: &Site) -> policy::Policy {
    let tame: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let mut written = std::fs::read_to_string(here("nasty.toml")).unwrap();
    let values = [
        ("@GLOB", toml(&tame).trim_matches('"').to_owned()),
        ("@TEXT", toml(&tame)),
        ("@REGEX", toml(&format!("regex:{}", regex_syntax::escape(&tame)))),
        ("@LABEL", toml(&site.labels[0].name)),
    ];
    for (place, value) in values {
        written = written.replace(place, &value);
    }
    for number in 1..=6 {
        written = written.replace(&format!("@{number}"), &toml(&format!("{tame}{number}")));
    }
    let mut policy = policy_of(&written, site);
    text.clone_into(&mut policy.name);
    for (limit, number) in policy.limits.iter_mut().zip(1..) {
        limit.name = format!("{text}{number}");
        limit.at = Some(text.to_owned());
    }
    policy
}

#[test]
fn no_text_of_a_file_becomes_configuration() {
    let nginx = find("nginx");
    let redis = find("redis-server").map(|program| Redis::start(&program));
    let folder = Folder::new();
    let list = folder.write("list.txt", "192.0.2.0/24\n2001:db8::/32\n0.0.0.0/0\n");
    for text in NASTY {
        let mut site = nasty_site(text, &list);
        let policy = nasty_policy(text, &site);
        text.clone_into(&mut site.labels[0].name);
        let file = exported(&policy, &site, Target::Nginx);
        assert_eq!(file.text.matches("\nlimit_req_zone ").count(), 2, "{}", file.text);
        assert_eq!(file.text.matches("\nlimit_conn_zone ").count(), 1);
        assert!(file.text.contains(" $shadowcap_refused {"));
        if let Some(nginx) = &nginx {
            check_nginx(nginx, text, &file);
        }
        let script = exported(&policy, &site, Target::RedisLua);
        let asked = [format!("{text}5"), format!("{text}6")];
        if let Some(redis) = &redis {
            check_redis(redis, text, &script, &asked);
        }
    }
}
