//! `limit_req` of nginx: a leaky meter in thousandths of a request and whole milliseconds, with every
//! truncation of the original. Source: `ngx_http_limit_req_lookup`, `_account` and `_expire` in
//! <https://github.com/nginx/nginx/blob/master/src/http/modules/ngx_http_limit_req_module.c>.

use super::critical::Critical;
use super::whole::{div_ceil, div_floor, nearest_i64, nearest_u64};
use super::{Algorithm, Bound, Level, Ready, Verdict};
use crate::units::rate::Rate;
use crate::units::span::SECOND_US;

/// Thousandths in one request: the meter's unit.
const ONE: i128 = 1_000;
/// Microseconds in a millisecond: nginx's clock.
const MS_US: i64 = 1_000;
/// How long a key must be idle before it may be freed, milliseconds.
const IDLE_MS: i64 = 60_000;

/// nginx's `limit_req`: a leaky meter in thousandths of a request and whole milliseconds.
///
/// The first request of a key passes with excess 0. Later `excess' = max(0, excess − ⌊rate·Δms/1000⌋ +
/// 1000)`; a request with `excess' > burst·1000` is refused and changes nothing. nginx knows no weights:
/// one request of weight w is w requests of that instant, which all pass or are all refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nginx {
    /// Thousandths of a request per second, as nginx stores it: see [`Nginx::stored_rate`].
    pub rate_milli: u64,
    /// Requests beyond the rate, in requests (nginx's `burst`).
    pub burst: u64,
    /// What waits instead of passing at once.
    pub delay: Delay,
    /// Whether other keys' arrivals free idle ones.
    pub reclaim: Reclaim,
}

/// nginx's `delay=` and `nodelay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Everything in excess waits: nginx's default.
    All,
    /// Nothing waits: `nodelay`.
    None,
    /// Excess over so many requests waits.
    After(u64),
}

/// What happens to idle keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reclaim {
    /// A busy server: a new key frees up to two oldest keys idle for 60 s with no excess left.
    Busy,
    /// Keys are never freed.
    None,
}

/// What is remembered of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NginxState {
    /// Excess at `last_ms`, thousandths of a request.
    pub excess_milli: u64,
    /// When it was last charged, milliseconds since the epoch.
    pub last_ms: i64,
    /// Whether it was ever charged.
    pub seen: bool,
}

impl Nginx {
    /// The rate as nginx keeps it, thousandths of a request per second, truncated: 10r/m is 166.
    pub fn stored_rate(rate: Rate) -> u64 {
        let per_second = i128::from(rate.count) * ONE * i128::from(SECOND_US);
        nearest_u64(per_second.div_euclid(i128::from(rate.per_us.max(1))))
    }

    /// Whether nginx may free the key: idle for 60 s and nothing left of its excess.
    pub fn idle_and_empty(&self, state: &NginxState, now_us: i64) -> bool {
        let idle_ms = now_us.div_euclid(MS_US).saturating_sub(state.last_ms).saturating_abs();
        // one that was looked at and never charged counts as last charged at the beginning of time
        !state.seen || (idle_ms >= IDLE_MS && i128::from(state.excess_milli) <= self.leak(idle_ms))
    }

    /// Whether it can matter that idle keys are freed. One that was idle for 60 s and whose excess has
    /// leaked starts anew either way, unless it was full enough to be empty only just now.
    pub fn freeing_may_matter(&self) -> bool {
        self.reclaim == Reclaim::Busy && self.leak(IDLE_MS) < self.most_excess() + ONE
    }

    /// What leaks in a time, thousandths of a request, truncated as nginx does.
    #[inline]
    fn leak(&self, ms: i64) -> i128 {
        let ms = u64::try_from(ms).unwrap_or(0);
        match self.rate_milli.checked_mul(ms) {
            // division in 64 bits is many times faster, and this is done for every request
            Some(leaked) => i128::from(leaked / 1_000),
            None => i128::from(self.rate_milli).saturating_mul(i128::from(ms)).div_euclid(1_000),
        }
    }

    /// Milliseconds since the last charge, as nginx takes them when its clock was set back.
    #[inline]
    fn elapsed_ms(state: &NginxState, t_us: i64) -> i64 {
        match t_us.div_euclid(MS_US).saturating_sub(state.last_ms) {
            back if back < -IDLE_MS => 1,
            elapsed => elapsed.max(0),
        }
    }

