//! A policy for nginx: a file for its `http` block.
//!
//! Every limit stands there once, for all servers, and tells by its key which requests it is about: nginx
//! doesn't ask a limit about a request whose key is empty. Sources: `ngx_http_limit_req_handler`,
//! `ngx_http_limit_conn_handler`, <https://nginx.org/en/docs/http/ngx_http_map_module.html>.

mod client;
mod conditions;
mod frame;
mod keys;
mod maps;
mod place;
mod plan;
mod routes;
mod zones;

use self::conditions::Conditions;
use self::keys::{Keys, Value};
use self::maps::{Maps, Row, Why, all_ones, found, quoted};
use self::place::Place;
use self::plan::{Kind, Parts, Planned};
use self::routes::Routes;
use self::zones::{Size, zone_name};
use super::{Draft, ExportError, Exported, title, words};
use crate::policy::{Limit, MissingKey, Mode, Policy};
use crate::site::Site;

/// Writes the file.
///
/// # Errors
/// When limits of nginx stand at several places, and none is told.
pub(super) fn export(
    policy: &Policy,
    site: &Site,
    at: Option<&str>,
) -> Result<Exported, ExportError> {
    let place = Place::of(policy, at)?;
    let client = client::of(site);
    let keys = Keys {
        routes: Routes::new(site),
        unknown_client: client.unknown.clone(),
        remarks: Vec::new(),
        logged: Vec::new(),
    };
    let mut file = File {
        site,
        draft: Draft::new("#"),
        maps: Maps::default(),
        conditions: Conditions::new(site, keys),
        refusals: Vec::new(),
    };
    let planned: Vec<(&Limit, Result<Planned<'_>, Why>)> =
        policy.limits.iter().map(|limit| (limit, file.plan(&place, limit))).collect();
    for (index, (limit, plan)) in planned.iter().enumerate() {
        file.draft.line("");
        file.draft.comment(&title(index + 1, limit));
        let about = words::requests(site, &limit.matching);
        file.draft.comment(&format!("{}: {about}, {}", limit.limiter.name(), words::key(limit)));
        match plan {
            Err(why) => file.draft.remark(Some(limit), &format!("left out: {why}")),
            Ok(plan) => {
                for text in plan::remarks(&planned, index, plan) {
                    file.draft.remark(Some(limit), &text);
                }
                if let Err(why) = file.limit(&planned, index, plan) {
                    file.draft.remark(Some(limit), &format!("left out: {why}"));
                }
            }
        }
    }
    file.refusals();
    let frame = frame::Frame {
        policy,
        place: &place,
        client: &client,
        logged: &file.conditions.keys.logged,
        refused: file.refusals.iter().any(|refusal| refusal.enforced),
        watched: file.refusals.iter().any(|refusal| !refusal.enforced),
        planned: &planned,
    };
    Ok(frame.around(file.draft))
}

/// Requests that are refused before limits count.
#[derive(Debug)]
struct Refusal {
    /// The limit, as zones are named.
    name: String,
    /// A variable that is 1 for them, else 0.
    flag: String,
    enforced: bool,
}

/// The file while it is written.
struct File<'s> {
    site: &'s Site,
    draft: Draft,
    maps: Maps,
    conditions: Conditions<'s>,
    refusals: Vec<Refusal>,
}

