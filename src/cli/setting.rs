//! What commands about policies work on: the site, its policies, and the logs read for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use shadowcap_engine::cost::{self, BUILT_IN, Book};
use shadowcap_engine::document::Problem;
use shadowcap_engine::format::detect::Detected;
use shadowcap_engine::ingest::load::{LoadOptions, load};
use shadowcap_engine::ingest::source::discover::Found;
use shadowcap_engine::ingest::summary::Summary;
use shadowcap_engine::policy::{self, Limit, Policy};
use shadowcap_engine::replay::plan::EngineChoice;
use shadowcap_engine::replay::run::Scene;
use shadowcap_engine::site::facts::Balance;
use shadowcap_engine::site::labels::LabelIndex;
use shadowcap_engine::site::matching::{Match, TextCondition};
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::units::span::{DAY_US, SECOND_US};

use super::args::{InputArgs, KeyArgs, MachineArgs};
use super::exit::Failure;
use super::job::OutputJob;
use super::output::Target;
use super::progress::Progress;
use super::{inputs, reading, signals};

/// A file that a user wrote, and what is wrong with it.
#[derive(Debug)]
pub(crate) struct WrongFile {
    /// Its name as given.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
    /// What is wrong, by place.
    pub(crate) problems: Vec<Problem>,
}

/// The site and the policies, checked, and how to read logs for them.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The site.
    pub(crate) site: Site,
    /// The policies.
    pub(crate) policies: Vec<Policy>,
    /// How to read.
    pub(crate) load: LoadOptions,
    labels: LabelIndex,
    site_file: Option<String>,
}

/// Requests that were read.
#[derive(Debug)]
pub(crate) struct Read {
    /// The requests.
    pub(crate) traffic: Traffic,
    /// What else was found.
    pub(crate) summary: Summary,
    steps_us: Vec<i64>,
}

impl Setting {
    /// Reads the site and the policies.
    ///
    /// # Errors
    /// When one of them, or a flag, can't be used.
    pub(crate) fn new(
        site: Option<&str>,
        policies: &[String],
        input: &InputArgs,
        keys: &KeyArgs,
        machine: &MachineArgs,
    ) -> Result<Self, Failure> {
        let site_file = site.map(str::to_owned);
        let site = reading::site(read_site(site)?, keys)?;
        let policies = read_policies(policies, &site)?;
        let mut load = reading::options(input, keys, machine, &site)?;
        let observed = |limit: &Limit| {
            limit.tier(&site).is_some_and(|tier| tier.balance == Some(Balance::Observed))
        };
        if !policies.is_empty() {
            load.projection.replay = true;
            let limits = policies.iter().flat_map(|policy| &policy.limits);
            let limits = limits.map(|limit| &limit.matching);
            load.projection.conditions = conditions(site.matches().chain(limits));
            load.projection.instances =
                policies.iter().flat_map(|policy| &policy.limits).any(observed);
        }
        let labels = LabelIndex::new(&site.labels);
        Ok(Self { site, policies, load, labels, site_file })
    }

    /// Has logs read for sizing limits, too: with all that a replay of any limit of the site's `[[protect]]`s
    /// needs, and who is whose.
    pub(crate) fn read_for_sizing(&mut self) {
        let site = &self.site;
        let limits = self.policies.iter().flat_map(|policy| &policy.limits);
        let limits = limits.map(|limit| &limit.matching);
        let projection = &mut self.load.projection;
        projection.replay = true;
        projection.conditions = conditions(site.matches().chain(limits));
        projection.instances =
            site.tiers.iter().any(|tier| tier.balance == Some(Balance::Observed));
    }

    /// Reads the logs on the threads that were asked for, and goes on with what was read; `written` are the
    /// files that will be, with their flags.
    ///
    /// # Errors
    /// When the logs can't be read, one of them would be replaced, or what is done with them fails.
    pub(crate) fn with_logs<T: Send>(
        &self,
        input: &InputArgs,
        output: &OutputJob,
        written: &[(&Target, &str)],
        work: impl FnOnce(&Read, &Progress) -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        let stop = signals::listen().map_err(|error| Failure::System(error.to_string()))?;
        inputs::pool(self.load.threads)?.install(|| {
            let found = inputs::find(&input.logs)?;
            let json = output.json.as_ref().map(|target| (target, "--json"));
            for (target, flag) in json.into_iter().chain(written.iter().copied()) {
                inputs::refuse_to_replace(&found, target, flag)?;
                self.refuse_to_replace(target, flag)?;
            }
            let progress = Progress::new(inputs::total_bytes(&found), output.progress, stop);
            let done = self.read(found, &progress).and_then(|read| {
                self.refuse_without_durations(&read)?;
                work(&read, &progress)
            });
            progress.clear();
            done
        })
    }

    /// A result must not take the place of a file that says what to do.
    fn refuse_to_replace(&self, target: &Target, flag: &str) -> Result<(), Failure> {
        let policies = self.policies.iter().map(|policy| policy.file.as_str());
        let mut files = policies.chain(self.site_file.as_deref());
        match files.find(|file| target.replaces(Path::new(file))) {
            Some(file) => Err(Failure::Usage(format!(
                "{flag} {file}: this is the site or a policy, and would be replaced"
            ))),
            None => Ok(()),
        }
    }

    fn read(&self, found: Found, progress: &Progress) -> Result<Read, Failure> {
        let (traffic, summary) = load(found, &self.load, progress)?;
        let step = |detected: Option<&Detected>| detected.map_or(SECOND_US, |d| d.resolution_us);
        let steps_us = summary.sources.iter().map(|source| step(source.detected.as_ref()));
        Ok(Read { steps_us: steps_us.collect(), traffic, summary })
    }