    /// The excess if the request were charged, thousandths of a request.
    #[inline]
    fn excess_with(&self, state: &NginxState, t_us: i64, weight: u64) -> i128 {
        let first = if state.seen {
            let leaked = self.leak(Self::elapsed_ms(state, t_us));
            (i128::from(state.excess_milli) - leaked + ONE).max(0)
        } else {
            0
        };
        (first + (i128::from(weight) - 1) * ONE).max(0)
    }

    fn most_excess(&self) -> i128 {
        i128::from(self.burst) * ONE
    }

    /// What a request hears that leaves such an excess, of those that aren't refused.
    #[inline]
    fn verdict(&self, excess: i128) -> Verdict {
        match nearest_i64(self.held_ms(excess)) {
            0 => Verdict::Pass,
            ms => Verdict::Delay { us: ms.saturating_mul(MS_US) },
        }
    }

    /// How long a request that leaves such an excess is held, milliseconds.
    #[inline]
    fn held_ms(&self, excess: i128) -> i128 {
        let free = match self.delay {
            Delay::None => return 0,
            Delay::All => 0,
            Delay::After(requests) => i128::from(requests) * ONE,
        };
        if excess <= free || self.rate_milli == 0 {
            return 0;
        }
        div_floor((excess - free) * 1_000, i128::from(self.rate_milli))
    }
}

impl Algorithm for Nginx {
    type State = NginxState;

    fn fresh(&self) -> NginxState {
        NginxState::default()
    }

    fn ask(&self, state: &NginxState, t_us: i64, weight: u64) -> Verdict {
        let excess = self.excess_with(state, t_us, weight);
        if excess > self.most_excess() {
            return Verdict::Refuse;
        }
        self.verdict(excess)
    }

    fn charge(&self, state: &mut NginxState, t_us: i64, weight: u64) {
        let moved = !state.seen || Self::elapsed_ms(state, t_us) > 0;
        state.excess_milli = nearest_u64(self.excess_with(state, t_us, weight));
        if moved {
            state.last_ms = t_us.div_euclid(MS_US);
        }
        state.seen = true;
    }

