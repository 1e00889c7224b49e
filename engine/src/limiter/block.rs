//! A rule that refuses whatever it matches: country and prefix blocks, deny lists, honeypot fields.
//! Models nginx `deny` (<https://nginx.org/en/docs/http/ngx_http_access_module.html>) and the block
//! actions of firewalls; which requests it matches is not its business.

use super::{Algorithm, Bound, Level, Ready, Verdict};

/// Refuses whatever matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block;

impl Algorithm for Block {
    type State = ();

    fn fresh(&self) -> Self::State {}

    fn ask(&self, (): &Self::State, _t_us: i64, _weight: u64) -> Verdict {
        Verdict::Refuse
    }

    fn charge(&self, (): &mut Self::State, _t_us: i64, _weight: u64) {}

    fn ready(&self, (): &Self::State, _t_us: i64, _weight: u64) -> Ready {
        Ready::Never
    }

    fn level(&self, (): &Self::State, _t_us: i64) -> Level {
        Level::default()
    }

    fn bound(&self, _horizon_us: i64, _tick_us: i64) -> Bound {
        Bound::AtMost(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passes_ever() {
        assert_eq!(Block.ask(&(), 0, 1), Verdict::Refuse);
        assert_eq!(Block.ready(&(), 0, 1), Ready::Never);
        assert_eq!(Block.bound(i64::MAX, 1), Bound::AtMost(0));
    }
}
