//! What `calibrate` must say of a log, route by route.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::support::{program, stderr};

/// A verdict that a route is there to show must occur so often.
const SHOWN: u64 = 20;
/// A count of refused requests may differ by so many where its share allows less.
const FEW: u64 = 2;

/// What is asked of one route.
pub(crate) struct Expected {
    route: &'static str,
    /// Verdicts that the server must have given: a route without them shows nothing.
    shown: &'static [&'static str],
    /// Decisions, running free, that must agree, per thousand.
    agreed_permille: u64,
    /// How far the count of refused requests may be off, per thousand of the observed ones.
    refused_permille: u64,
    /// The most time, in µs, by which an arrival may have to move to explain a disagreement after
    /// the state is re-synchronised.
    margin_us: Option<u64>,
}

impl Expected {
    /// A route whose limits count by address, the slowest by so many thousandths of a request per s.
    /// nginx drops what is below a thousandth each time it drains a key, so a distance that is off by one
    /// ms can leave the state two thousandths off: of a slow rate that is more than two ms.
    pub(crate) const fn each(
        route: &'static str,
        thousandths: u64,
        shown: &'static [&'static str],
    ) -> Self {
        let two_thousandths_us = 2_000_000 / thousandths;
        let margin_us = if two_thousandths_us > 2_000 { two_thousandths_us } else { 2_000 };
        Self { route, shown, agreed_permille: 996, refused_permille: 2, margin_us: Some(margin_us) }
    }

    /// A route of which one limit counts all clients together: one ms decides which of them is refused.
    pub(crate) const fn all(route: &'static str, shown: &'static [&'static str]) -> Self {
        Self { route, shown, agreed_permille: 950, refused_permille: 5, margin_us: None }
    }

    /// A route with a limit of requests in flight. Of an end and an arrival in one ms the log does not
    /// tell which came first, and whoever gets the place keeps others out of it.
    pub(crate) const fn connections(route: &'static str, shown: &'static [&'static str]) -> Self {
        // who gets a place by a millisecond keeps it for long: the margin tells nothing of the clock
        Self { route, shown, agreed_permille: 985, refused_permille: 30, margin_us: None }
    }

    /// What is wrong with a route of the calibration.
    fn judge(&self, found: &Value) -> Vec<String> {
        let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_u64);
        let count = |pointer: &str| number(pointer).unwrap_or_default();
        let (compared, agreed) = (count("/compared"), count("/agreed"));
        let (observed, simulated) = (count("/observed/refuse"), count("/simulated/refuse"));
        let mut wrong = Vec::new();
        for verdict in self.shown {
            if count(&format!("/observed/{verdict}")) < SHOWN {
                wrong.push(format!("the server gave {verdict} fewer than {SHOWN} times"));
            }
        }
        if agreed * 1_000 < compared * self.agreed_permille {
            wrong.push(format!("{agreed} of {compared} agree"));
        }
        if observed.abs_diff(simulated) > (observed * self.refused_permille / 1_000).max(FEW) {
            wrong.push(format!("refused {observed} by the server, {simulated} by the replay"));
        }
        match (self.margin_us, number("/synced_margin_max_us")) {
            (Some(_), None) => wrong.push("no margin is told".to_owned()),
            (Some(most), Some(margin)) if margin > most => {
                wrong.push(format!("a disagreement {margin} µs from the edge"));
            }
            _ => {}
        }
        wrong
    }
}

/// Runs `calibrate`, prints a line for each route and gives what is wrong.
pub(crate) fn calibrate(
    log: &Path,
    site: &Path,
    policy: &Path,
    expected: &[Expected],
) -> Vec<String> {
    let mut command = program();
    command.arg("calibrate").arg(log).arg("--site").arg(site).arg("--policy").arg(policy);
    let output = command.args(["--json", "-"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let calibration: Value = serde_json::from_slice(&output.stdout).unwrap();
    let routes = calibration["routes"].as_array().unwrap();
    let mut wrong = Vec::new();
    for one in expected {
        let Some(found) = routes.iter().find(|found| found["route"] == one.route) else {
            wrong.push(format!("{}: not in the calibration", one.route));
            continue;
        };
        let _ = writeln!(
            std::io::stdout(),
            "fidelity nginx {} {} {}",
            one.route,
            found["compared"],
            found["agreed"]
        );
        wrong.extend(one.judge(found).iter().map(|what| format!("{}: {what}: {found}", one.route)));
    }
    wrong
}