    #[expect(
        clippy::inline_always,
        reason = "the loop that decides all requests of a key lives by it"
    )]
    #[inline(always)]
    fn step(
        &self,
        state: &mut NginxState,
        t_us: i64,
        weight: u64,
        _refusals_count: bool,
    ) -> (Verdict, i128) {
        let elapsed_ms = Self::elapsed_ms(state, t_us);
        let held = i128::from(state.excess_milli) - self.leak(elapsed_ms);
        let first = if state.seen { (held + ONE).max(0) } else { 0 };
        let excess = (first + (i128::from(weight) - 1) * ONE).max(0);
        if excess > self.most_excess() {
            return (Verdict::Refuse, if state.seen { held + ONE } else { 0 });
        }
        if !state.seen || elapsed_ms > 0 {
            state.last_ms = t_us.div_euclid(MS_US);
        }
        state.excess_milli = nearest_u64(excess);
        state.seen = true;
        (self.verdict(excess), excess + ONE)
    }

    fn forgetting_matters(&self, state: &NginxState, t_us: i64) -> bool {
        let elapsed_ms = Self::elapsed_ms(state, t_us);
        let (leaked, excess) = (self.leak(elapsed_ms), i128::from(state.excess_milli));
        state.seen && elapsed_ms >= IDLE_MS && excess <= leaked && leaked < excess + ONE
    }

    fn shift(&self, state: &mut NginxState, by_us: i64) {
        state.last_ms = state.last_ms.saturating_add(by_us.div_euclid(1_000));
    }

    fn ready(&self, state: &NginxState, t_us: i64, weight: u64) -> Ready {
        if self.ask(state, t_us, weight).admits() {
            return Ready::At(t_us);
        }
        if i128::from(weight) > i128::from(self.burst) + 1 || self.rate_milli == 0 {
            return Ready::Never;
        }
        let surplus =
            i128::from(state.excess_milli) + i128::from(weight) * ONE - self.most_excess();
        let wait_ms = div_ceil(surplus * 1_000, i128::from(self.rate_milli));
        let at_ms = i128::from(state.last_ms) + wait_ms;
        Ready::At(nearest_i64(at_ms * i128::from(MS_US)).max(t_us))
    }

    fn level(&self, state: &NginxState, t_us: i64) -> Level {
        let used_milli = self.used_milli(self.fullness(state, t_us));
        Level { used_milli, of_milli: nearest_u64(self.most_excess() + ONE) }
    }

    fn fullness(&self, state: &NginxState, t_us: i64) -> i128 {
        let leaked = self.leak(Self::elapsed_ms(state, t_us));
        if state.seen { i128::from(state.excess_milli) + ONE - leaked } else { 0 }
    }

    fn forgets_us(&self) -> Option<i64> {
        if self.rate_milli == 0 {
            return None;
        }
        // the excess of a full burst and of the request that finds it leaks, and both may come anywhere in
        // their milliseconds
        let ms = div_ceil((self.most_excess() + ONE) * 1_000, i128::from(self.rate_milli)) + 1;
        Some(nearest_i64(ms * i128::from(MS_US)))
    }

    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let horizon = i128::from(horizon_us);
        // a clock finer than nginx's: an interval may touch one millisecond more
        let whole_ms = tick_us.rem_euclid(MS_US) == 0;
        let span_ms = if whole_ms {
            horizon.saturating_sub(i128::from(tick_us)).max(0).div_euclid(i128::from(MS_US))
        } else {
            div_ceil(horizon - 1, i128::from(MS_US)).max(0)
        };
        let leaked = i128::from(self.rate_milli).saturating_mul(span_ms).div_euclid(1_000_000);
        let fresh_starts = match self.reclaim {
            Reclaim::Busy => div_ceil(horizon, i128::from(IDLE_MS) * i128::from(MS_US)),
            Reclaim::None => 0,
        };
        let most = i128::from(self.burst) + 1;
        Bound::AtMost(nearest_u64(most.saturating_add(leaked).saturating_add(fresh_starts)))
    }

    fn tick_us(&self) -> i64 {
        MS_US
    }
}

impl Critical for Nginx {
    fn resized(&self, size: u64) -> Self {
        Self { burst: size, ..*self }
    }