impl File<'_> {
    /// What a limit needs; what only half of it needs isn't written.
    ///
    /// # Errors
    /// Why it is left out.
    fn plan<'p>(&mut self, place: &Place<'_>, limit: &'p Limit) -> Result<Planned<'p>, Why> {
        let kind = plan::kind(place, limit)?;
        let before = (self.maps.clone(), self.conditions.clone());
        self.conditions.keys.remarks.clear();
        let parts = self.parts(limit, kind);
        if parts.is_err() {
            (self.maps, self.conditions) = before;
        }
        let parts = parts?;
        let remarks = std::mem::take(&mut self.conditions.keys.remarks);
        Ok(Planned { limit, kind, parts, remarks, maps: self.maps.take() })
    }

    fn parts(&mut self, limit: &Limit, kind: Kind<'_>) -> Result<Parts, Why> {
        let flags = self.conditions.flags(&mut self.maps, &limit.matching)?;
        // a block counts nothing: at most it matters whether the key is there
        let needs_key = kind != Kind::Block || limit.missing_key == MissingKey::Skip;
        let values = if needs_key {
            self.conditions.keys.limit(&mut self.maps, &limit.key)?
        } else {
            Vec::new()
        };
        let unsure = values.iter().filter(|value| !value.sure);
        let has: Vec<String> =
            unsure.map(|value| self.maps.present(&value.text)).collect::<Result<_, _>>()?;
        Ok(Parts { flags, values, has })
    }

    /// Writes a limit that is planned.
    ///
    /// # Errors
    /// Why it is left out all the same.
    fn limit(
        &mut self,
        planned: &[(&Limit, Result<Planned<'_>, Why>)],
        index: usize,
        plan: &Planned<'_>,
    ) -> Result<(), Why> {
        self.draft.text.push_str(&plan.maps);
        let (limit, enforced) = (plan.limit, plan.limit.mode == Mode::Enforce);
        let own_name = zone_name(index + 1, limit);
        if matches!(plan.kind, Kind::Block) {
            let mut flags = plan.parts.flags.clone();
            if limit.missing_key == MissingKey::Skip {
                flags.extend(plan.parts.has.iter().cloned());
            }
            let flag = self.maps.all("refuses", &flags)?;
            self.draft.text.push_str(&self.maps.take());
            self.refusals.push(Refusal { name: own_name, flag, enforced });
            return Ok(());
        }
        if limit.missing_key == MissingKey::Refuse && !plan.parts.has.is_empty() {
            let flag = self.without_key(&plan.parts)?;
            self.draft.text.push_str(&self.maps.take());
            let name = format!("{own_name}_without_key");
            self.refusals.push(Refusal { name, flag, enforced });
        }
        let zone = plan::Zone::of(planned, index);
        let name = match planned.get(zone.first) {
            Some((first, _)) => zone_name(zone.first + 1, first),
            None => own_name,
        };
        if zone.first == index {
            let key = self.key(limit, &zone.members, index + 1)?;
            self.draft.text.push_str(&self.maps.take());
            let connections = matches!(plan.kind, Kind::Connections(_));
            let size = Size::of(self.site, &limit.key, &plan.parts.values, connections);
            self.draft.comment(&format!("the zone: {}", size.words()));
            if size.expected.is_some_and(|expected| expected > size.keys) {
                self.draft.note(Some(limit), &format!("the zone: {}", size.words()));
            }
            let mb = size.mb;
            match plan.kind {
                Kind::Requests(nginx) => {
                    let rate = zones::rate(nginx).ok_or("nginx has no such rate")?;
                    self.draft
                        .line(&format!("limit_req_zone {key} zone={name}:{mb}m rate={rate};"));
                }
                _ => self.draft.line(&format!("limit_conn_zone {key} zone={name}:{mb}m;")),
            }
        }
        let (asked, dry_run) = match plan.kind {
            Kind::Requests(nginx) => (zones::request(&name, nginx), "limit_req_dry_run on;"),
            Kind::Connections(limit) => {
                (zones::connections(&name, limit), "limit_conn_dry_run on;")
            }
            Kind::Block => return Ok(()),
        };
        if plan::apart(planned, index, plan).is_none() {
            self.draft.line(&asked);
        } else if enforced {
            self.draft.comment(&format!("  {asked}"));
        } else {
            self.draft.comment(&format!("  {asked} {dry_run}"));
        }
        Ok(())
    }

    /// The key of a zone, which is empty for requests that none of its limits is about.
    fn key(&mut self, limit: &Limit, members: &[&Parts], number: usize) -> Result<String, Why> {
        let Some(Parts { values, has, .. }) = members.first() else { return Err(String::new()) };
        let texts: Vec<&str> = values.iter().map(|value: &Value| value.text.as_str()).collect();
        let text = if texts.is_empty() { "all".to_owned() } else { texts.join("\n") };
        let mut flags: Vec<Vec<String>> = members.iter().map(|parts| parts.flags.clone()).collect();
        flags.dedup();
        let everything = flags.iter().any(Vec::is_empty);
        let shares = limit.missing_key == MissingKey::Shared && !has.is_empty();
        if everything && (has.is_empty() || values.len() == 1 && !shares) {
            return Ok(quoted(&text));
        }
        let about = match flags.as_slice() {
            _ if everything => Vec::new(),
            [only] => only.clone(),
            several => {
                let all = several.iter().map(|flags| self.maps.all("is_meant", flags));
                let all = all.collect::<Result<Vec<_>, _>>()?.concat();
                vec![self.maps.map("is_any", &all, &[(found("1"), "1".to_owned())], "0")?]
            }
        };
        let mut rows: Vec<Row> = vec![(all_ones(about.len() + has.len()), quoted(&text))];
        if shares {
            // no header has a line end in it
            let row = found(&format!(r"^1{{{}}}[01]{{{}}}\z", about.len(), has.len()));
            rows.push((row, quoted("\n")));
        }
        let source = about.concat() + &has.concat();
        self.maps.map(&format!("key_{number}"), &source, &rows, "\"\"")
    }

    /// Requests that a limit is about and that don't have its key.
    fn without_key(&mut self, parts: &Parts) -> Result<String, Why> {
        let Parts { flags, has, .. } = parts;
        let source = flags.concat() + &has.concat();
        let rows = [
            (all_ones(flags.len() + has.len()), "0".to_owned()),
            (found(&format!("^1{{{}}}", flags.len())), "1".to_owned()),
        ];
        self.maps.map("without_key", &source, &rows, "0")
    }

    /// The variables that name the limit which refuses a request at once, and the one that would.
    fn refusals(&mut self) {
        for (enforced, name) in [(true, "refused"), (false, "would_refuse")] {
            let of_kind = self.refusals.iter().filter(|refusal| refusal.enforced == enforced);
            let of_kind: Vec<&Refusal> = of_kind.collect();
            if of_kind.is_empty() {
                continue;
            }
            let source: String = of_kind.iter().map(|refusal| refusal.flag.as_str()).collect();
            let row = |(number, refusal): (usize, &&Refusal)| {
                (found(&format!("^[01]{{{number}}}1")), refusal.name.clone())
            };
            let rows: Vec<Row> = of_kind.iter().enumerate().map(row).collect();
            // rows are short: this can't fail
            let _ = self.maps.map(name, &source, &rows, "\"\"");
            self.draft.line("");
            self.draft.text.push_str(&self.maps.take());
        }
    }
}
