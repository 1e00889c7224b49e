//! `--decisions`: a row for each request and limit asked, as Parquet.

use shadowcap_engine::measure::cohorts::Cohorts;
use shadowcap_engine::replay::arrangement::Arrangement;
use shadowcap_engine::replay::observer::{Asked, Observer};
use shadowcap_engine::replay::prepare::{Memo, Prepared};
use shadowcap_engine::replay::reference;
use shadowcap_engine::replay::variant::Variant;
use shadowcap_engine::traffic::select::AlreadyRefused;
use shadowcap_engine::units::escape;

use crate::cli::exit::Failure;
use crate::cli::output::Target;
use crate::cli::progress::Progress;
use crate::cli::setting::{Read, Setting};
use crate::report::pseudonym::Names;
use crate::table::decisions::{Decision, DecisionFile};

/// Opens the file.
///
/// # Errors
/// When its name doesn't end in `.parquet` or it can't be made.
pub(super) fn open(name: &str) -> Result<Target, Failure> {
    if !name.ends_with(".parquet") {
        return Err(Failure::Usage(format!(
            "--decisions {name}: they are written as Parquet; end the name in .parquet"
        )));
    }
    Target::open(name)
}

/// Replays the policies once more and writes every decision; the file appears when it is committed.
///
/// # Errors
/// When the file can't be written, or the user interrupts.
pub(super) fn write(
    setting: &Setting,
    read: &Read,
    drop_already_refused: bool,
    names: &Names,
    target: &Target,
    progress: &Progress,
) -> Result<(), Failure> {
    let Some(handle) = target.file()? else {
        return Err(Failure::Usage("--decisions can't go to standard output".to_owned()));
    };
    let mut file = DecisionFile::new(handle);
    let scene = setting.scene(read, drop_already_refused);
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let cohorts = Cohorts::new(&setting.site, &read.traffic, &selector);
    let arrangement = Arrangement::bunched(&read.traffic);
    let variant = Variant { drop_already_refused, ..Variant::default() };
    for policy in &setting.policies {
        let prepared =
            Prepared::new(policy, &setting.site, &read.traffic, &selector, &mut Memo::default());
        let mut rows = Rows {
            read,
            prepared: &prepared,
            cohorts: &cohorts,
            names,
            file: &mut file,
            failed: None,
        };
        let stopped = || progress.interrupted();
        let done = reference::replay(
            &prepared,
            &read.traffic,
            &selector,
            &arrangement,
            &variant,
            &stopped,
            &mut rows,
        );
        if !done {
            return Err(Failure::interrupted());
        }
        if let Some(why) = rows.failed {
            return Err(target.failed(&why));
        }
    }
    file.finish().map_err(|why| target.failed(&why))
}

/// Turns what a replay tells into rows.
struct Rows<'a> {
    read: &'a Read,
    prepared: &'a Prepared<'a>,
    cohorts: &'a Cohorts<'a>,
    names: &'a Names,
    file: &'a mut DecisionFile,
    failed: Option<String>,
}

impl Observer for Rows<'_> {
    fn asked(&mut self, asked: &Asked) {
        if self.failed.is_some() {
            return;
        }
        let Some(ready) = self.prepared.limits.get(asked.limit) else { return };
        let traffic = &self.read.traffic;
        let event = asked.event;
        let origin = traffic.origin(event);
        let source = origin.and_then(|(source, _)| self.read.summary.source_name(source));
        let rule = self.cohorts.rules.iter().find(|(_, map)| map.contains(event));
        let (verdict, delay_us) = asked.outcome();
        let text = |text: &str| escape::terminal(text.as_bytes());
        let row = Decision {
            time_us: asked.t_us,
            policy: text(&self.prepared.policy.name),
            limit: text(&ready.limit.name),
            key: self.names.show_key(&ready.limit.key, &ready.keys.text(asked.key)),
            route: traffic.place_name(event).map(text),
            cohort: self.cohorts.of(event).name(),
            rule: rule.map(|(name, _)| text(name)),
            verdict,
            delay_us,
            file: source.map(text),
            line: origin.map_or(0, |(_, line)| line),
        };
        self.failed = self.file.push(row).err();
    }
}
