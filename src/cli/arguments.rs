//! The arguments that change a result, in a fixed order and form, as a report holds them: not the logs'
//! names, threads, or where the report goes, nor what is in a secret.

use clap::ValueEnum;
use shadowcap_engine::ingest::load::LoadOptions;
use shadowcap_engine::units::span;
use shadowcap_engine::units::time;

use super::args::policy::{
    AlreadyLimitedArg, CostArgs, CostingArgs, RecommendArgs, ReplayArgs, ReplayingArgs, WhatIfArgs,
};
use super::args::value::DEFAULT_MAX_BAD;
use super::args::{AnalyzeArgs, FormatArg, InputArgs, KeyArgs, OutputArgs};

/// Of `analyze`.
pub(crate) fn of_analyze(args: &AnalyzeArgs) -> Vec<String> {
    let mut list = vec!["analyze".to_owned()];
    keys(&args.keys, &mut list);
    for window in &args.windows.window {
        list.push(format!("--window={}", span::format(*window).replace(' ', "")));
    }
    replaying(args.site.site.as_ref(), &args.policy, &args.replay, &args.what_if, &mut list);
    costing(&args.cost, &mut list);
    reading(&args.input, &args.keys, &mut list);
    showing(&args.output, &mut list);
    list
}

/// Of `replay`.
pub(crate) fn of_replay(args: &ReplayArgs) -> Vec<String> {
    let mut list = vec!["replay".to_owned()];
    keys(&args.keys, &mut list);
    replaying(args.site.site.as_ref(), &args.policy, &args.replay, &args.what_if, &mut list);
    costing(&args.cost, &mut list);
    reading(&args.input, &args.keys, &mut list);
    showing(&args.output, &mut list);
    list
}

/// Of `cost`.
pub(crate) fn of_cost(args: &CostArgs) -> Vec<String> {
    let mut list = vec!["cost".to_owned()];
    list.extend(args.site.site.iter().map(|name| format!("--site={name}")));
    list.extend(args.policy.iter().map(|policy| format!("--policy={policy}")));
    costing(&args.cost, &mut list);
    list
}

fn costing(args: &CostingArgs, list: &mut Vec<String>) {
    if let Some(horizon) = args.horizon {
        list.push(format!("--horizon={}", span::format(horizon).replace(' ', "")));
    }
    list.extend(args.prices.iter().map(|name| format!("--prices={name}")));
    list.extend(args.now.map(|now| format!("--now={}", time::format_rfc3339(now))));
}

/// Of `recommend`.
pub(crate) fn of_recommend(args: &RecommendArgs) -> Vec<String> {
    let mut list = vec!["recommend".to_owned()];
    keys(&args.keys, &mut list);
    list.extend(args.site.site.as_ref().map(|name| format!("--site={name}")));
    list.extend(args.holdout.map(|us| format!("--holdout={}", span::format(us).replace(' ', ""))));
    if args.already_limited == AlreadyLimitedArg::Drop {
        list.push("--already-limited=drop".to_owned());
    }
    reading(&args.input, &args.keys, &mut list);
    showing(&args.output, &mut list);
    list
}

fn replaying(
    site: Option<&String>,
    policies: &[String],
    args: &ReplayingArgs,
    what_if: &WhatIfArgs,
    list: &mut Vec<String>,
) {
    list.extend(site.map(|name| format!("--site={name}")));
    list.extend(policies.iter().map(|policy| format!("--policy={policy}")));
    if args.already_limited == AlreadyLimitedArg::Drop {
        list.push("--already-limited=drop".to_owned());
    }
    list.extend(what_if.outage.iter().map(|name| format!("--outage={name}")));
    if what_if.clients {
        list.push("--clients".to_owned());
    }
}

fn keys(args: &KeyArgs, list: &mut Vec<String>) {
    list.extend(args.define_key.iter().map(|key| format!("--define-key={key}")));
    list.extend(args.route.iter().map(|route| format!("--route={route}")));
}

fn showing(args: &OutputArgs, list: &mut Vec<String>) {
    if args.pseudonym_key.is_some() {
        list.push("--pseudonym-key".to_owned());
    }
    if args.reveal {
        list.push("--reveal".to_owned());
    }
}

fn reading(input: &InputArgs, keys: &KeyArgs, list: &mut Vec<String>) {
    let mut add = |flag: &str, value: String| list.push(format!("--{flag}={value}"));
    if keys.ipv6_prefix != 64 {
        add("ipv6-prefix", keys.ipv6_prefix.to_string());
    }
    if let Some(from) = input.from {
        add("from", time::format_rfc3339(from));
    }
    if let Some(to) = input.to {
        add("to", time::format_rfc3339(to));
    }
    if let Some(format) = &input.log_format {
        add("log-format", format.clone());
    }
    for field in &input.field {
        add("field", field.clone());
    }
    if let Some(field) = &input.client_ip {
        add("client-ip", field.clone());
    }
    for proxy in &input.trusted_proxy {
        add("trusted-proxy", proxy.clone());
    }
    if let Some(hop) = input.hop {
        add("hop", hop.to_string());
    }
    if input.format != FormatArg::Auto {
        let format = input.format.to_possible_value();
        add("format", format.map_or_else(String::new, |value| value.get_name().to_owned()));
    }
    if input.max_line != LoadOptions::default().max_line {
        add("max-line", input.max_line.to_string());
    }
    if input.max_bad != DEFAULT_MAX_BAD {
        add("max-bad", input.max_bad.to_string());
    }
}
