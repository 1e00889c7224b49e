//! What `analyze` and `replay` share: from requests that were read to a report.

use rayon::prelude::*;
use shadowcap_engine::cost::Book;
use shadowcap_engine::measure::cohorts::Cohorts;
use shadowcap_engine::measure::peaks::Resolution;
use shadowcap_engine::measure::population::{self, Plan};
use shadowcap_engine::measure::{proxies, suspects};
use shadowcap_engine::metric::{Evidence, Log, evaluate, outages_required};
use shadowcap_engine::recommend::answer::Recommended;
use shadowcap_engine::recommend::protects::protects;
use shadowcap_engine::recommend::sizing::curves;
use shadowcap_engine::recommend::{holdout, recommend};
use shadowcap_engine::replay::plan::{self, EngineChoice};
use shadowcap_engine::replay::run::{Replayed, Scene, replay_all, replay_outage};
use shadowcap_engine::replay::spend::{self, SpendTally};
use shadowcap_engine::replay::tally::Tally;
use shadowcap_engine::traffic::select::AlreadyRefused;
use shadowcap_engine::units::span::{MINUTE_US, SECOND_US};

use crate::cli::args::InputArgs;
use crate::cli::args::policy::{
    AlreadyLimitedArg, CostingArgs, EngineArg, ReplayingArgs, WhatIfArgs,
};
use crate::cli::exit::Failure;
use crate::cli::progress::Progress;
use crate::cli::setting::{Read, Setting};
use crate::report::build::{Asked, Built, Material, Required, build};
use crate::report::costs::CostMaterial;
use crate::report::curves::CurveMaterial;
use crate::report::policies::{InOutage, PolicyMaterial};
use crate::report::pseudonym::Names;
use crate::report::recommendations::ToSet;

/// Path templates that are measured on their own when no routes are given.
const TOP_TEMPLATES: usize = 10;

/// What else could happen, checked.
#[derive(Debug)]
pub(super) struct WhatIf {
    /// Outages, as indices of the site's, in its order.
    outages: Vec<usize>,
    /// Whether the site's clients react to refusals.
    clients: bool,
}

impl WhatIf {
    /// Checks what was asked for against what the site says.
    ///
    /// # Errors
    /// When the site knows no such outage, or no clients, or nothing is replayed, or the fast engine is
    /// asked for where it can't be.
    pub(super) fn new(
        args: &WhatIfArgs,
        replay: &ReplayingArgs,
        setting: &Setting,
    ) -> Result<Self, Failure> {
        let Setting { site, policies, .. } = setting;
        let usage = |text: String| Err(Failure::Usage(text));
        if policies.is_empty() && (args.clients || !args.outage.is_empty()) {
            return usage(
                "--outage and --clients say how policies are replayed: give --policy".to_owned(),
            );
        }
        if args.clients && site.clients.is_empty() {
            return usage(
                "--clients: the site describes none; write [client.NAME] into it".to_owned(),
            );
        }
        if replay.engine == EngineArg::Fast {
            if args.clients || !args.outage.is_empty() {
                let text = "--engine fast: --clients and --outage need the reference engine";
                return usage(text.to_owned());
            }
            for policy in policies {
                if let Err(found) = plan::fast(policy, site) {
                    return usage(plan::refusal(policy, found));
                }
            }
        }
        let names: Vec<&str> = site.outages.iter().map(|outage| outage.name.as_str()).collect();
        let all = args.outage.iter().any(|name| name == "all");
        if let Some(first) = args.outage.first()
            && names.is_empty()
        {
            return usage(format!(
                "--outage {first}: the site declares none; write [[outage]] into it"
            ));
        }
        let unknown = |name: &&String| *name != "all" && !names.contains(&name.as_str());
        if let Some(name) = args.outage.iter().find(unknown) {
            let known = names.join(", ");
            return usage(format!("--outage {name}: the site has no such outage, but: {known}"));
        }
        let asked = |name: &str| all || args.outage.iter().any(|asked| asked == name);
        let outages = names.iter().enumerate().filter(|(_, name)| asked(name));
        Ok(Self { outages: outages.map(|(index, _)| index).collect(), clients: args.clients })
    }
}

/// What the replays of a policy told.
struct Told {
    replayed: Replayed,
    /// What-ifs that were asked for.
    outages: Vec<InOutage>,
    /// All that was counted in these and in those that requirements name, by their indices.
    required: Vec<(usize, Tally)>,
}

