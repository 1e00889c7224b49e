//! What stands before and behind the limits: what the file needs, who the client is, what is logged.

use std::fmt::Write as _;

use super::super::{Draft, Exported, words};
use super::client::Client;
use super::place::Place;
use super::plan::{Kind, Plans};
use crate::policy::{Limit, Mode, Policy};

/// The frame of a file.
pub(super) struct Frame<'a> {
    pub(super) policy: &'a Policy,
    pub(super) place: &'a Place<'a>,
    pub(super) client: &'a Client,
    /// Variables that keys are made of.
    pub(super) logged: &'a [String],
    /// Whether some requests are refused at once.
    pub(super) refused: bool,
    /// Whether some would be.
    pub(super) watched: bool,
    pub(super) planned: Plans<'a, 'a>,
}

impl Frame<'_> {
    /// The whole file.
    pub(super) fn around(&self, body: Draft) -> Exported {
        let mut file = Draft::new("#");
        let named = match (&self.policy.name, &self.policy.file) {
            (name, file) if file.is_empty() => format!("\u{201c}{name}\u{201d}"),
            (name, file) => format!("\u{201c}{name}\u{201d} ({file})"),
        };
        let version = env!("CARGO_PKG_VERSION");
        file.comment(&format!(
            "The policy {named} for nginx, its limits {}; written by shadowcap {version}.",
            self.place.words()
        ));
        for line in HEAD.lines() {
            file.comment(line);
        }
        let head = file.text;
        let mut file = Draft { text: String::new(), ..Draft::new("#") };
        if self.refused {
            file.comment("");
            file.remark(
                None,
                "needed in each server that is to be protected, since `http` takes no `if`: if ($shadowcap_refused) { return 403; }",
            );
        }
        file.line("");
        file.comment(&self.client.words);
        if let Some(remark) = &self.client.remark {
            file.remark(None, remark);
        }
        for line in &self.client.lines {
            file.line(line);
        }
        file.line("");
        file.comment("Different statuses, so that a log tells which of the two refused.");
        file.line("limit_req_status 429;");
        file.line("limit_conn_status 503;");
        for (kind, directive) in [(1, "limit_req_dry_run"), (2, "limit_conn_dry_run")] {
            if self.all_in_shadow(kind) {
                file.comment("All of these limits are in shadow. This holds for locations with limits of their own, too:");
                file.line(&format!("{directive} on;"));
            }
        }
        let mut notes = file.notes;
        notes.extend(body.notes);
        let mut text = head;
        text.push_str(&super::super::comment("#", &words::many_notes(&notes)));
        text.push_str(&file.text);
        text.push_str(&body.text);
        let mut end = Draft::new("#");
        end.line("");
        end.comment("What `shadowcap calibrate` needs to check all this: access_log /var/log/nginx/shadowcap.log shadowcap;");
        end.line(&self.log_format());
        text.push_str(&end.text);
        Exported { text, notes }
    }

    fn all_in_shadow(&self, kind: u8) -> bool {
        let limits = self.planned.iter().filter_map(|(_, plan)| plan.as_ref().ok());
        let mut limits = limits
            .filter(|plan| match plan.kind {
                Kind::Requests(_) => kind == 1,
                Kind::Connections(_) => kind == 2,
                Kind::Block => false,
            })
            .map(|plan| plan.limit)
            .peekable();
        limits.peek().is_some() && limits.all(|limit: &Limit| limit.mode == Mode::Shadow)
    }

    fn log_format(&self) -> String {
        let mut fields = String::from(
            r#"rt=$request_time msec=$msec host="$host" limit=$limit_req_status conn=$limit_conn_status"#,
        );
        if !self.client.lines.is_empty() {
            fields.push_str(r#" peer=$realip_remote_addr xff="$http_x_forwarded_for""#);
        }
        if self.refused {
            fields.push_str(r" refused=$shadowcap_refused");
        }
        if self.watched {
            fields.push_str(r" would_refuse=$shadowcap_would_refuse");
        }
        for variable in self.logged {
            let name = variable.trim_start_matches('$');
            let _ = write!(fields, r#" {name}="{variable}""#);
        }
        format!("log_format shadowcap\n    '{COMBINED} '\n    '{fields}';")
    }
}

/// nginx's `combined`.
const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// What the file needs.
const HEAD: &str = "Made from the policy: change that one, and write this anew.

Include it in the http block, once: include /etc/nginx/shadowcap.conf;
It needs nginx 1.17.6 or newer with PCRE and the modules map, geo, limit_req, limit_conn and realip; `nginx -t` tells.
A limit is asked about the requests for which its key isn't empty. Only a server or location without a limit_req
(limit_conn) of its own is under those of this file, and `return` answers before any limit is asked.
nginx asks limit_req before limit_conn, all limits of one kind together: what one refuses is charged to none.";
