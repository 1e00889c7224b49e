//! What a replay varies where the log or the enforcement point leaves something open.

use crate::limiter::Limiter;
use crate::limiter::aws_waf::AwsWaf;
use crate::limiter::nginx::{Nginx, Reclaim};

/// One reading of everything that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Variant {
    /// How AWS WAF behaves.
    pub waf: Waf,
    /// Whether nginx frees no keys, whatever the policy says.
    pub no_reclaim: bool,
    /// For random balance.
    pub seed: u64,
    /// Whether lines that were refused already are left out.
    pub drop_already_refused: bool,
    /// The outage that happens, as an index of the site's.
    pub outage: Option<usize>,
    /// Whether the site's clients react to refusals.
    pub closed_loop: bool,
}

/// How AWS WAF behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waf {
    /// What a check finds holds at once.
    #[default]
    Prompt,
    /// Slow to detect, quick to release; checks at this instant modulo 10 s, microseconds.
    Lenient(i64),
    /// Quick to detect, slow to release; checks at this instant modulo 10 s, microseconds.
    Strict(i64),
}

impl Variant {
    /// A limiter as this variant has it.
    pub(super) fn limiter(&self, limiter: &Limiter) -> Limiter {
        match limiter {
            Limiter::AwsWaf(waf) => Limiter::AwsWaf(match self.waf {
                Waf::Prompt => AwsWaf { detect_us: 0, release_us: 0, ..*waf },
                Waf::Lenient(phase_us) => AwsWaf { release_us: 0, phase_us, ..*waf },
                Waf::Strict(phase_us) => AwsWaf { detect_us: 0, phase_us, ..*waf },
            }),
            Limiter::Nginx(nginx) if self.no_reclaim => {
                Limiter::Nginx(Nginx { reclaim: Reclaim::None, ..*nginx })
            }
            other => other.clone(),
        }
    }
}
