//! What `analyze` and `replay` share: from requests that were read to a report.

use rayon::prelude::*;
use shadowcap_engine::measure::peaks::Resolution;
use shadowcap_engine::measure::population::{self, Plan};
use shadowcap_engine::measure::{proxies, suspects};
use shadowcap_engine::replay::plan::{self, EngineChoice};
use shadowcap_engine::replay::run::{Replayed, Scene, replay_all, replay_outage};
use shadowcap_engine::units::span::{MINUTE_US, SECOND_US};

use crate::cli::args::InputArgs;
use crate::cli::args::policy::{AlreadyLimitedArg, EngineArg, ReplayingArgs, WhatIfArgs};
use crate::cli::exit::Failure;
use crate::cli::progress::Progress;
use crate::cli::setting::{Read, Setting};
use crate::report::build::{Asked, Built, Material, build};
use crate::report::policies::{InOutage, PolicyMaterial};
use crate::report::pseudonym::Names;

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

/// What a report is to tell.
#[derive(Clone, Copy)]
pub(super) struct Story<'a> {
    pub(super) setting: &'a Setting,
    pub(super) input: &'a InputArgs,
    pub(super) replay: &'a ReplayingArgs,
    pub(super) what_if: &'a WhatIf,
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
        Ok(build(&Material {
            traffic: &read.traffic,
            summary: &read.summary,
            totals: &totals,
            measures: &measures,
            windows_us,
            routes: &projection.routes,
            proxies: proxies::suspect(&read.traffic).as_ref(),
            suspects: &suspects,
            policies: &self.policies(read, &replayed),
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

    /// What is replayed.
    fn scene<'r>(&'r self, read: &'r Read) -> Scene<'r> {
        let closed_loop = self.what_if.clients;
        let engine = match self.replay.engine {
            EngineArg::Auto => EngineChoice::Auto,
            EngineArg::Reference => EngineChoice::Reference,
            EngineArg::Fast => EngineChoice::Fast,
        };
        let scene = self.setting.scene(read, self.drops_already_refused());
        Scene { closed_loop, engine, ..scene }
    }

    /// Replays every policy, and its outages.
    fn replay_all(
        &self,
        read: &Read,
        progress: &Progress,
    ) -> Result<Vec<(Replayed, Vec<InOutage>)>, Failure> {
        let scene = self.scene(read);
        let stopped = || progress.interrupted();
        let policies = &self.setting.policies;
        let replayed = replay_all(&scene, policies, &stopped).ok_or_else(Failure::interrupted)?;
        let all = policies.iter().zip(replayed).map(|(policy, replayed)| {
            let outages = self.what_if.outages.par_iter().map(|outage| {
                let (_, tally) = replay_outage(&scene, policy, *outage, &stopped)?;
                Some(InOutage { outage: *outage, tally })
            });
            Some((replayed, outages.collect::<Option<_>>()?))
        });
        all.collect::<Option<_>>().ok_or_else(Failure::interrupted)
    }

    fn policies<'r>(
        &'r self,
        read: &'r Read,
        replayed: &'r [(Replayed, Vec<InOutage>)],
    ) -> Vec<PolicyMaterial<'r>> {
        let times = &read.traffic.events.times_us;
        // whole seconds, both ends included, as the fullest second is counted
        let second = |us: &i64| us.div_euclid(SECOND_US);
        let ends = times.last().zip(times.first());
        let period_us =
            ends.map_or(0, |(last, first)| (second(last) - second(first) + 1) * SECOND_US);
        let pairs = self.setting.policies.iter().zip(replayed);
        let material = pairs.map(|(policy, (replayed, outages))| PolicyMaterial {
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