    fn open(&self) -> Self {
        // how long a request is held takes a division, and nobody asks
        Self { delay: Delay::None, ..self.resized(u64::MAX) }
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(div_ceil(demand - ONE, ONE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nginx(rate: &str, burst: u64, delay: Delay) -> Nginx {
        let rate_milli = Nginx::stored_rate(Rate::parse(rate).unwrap());
        Nginx { rate_milli, burst, delay, reclaim: Reclaim::None }
    }

    /// Asks at milliseconds and charges what is admitted.
    fn verdicts(nginx: &Nginx, at_ms: &[i64]) -> Vec<Verdict> {
        let mut state = nginx.fresh();
        let step = |ms: &i64| {
            let verdict = nginx.ask(&state, ms * 1_000, 1);
            if verdict.admits() {
                nginx.charge(&mut state, ms * 1_000, 1);
            }
            verdict
        };
        at_ms.iter().map(step).collect()
    }

    #[test]
    fn rates_are_stored_in_truncated_thousandths() {
        let stored = |text: &str| Nginx::stored_rate(Rate::parse(text).unwrap());
        assert_eq!(stored("10r/s"), 10_000);
        assert_eq!(
            [1, 5, 7, 8, 10, 20, 100].map(|n| stored(&format!("{n}r/m"))),
            [16, 83, 116, 133, 166, 333, 1_666]
        );
    }

    #[test]
    fn without_burst_requests_must_be_a_whole_interval_apart() {
        use Verdict::{Pass, Refuse};
        let nginx = nginx("10r/s", 0, Delay::None);
        assert_eq!(verdicts(&nginx, &[0, 99, 100, 199, 200]), [Pass, Refuse, Pass, Refuse, Pass]);
    }

    #[test]
    fn burst_is_what_passes_beyond_the_first_and_refusals_cost_nothing() {
        let nginx = nginx("8r/m", 7, Delay::None);
        let passed = verdicts(&nginx, &[0; 20]).iter().filter(|v| v.admits()).count();
        assert_eq!(passed, 8);
        // 133 thousandths a second: one request's worth after ⌈1000·1000/133⌉ ms
        let later = verdicts(&nginx, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 7_518, 7_519, 7_520]);
        assert_eq!(
            later.iter().map(|v| v.admits()).skip(8).collect::<Vec<_>>(),
            [false, false, true, false]
        );
    }

    #[test]
    fn excess_waits_as_delay_says() {
        use Verdict::{Delay as Held, Pass, Refuse};
        let all = verdicts(&nginx("10r/s", 3, Delay::All), &[0; 5]);
        assert_eq!(
            all,
            [Pass, Held { us: 100_000 }, Held { us: 200_000 }, Held { us: 300_000 }, Refuse]
        );
        let some = verdicts(&nginx("10r/s", 3, Delay::After(2)), &[0; 5]);
        assert_eq!(some, [Pass, Pass, Pass, Held { us: 100_000 }, Refuse]);
        // an excess too small for a millisecond is passed: 3000/s leaks 3 a ms, 1 is left
        let tiny = Nginx { rate_milli: 999_000, ..nginx("1r/s", 5, Delay::All) };
        assert_eq!(verdicts(&tiny, &[0, 1]), [Pass, Pass]);
    }

    #[test]
    fn a_clock_set_back_leaks_nothing_and_a_clock_set_far_back_one_millisecond() {
        let nginx = nginx("1000r/s", 1, Delay::None);
        let full = NginxState { excess_milli: 1_000, last_ms: 100_000, seen: true };
        assert_eq!(nginx.ask(&full, 99_999_000, 1), Verdict::Refuse);
        assert_eq!(nginx.ask(&full, 40_000_000, 1), Verdict::Refuse);
        assert_eq!(nginx.ask(&full, 39_999_000, 1), Verdict::Pass);
        let mut state = full;
        nginx.charge(&mut state, 39_999_000, 1);
        assert_eq!(state.last_ms, 39_999);
        let mut state = NginxState { excess_milli: 0, ..full };
        nginx.charge(&mut state, 99_999_000, 1);
        assert_eq!((state.last_ms, state.excess_milli), (100_000, 1_000));
    }

    #[test]
    fn a_request_is_ready_at_the_millisecond_it_would_pass() {
        let nginx = nginx("8r/m", 1, Delay::None);
        let mut state = nginx.fresh();
        assert_eq!(nginx.ready(&state, 5, 3), Ready::Never);
        nginx.charge(&mut state, 0, 2);
        assert_eq!(nginx.ready(&state, 400, 1), Ready::At(7_519_000));
        assert_eq!(nginx.level(&state, 0), Level { used_milli: 2_000, of_milli: 2_000 });
        assert_eq!(nginx.level(&state, 60_000_000), Level { used_milli: 0, of_milli: 2_000 });
    }

    #[test]
    fn a_key_may_be_freed_after_a_minute_once_its_excess_is_gone() {
        let slow = nginx("1r/m", 5, Delay::None);
        let mut state = slow.fresh();
        slow.charge(&mut state, 0, 1);
        assert!(!slow.idle_and_empty(&state, 59_999_999));
        assert!(slow.idle_and_empty(&state, 60_000_000));
        slow.charge(&mut state, 0, 1);
        // 16 thousandths a second: 1000 are gone after 62.5 s
        assert!(!slow.idle_and_empty(&state, 62_499_000));
        assert!(slow.idle_and_empty(&state, 62_500_000));
        assert!(slow.idle_and_empty(&slow.fresh(), 99_000_000));
    }

    #[test]
    fn the_bound_counts_the_burst_the_leak_and_fresh_starts() {
        let kept = nginx("10r/s", 5, Delay::None);
        assert_eq!(kept.bound(1_000, 1_000), Bound::AtMost(6));
        assert_eq!(kept.bound(1_001_000, 1_000), Bound::AtMost(16));
        assert_eq!(kept.bound(1_000_001, 1), Bound::AtMost(16));
        let busy = Nginx { reclaim: Reclaim::Busy, ..kept };
        assert_eq!(busy.bound(60_001_000, 1_000), Bound::AtMost(6 + 600 + 2));
    }
}
