//! Who the client is behind proxies: the site's rule as nginx's `real_ip` has it.
//! Source: <https://nginx.org/en/docs/http/ngx_http_realip_module.html>.

use super::maps::Why;
use crate::site::Site;
use crate::site::facts::ClientIp;

/// How nginx finds the client.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// What a comment says of it.
    pub(super) words: String,
    /// Directives.
    pub(super) lines: Vec<String>,
    /// Why nginx can't find it as the site does, if so.
    pub(super) unknown: Option<Why>,
    /// What is to be known of it.
    pub(super) remark: Option<String>,
}

/// The site's rule.
pub(super) fn of(site: &Site) -> Client {
    let Some(client) = &site.input.client_ip else {
        let words =
            "Clients are told apart by the address of their connection: the site has no client_ip.";
        return Client { words: words.to_owned(), ..Client::default() };
    };
    match real_ip(client) {
        Ok(found) => found,
        Err(why) => Client {
            words: "The client's address isn't known here.".to_owned(),
            unknown: Some(why.clone()),
            remark: Some(why),
            ..Client::default()
        },
    }
}

fn real_ip(client: &ClientIp) -> Result<Client, Why> {
    let header = header(&client.from).ok_or_else(|| {
        format!("client_ip of the site is taken from `{}`, which is no header", client.from)
    })?;
    let mut found = Client::default();
    match client.hop {
        Some(1) => {
            let all = ["0.0.0.0/0", "::/0", "unix:"];
            found.lines.extend(all.map(|from| format!("set_real_ip_from {from};")));
            found.remark = Some(
                "hop = 1 believes whoever connects: name the proxies (trusted), unless nobody else can reach this server"
                    .to_owned(),
            );
        }
        Some(hop) => {
            return Err(format!(
                "nginx can't take the address {hop} from the right (hop = {hop}): name the proxies instead (trusted)"
            ));
        }
        None => {
            let trusted = client.trusted.iter();
            found.lines.extend(trusted.map(|range| format!("set_real_ip_from {};", range.trunc())));
        }
    }
    let recursive = client.hop.is_none() && client.recursive;
    found.words = format!("The client is who {header} names, as the site says (client_ip).");
    found.lines.push(format!("real_ip_header {header};"));
    found.lines.push(format!("real_ip_recursive {};", if recursive { "on" } else { "off" }));
    Ok(found)
}

/// The header of a field of the log.
fn header(field: &str) -> Option<String> {
    let name = field.to_ascii_lowercase().replace('_', "-");
    let name = name.strip_prefix("http-").or_else(|| name.strip_prefix("header:")).unwrap_or(&name);
    if name == "x-forwarded-for" {
        return Some("X-Forwarded-For".to_owned());
    }
    let of_request = ["http_", "header:"].iter().any(|prefix| field.starts_with(prefix));
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (of_request && plain).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(from: &str, trusted: &[&str], recursive: bool, hop: Option<u8>) -> Client {
        let trusted = trusted.iter().map(|range| range.parse().unwrap()).collect();
        let client_ip = Some(ClientIp { from: from.to_owned(), trusted, recursive, hop });
        let mut site = Site::default();
        site.input.client_ip = client_ip;
        of(&site)
    }

    #[test]
    fn proxies_are_named_as_the_site_does() {
        let found = rule("x_forwarded_for", &["10.1.2.3/8", "2001:db8::/32"], true, None);
        assert_eq!(
            found.lines.join(" "),
            "set_real_ip_from 10.0.0.0/8; set_real_ip_from 2001:db8::/32; real_ip_header X-Forwarded-For; real_ip_recursive on;"
        );
        let found = rule("http_cf_connecting_ip", &["10.0.0.0/8"], false, None);
        assert!(found.lines.contains(&"real_ip_header cf-connecting-ip;".to_owned()));
    }

    #[test]
    fn what_nginx_cant_find_is_said() {
        assert!(rule("X-Forwarded-For", &[], false, Some(1)).remark.is_some());
        assert!(rule("x_forwarded_for", &[], false, Some(2)).unknown.is_some());
        assert!(rule("addr", &["10.0.0.0/8"], true, None).unknown.is_some());
        assert!(rule("http_a;b", &["10.0.0.0/8"], true, None).unknown.is_some());
        assert!(of(&Site::default()).unknown.is_none());
    }
}
