//! A policy for Redis: one script that holds every limit whose counters are shared, each decided in one atomic
//! step by the time of Redis. What the script does is in `redis_lua/*.lua`, a file per algorithm.

mod parameters;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use self::parameters::{Entry, Part, entry};
use super::{Draft, Exported, comment, plain_name, title, words};
use crate::policy::{GroupCharge, Limit, MissingKey, Mode, OnStoreError, Policy};
use crate::site::Site;

/// What decides, before and behind the limits.
const PRELUDE: &str = include_str!("redis_lua/prelude.lua");
const DRIVER: &str = include_str!("redis_lua/driver.lua");

/// Limits that are asked in one call.
struct Unit<'p> {
    /// What the caller names it by.
    name: String,
    /// How refusals charge: `one` for a limit alone.
    charge: &'static str,
    members: Vec<(usize, &'p Limit, Entry)>,
}

/// Writes the script; `at` names the place whose limits it is for.
pub(super) fn export(policy: &Policy, site: &Site, at: Option<&str>) -> Exported {
    let entries: Vec<(&Limit, Result<Entry, String>)> = policy
        .limits
        .iter()
        .map(|limit| {
            let elsewhere = at.is_some() && limit.at.as_deref() != at;
            let place = || format!("it stands at `{}`", limit.at.as_deref().unwrap_or("no place"));
            (limit, if elsewhere { Err(place()) } else { entry(limit) })
        })
        .collect();
    let mut draft = Draft::new("--");
    let mut units: Vec<Unit<'_>> = Vec::new();
    for (index, (limit, found)) in entries.iter().enumerate() {
        draft.line("--");
        draft.comment(&title(index + 1, limit));
        let about = words::requests(site, &limit.matching);
        draft.comment(&format!(
            "  {}; {about}, {}",
            words::rule(&limit.limiter),
            words::key(limit)
        ));
        match found {
            Err(why) => draft.remark(Some(limit), &format!("left out: {why}")),
            Ok(entry) => {
                let unit = place(&mut units, policy, &entries, index, limit, entry);
                manual(&mut draft, policy, site, index, limit);
                for remark in &entry.remarks {
                    draft.remark(Some(limit), remark);
                }
                if let Err(left_out) = unit {
                    draft.remark(Some(limit), &left_out);
                }
            }
        }
    }
    finish(policy, at, draft, &units)
}