/// What a report is to tell.
#[derive(Clone, Copy)]
pub(super) struct Story<'a> {
    pub(super) setting: &'a Setting,
    pub(super) input: &'a InputArgs,
    pub(super) replay: &'a ReplayingArgs,
    pub(super) what_if: &'a WhatIf,
    pub(super) cost: &'a CostingArgs,
    /// Prices of what the limits run on.
    pub(super) book: &'a Book,
    /// Windows to measure, microseconds, ascending; none where peaks aren't told.
    pub(super) windows_us: &'a [i64],
    /// The arguments that change the result, in a fixed order and form.
    pub(super) arguments: &'a [String],
}

impl Story<'_> {
    /// Whether requests that were refused already are left out.
    pub(super) fn drops_already_refused(&self) -> bool {
        self.replay.already_limited == AlreadyLimitedArg::Drop
    }

    /// Measures, replays and builds the report.
    ///
    /// # Errors
    /// When the user interrupts.
    pub(super) fn tell(
        &self,
        read: &Read,
        names: &Names,
        progress: &Progress,
    ) -> Result<Built, Failure> {
        self.tell_with(read, names, progress, None)
    }

    /// The same, with limits to set.
    ///
    /// # Errors
    /// When the user interrupts.
    pub(super) fn tell_with(
        &self,
        read: &Read,
        names: &Names,
        progress: &Progress,
        to_set: Option<&ToSet<'_>>,
    ) -> Result<Built, Failure> {
        let Self { setting, input, windows_us, .. } = *self;
        progress.say("measuring");
        let plan = self.plan(read);
        let projection = &setting.load.projection;
        let (totals, measures) = population::measure(&read.traffic, &projection.keys, &plan);
        let minute = |row: &&population::Measure| row.place.is_none() && row.window_us == MINUTE_US;
        let suspects = match (projection.keys.first(), measures.iter().find(minute)) {
            (Some(ip), Some(row)) if row.key == ip.name => {
                suspects::suspects(&read.traffic, ip, &row.histogram, plan.resolution.us)
            }
            _ => Vec::new(),
        };
        if !setting.policies.is_empty() {
            progress.say("replaying");
        }
        let replayed = self.replay_all(read, progress)?;
        let policies = self.policies(read, &replayed);
        let pairs: Vec<_> = policies.iter().map(|of| (of.policy, Some(of.replayed))).collect();
        let costs = CostMaterial {
            site: &setting.site,
            policies: &pairs,
            horizon_us: self.cost.horizon,
            now_us: self.cost.now,
            observed: &self.observed(read),
            log: policies.first().map(|of| (of.period_us, read.summary.sum(|c| c.requests))),
            book: self.book,
        };
        let curves = self.curves(read, progress)?;
        Ok(build(&Material {
            traffic: &read.traffic,
            summary: &read.summary,
            totals: &totals,
            measures: &measures,
            windows_us,
            routes: &projection.routes,
            proxies: proxies::suspect(&read.traffic).as_ref(),
            suspects: &suspects,
            policies: &policies,
            costs: (!policies.is_empty()).then_some(&costs),
            to_set,
            curves: &curves,
            requirements: &self.requirements(read, &replayed),
            max_bad_per_million: input.max_bad.per_million,
            names,
            arguments: self.arguments,
            asked: Asked { client_ip: input.client_ip.as_deref(), fields: &input.field },
        }))
    }

    /// What to measure: the routes, or the busiest templates.
    fn plan(&self, read: &Read) -> Plan {
        let routes = &self.setting.load.projection.routes;
        let places = if self.windows_us.is_empty() {
            Vec::new()
        } else if routes.is_empty() {
            population::top_places(&read.traffic, TOP_TEMPLATES)
        } else {
            (0_u32..).zip(routes).map(|(place, _)| place).collect()
        };
        let step_us = read.summary.resolution_us().unwrap_or(SECOND_US);
        let resolution = Resolution::of(&read.traffic.events.times_us, step_us);
        Plan { windows_us: self.windows_us.to_vec(), resolution, places }
    }

    /// What the log's requests came to, per action of the site; nothing without policies, since then nothing
    /// was read for it.
    fn observed(&self, read: &Read) -> Vec<SpendTally> {
        let scene = self.scene(read);
        if self.setting.policies.is_empty() || scene.site.actions.is_empty() {
            return Vec::new();
        }
        let selector = scene.selector(AlreadyRefused::NoneMatch);
        let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
        spend::observed(scene.site, scene.traffic, &selector, &cohorts, scene.horizon_us)
    }

    /// What is replayed.
    fn scene<'r>(&'r self, read: &'r Read) -> Scene<'r> {
        let closed_loop = self.what_if.clients;
        let engine = match self.replay.engine {
            EngineArg::Auto => EngineChoice::Auto,
            EngineArg::Reference => EngineChoice::Reference,
            EngineArg::Fast => EngineChoice::Fast,
        };
        let scene = self.setting.scene(read, self.drops_already_refused());
        let horizon_us = self.cost.horizon.unwrap_or(scene.horizon_us);
        Scene { closed_loop, engine, horizon_us, ..scene }
    }

    /// Replays every policy, and its outages.
    fn replay_all(&self, read: &Read, progress: &Progress) -> Result<Vec<Told>, Failure> {
        let scene = self.scene(read);
        let stopped = || progress.interrupted();
        let policies = &self.setting.policies;
        let mut outages = self.what_if.outages.clone();
        outages.extend(outages_required(&self.setting.site));
        outages.sort_unstable();
        outages.dedup();
        let replayed = replay_all(&scene, policies, &stopped).ok_or_else(Failure::interrupted)?;
        let all = policies.iter().zip(replayed).map(|(policy, replayed)| {
            let replays = outages
                .par_iter()
                .map(|outage| Some((*outage, replay_outage(&scene, policy, *outage, &stopped)?)));
            let (mut during, mut required) = (Vec::new(), Vec::new());
            for (outage, (all, tally)) in replays.collect::<Option<Vec<_>>>()? {
                if self.what_if.outages.contains(&outage) {
                    during.push(InOutage { outage, tally });
                }
                required.push((outage, all));
            }
            Some(Told { replayed, outages: during, required })
        });
        all.collect::<Option<_>>().ok_or_else(Failure::interrupted)
    }

    /// What the site wants sized, where peaks are told; nothing for a site that doesn't say.
    fn curves(&self, read: &Read, progress: &Progress) -> Result<Vec<CurveMaterial>, Failure> {
        let site = &self.setting.site;
        if self.windows_us.is_empty() || site.protects.is_empty() {
            return Ok(Vec::new());
        }
        progress.say("sizing");
        let keys = &self.setting.load.projection.keys;
        let targets = protects(site, &read.traffic, keys);
        let (scene, policies) = (self.scene(read), &self.setting.policies);
        let stopped = || progress.interrupted();
        let curves =
            curves(&scene, &targets, policies, &stopped).ok_or_else(Failure::interrupted)?;
        let knows_customers = !site.customers.is_empty();
        let material = |(target, curves)| CurveMaterial { target, curves, knows_customers };
        Ok(targets.into_iter().zip(curves).map(material).collect())
    }

    /// Which limits to set; chosen without the last `holdout_us` of the log, and held against them.
    ///
    /// # Errors
    /// When the log is too short for that, or the user interrupts.
    pub(super) fn recommended(
        &self,
        read: &Read,
        progress: &Progress,
        holdout_us: Option<i64>,
    ) -> Result<Recommended, Failure> {
        progress.say("choosing limits");
        let setting = self.setting;
        let scene = setting.scene(read, self.drops_already_refused());
        let targets = protects(&setting.site, &read.traffic, &setting.load.projection.keys);
        let stopped = || progress.interrupted();
        let recommended = match holdout_us {
            None => recommend(&scene, &targets, &stopped),
            Some(us) => {
                let cut_us = holdout::cut_us(&read.traffic, us)
                    .map_err(|why| Failure::Usage(format!("--holdout: {why}")))?;
                holdout::recommend_and_hold_out(&scene, &targets, cut_us, &stopped)
            }
        };
        recommended.ok_or_else(Failure::interrupted)
    }

    /// What came of the site's requirements under each policy.
    fn requirements<'r>(&'r self, read: &Read, told: &'r [Told]) -> Vec<Required<'r>> {
        let now_us = self.cost.now;
        let pairs = self.setting.policies.iter().zip(told);
        let outcomes = pairs.map(|(policy, Told { replayed, required, .. })| {
            let unreadable = read.summary.unreadable();
            let log = Some(Log { replayed, outages: required, unreadable });
            let evidence = Evidence { site: &self.setting.site, policy, log, now_us };
            (policy, evaluate(&evidence))
        });
        outcomes.collect()
    }

    fn policies<'r>(&'r self, read: &'r Read, told: &'r [Told]) -> Vec<PolicyMaterial<'r>> {
        let times = &read.traffic.events.times_us;
        // whole seconds, both ends included, as the fullest second is counted
        let second = |us: &i64| us.div_euclid(SECOND_US);
        let ends = times.last().zip(times.first());
        let period_us =
            ends.map_or(0, |(last, first)| (second(last) - second(first) + 1) * SECOND_US);
        let pairs = self.setting.policies.iter().zip(told);
        let material = pairs.map(|(policy, Told { replayed, outages, .. })| PolicyMaterial {
            policy,
            replayed,
            outages,
            site: &self.setting.site,
            traffic: &read.traffic,
            period_us,
            closed_loop: self.what_if.clients,
        });
        material.collect()
    }
}