    /// Requests in flight can't be counted where no log says how long they took.
    ///
    /// # Errors
    /// When a policy counts them and no line has a duration.
    fn refuse_without_durations(&self, read: &Read) -> Result<(), Failure> {
        let mut limits = self.policies.iter().flat_map(|policy| &policy.limits);
        if !limits.any(Limit::counts_in_flight) {
            return Ok(());
        }
        let events = &read.traffic.events;
        let mut timed: BTreeMap<u32, bool> = BTreeMap::new();
        for (source, us) in events.sources.iter().zip(&events.durations_us) {
            *timed.entry(*source).or_default() |= *us >= 0;
        }
        let Some((untimed, _)) = timed.iter().find(|(_, timed)| !**timed) else { return Ok(()) };
        let source = usize::try_from(*untimed).ok().and_then(|at| read.summary.sources.get(at));
        let source = source.map_or("the log", |source| source.name.as_str());
        for policy in &self.policies {
            if let Some(limit) = policy.limits.iter().find(|limit| limit.counts_in_flight()) {
                return Err(Failure::Usage(format!(
                    "{}:{}: \u{201c}{}\u{201d} counts requests in flight, but {source} doesn't say how long requests took; log $request_time (nginx), %D (Apache) or the like",
                    policy.file, limit.place.line, limit.name
                )));
            }
        }
        Ok(())
    }

    /// What is replayed.
    pub(crate) fn scene<'a>(&'a self, read: &'a Read, drop_already_refused: bool) -> Scene<'a> {
        Scene {
            site: &self.site,
            traffic: &read.traffic,
            conditions: &self.load.projection.conditions,
            labels: &self.labels,
            steps_us: &read.steps_us,
            drop_already_refused,
            closed_loop: false,
            horizon_us: DAY_US,
            engine: EngineChoice::Auto,
        }
    }
}

/// Every condition on text that must be answered while logs are read, each once.
fn conditions<'m>(matches: impl Iterator<Item = &'m Match>) -> Vec<TextCondition> {
    let mut list: Vec<TextCondition> = Vec::new();
    for condition in matches.flat_map(|matching| matching.text_conditions()) {
        if !list.contains(condition) {
            list.push(condition.clone());
        }
    }
    list
}

/// Reads a site file; without a name, a site about which nothing is said.
///
/// # Errors
/// When it can't be read or used.
pub(crate) fn read_site(name: Option<&str>) -> Result<Site, Failure> {
    let Some(name) = name else { return Ok(Site::default()) };
    let bytes = bytes_of(name)?;
    site::read::read(&bytes, name, &Folder::of(Path::new(name)))
        .map_err(|problems| wrong(name, &bytes, problems))
}

/// Reads a policy file.
///
/// # Errors
/// When it can't be read or used.
pub(crate) fn read_policy(name: &str, site: &Site) -> Result<Policy, Failure> {
    let bytes = bytes_of(name)?;
    policy::read::read(&bytes, name, site).map_err(|problems| wrong(name, &bytes, problems))
}

/// Reads policies that are to stand side by side: those of one name, as the old and the new of a change have,
/// are told apart by their files' names, else by the whole paths.
///
/// # Errors
/// When one can't be read or used.
pub(crate) fn read_policies(files: &[String], site: &Site) -> Result<Vec<Policy>, Failure> {
    let mut policies: Vec<Policy> =
        files.iter().map(|name| read_policy(name, site)).collect::<Result<_, _>>()?;
    tell_apart(&mut policies, |policy| {
        let stem = Path::new(&policy.file).file_stem().map(|stem| stem.to_string_lossy());
        format!("{} ({})", policy.name, stem.unwrap_or_default())
    });
    tell_apart(&mut policies, |policy| format!("{}: {}", policy.name, policy.file));
    Ok(policies)
}

/// Renames all that share their name with another.
fn tell_apart(policies: &mut [Policy], rename: impl Fn(&Policy) -> String) {
    let names: Vec<String> = policies.iter().map(|policy| policy.name.clone()).collect();
    for policy in policies {
        if names.iter().filter(|name| **name == policy.name).count() > 1 {
            policy.name = rename(policy);
        }
    }
}

/// The failure of a file with problems.
pub(crate) fn wrong(name: &str, bytes: &[u8], problems: Vec<Problem>) -> Failure {
    let text = String::from_utf8_lossy(bytes).into_owned();
    Failure::Wrong(Box::new(WrongFile { name: name.to_owned(), text, problems }))
}

/// Reads a price book: the one given, else the site's, else the one compiled in.
///
/// # Errors
/// When it can't be read or used.
pub(crate) fn read_book(name: Option<&str>, site: &Site) -> Result<Book, Failure> {
    let of_site = || site.infrastructure.as_ref().and_then(|facts| facts.prices.as_deref());
    let (name, bytes) = match name.or_else(of_site) {
        Some(name) => (name, bytes_of(name)?),
        None => (BUILT_IN.0, BUILT_IN.1.as_bytes().to_vec()),
    };
    cost::read_book(&bytes, name).map_err(|problems| wrong(name, &bytes, problems))
}

/// A file's content.
///
/// # Errors
/// When it can't be read.
pub(crate) fn bytes_of(name: &str) -> Result<Vec<u8>, Failure> {
    fs::read(name).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}