/// Adds a limit to the units: to its group's if all members are in the script.
///
/// # Errors
/// What is to be said of a limit whose group isn't whole.
fn place<'p>(
    units: &mut Vec<Unit<'p>>,
    policy: &Policy,
    entries: &[(&'p Limit, Result<Entry, String>)],
    index: usize,
    limit: &'p Limit,
    entry: &Entry,
) -> Result<(), String> {
    let member = (index, limit, entry.clone());
    let alone =
        |name: &str, member| Unit { name: name.to_owned(), charge: "one", members: vec![member] };
    let Some(group) = &limit.group else {
        units.push(alone(&limit.name, member));
        return Ok(());
    };
    let of_group = |other: &&Limit| other.group.as_ref().is_some_and(|of| of.name == group.name);
    let missing = entries.iter().find(|(other, found)| of_group(other) && found.is_err());
    if let Some((other, _)) = missing {
        units.push(alone(&limit.name, member));
        return Err(format!(
            "it is asked alone, and charged whatever the rest of its group says, since \u{201c}{}\u{201d} isn't in this script",
            other.name
        ));
    }
    let name = group_name(policy, &group.name);
    if let Some(unit) = units.iter_mut().find(|unit| unit.name == name) {
        unit.members.push(member);
        return Ok(());
    }
    let charge = match group.charge {
        GroupCharge::None => "none",
        GroupCharge::All => "all",
    };
    units.push(Unit { name, charge, members: vec![member] });
    Ok(())
}

/// What a group is named by: no limit has that name.
fn group_name(policy: &Policy, group: &str) -> String {
    let mut name = format!("group:{group}");
    while policy.limits.iter().any(|limit| limit.name == name) {
        name.push('\'');
    }
    name
}

/// How a limit is asked.
fn manual(draft: &mut Draft, policy: &Policy, site: &Site, index: usize, limit: &Limit) {
    draft.comment(&format!("  key: {}", key_name(policy, index, limit)));
    if limit.weight.default != 1 || !limit.weight.by_route.is_empty() {
        let mut text = format!("  weight: {}", limit.weight.default);
        for (route, weight) in &limit.weight.by_route {
            let name = site.routes.get(*route).map_or("?", |route| route.name.as_str());
            let _ = write!(text, ", of route {name} {weight}");
        }
        draft.comment(&text);
    }
    if !limit.key.parts.is_empty() {
        draft.comment(match limit.missing_key {
            MissingKey::Skip => "  without the key: don't ask; go on",
            MissingKey::Shared => "  without the key: ask with the key -",
            MissingKey::Refuse => "  without the key: refuse, and don't ask",
        });
    }
    if limit.count_when.is_some() {
        draft.comment("  asking charges nothing. When a response is there that counts (count_when), if no limit refused");
        draft.comment("  the request, call once more with `charge` behind the weights");
    }
    if limit.mode == Mode::Shadow {
        draft.comment("  in shadow: the answer is 1 always, and the sixth number tells whether it would have refused");
    }
    draft.comment(&format!("  who is refused is told: {}", words::retry_after(limit)));
    let on_error = limit.store.as_ref().map(|store| store.on_error);
    draft.comment(match on_error {
        Some(OnStoreError::Allow) => {
            "  no answer in time, or an error: let the request go on (on_store_error = allow)"
        }
        Some(OnStoreError::Refuse) => {
            "  no answer in time, or an error: refuse (on_store_error = refuse)"
        }
        Some(OnStoreError::Local) => {
            "  no answer in time, or an error: count in the instance (on_store_error = local)"
        }
        None => "  no answer in time, or an error: the policy doesn't say; it names no store",
    });
    if let Some(alarm) = limit.alarm {
        draft.remark(
            Some(limit),
            &format!("the script raises no alarm: watch for more than {alarm} asked in a window"),
        );
    }
}

/// The name that a limit's key should have in Redis.
fn key_name(policy: &Policy, index: usize, limit: &Limit) -> String {
    let name = plain_name(&limit.name);
    let same = policy.limits.iter().filter(|other| plain_name(&other.name) == name).count();
    let number =
        if name.is_empty() || same > 1 { format!("{}_", index + 1) } else { String::new() };
    let key = if limit.key.parts.is_empty() { "global" } else { "KEY" };
    format!("shadowcap:{{{key}}}:{number}{name}")
}

fn finish(policy: &Policy, at: Option<&str>, body: Draft, units: &[Unit<'_>]) -> Exported {
    let named = match (&policy.name, &policy.file) {
        (name, file) if file.is_empty() => format!("\u{201c}{name}\u{201d}"),
        (name, file) => format!("\u{201c}{name}\u{201d} ({file})"),
    };
    let at = at.map_or(String::new(), |at| format!(", its limits at `{at}`"));
    let version = env!("CARGO_PKG_VERSION");
    let first = format!("The policy {named} for Redis{at}; written by shadowcap {version}.");
    let mut text = comment("--", &first);
    for line in HEAD.lines() {
        text.push_str(&comment("--", line));
    }
    text.push_str(&comment("--", &words::many_notes(&body.notes)));
    text.push_str(&body.text);
    text.push('\n');
    text.push_str(PRELUDE);
    let parts: BTreeSet<Part> =
        units.iter().flat_map(|unit| &unit.members).map(|(_, _, entry)| entry.part).collect();
    for part in parts {
        text.push_str(part.text());
    }
    text.push_str("\n-- What can be asked, by the name in ARGV[1]; limits of a group together.\nlocal UNITS = {}\n");
    for unit in units {
        let name = lua_text(&unit.name);
        let _ =
            writeln!(text, "UNITS[{name}] = function()\n  return {{ charge = '{}',", unit.charge);
        for (_, _, entry) in &unit.members {
            let _ = writeln!(text, "    {{ {} }},", entry.table);
        }
        text.push_str("  }\nend\n");
    }
    text.push_str(DRIVER);
    Exported { text, notes: body.notes }
}

/// A text as Lua reads it.
fn lua_text(text: &str) -> String {
    let mut out = String::from("'");
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'\'' && byte != b'\\' || byte == b' ' {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "\\{byte:03}");
        }
    }
    out.push('\'');
    out
}

/// How the script is used.
const HEAD: &str = "Made from the policy: change that one, and write this anew.

Load it once (it needs Redis 5 or newer), and ask it by its digest:
  redis-cli -x SCRIPT LOAD < shadowcap.lua
  EVALSHA DIGEST 1 KEY 'NAME OF THE LIMIT' [WEIGHT]
  EVALSHA DIGEST N KEY... 'group:NAME OF THE GROUP' WEIGHT...     (0: not asked about this request; -1: without its key)
After a NOSCRIPT error load it again. It answers six whole numbers:
  1 or 0: the request goes on, or is refused; how many more would pass now; milliseconds until the same request would
  pass if the key sent nothing else (0 if it passes, -1 if it never does); milliseconds until the key is as new;
  the time by which it decided, microseconds since 1970; the member that refuses, or in shadow would, from 1 (0: none).
Where refused requests count, the third is the whole window, unless retry_after is exact: then a refusal reads up to
as many entries as the limit is large.

Ask in the order of this file; the first 0 ends the request, and what earlier limits charged stays charged. Limits of
a group are asked and charged in one step.
KEY is what the limit tells clients apart by, other braces in it replaced: in a cluster those around it keep the keys
of one client together. A group whose members have different keys fails there (CROSSSLOT).
Time is that of Redis (TIME); keys expire a second after they remember nothing, so memory is bounded by those in use.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_its_text() {
        assert_eq!(lua_text("a b"), "'a b'");
        assert_eq!(lua_text("'] = 1\n\\"), "'\\039] = 1\\010\\092'");
        assert_eq!(lua_text("\u{e9}"), "'\\195\\169'");
    }
}
