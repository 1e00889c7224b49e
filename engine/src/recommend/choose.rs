//! The decision between sizes whose effect is known: one that spares everyone real and stops the attack, one
//! that only spares, or none.

use std::cmp::Reverse;

use super::answer::Point;
use crate::limiter::critical::Sizing;

/// Share of an attack that a limit has to stop where the site requires nothing else, millionths.
pub(super) const ENOUGH_PPM: u64 = 500_000;

/// What single sizes would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tried {
    /// That of the busiest with headroom.
    pub(super) sized: Point,
    /// The one that spares everyone real also where they share a key with an attack, if it is another.
    pub(super) sparing: Option<Point>,
    /// Smaller ones, the largest first.
    pub(super) smaller: Vec<Point>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// This one spares everyone real, and stops enough of the attack.
    Fits(Point),
    /// It spares everyone real. No size would stop enough of this attack: it is no slower for any.
    StopsNothing(Point),
    /// Those that spare everyone real let the attack pass, and those that stop it refuse some: there is no
    /// single answer.
    Overlap,
}

/// Whether enough of an attack is refused.
pub(super) fn is_enough(point: &Point, enough_ppm: u64) -> bool {
    let refused = u128::from(point.attack_refused) * 1_000_000;
    point.attack_requests > 0
        && refused >= u128::from(point.attack_requests) * u128::from(enough_ppm)
}

/// Decides. Where all share one key (`shared`), nobody real can be told from the attack, and that some are
/// refused once it fills the count is what such a cap is for.
pub(super) fn decide(tried: &Tried, enough_ppm: u64, shared: bool) -> Decision {
    let Tried { sized, sparing, smaller } = tried;
    let spares = |point: &Point| shared || point.real_refused == 0;
    let fits = |point: &&Point| spares(point) && is_enough(point, enough_ppm);
    // the smallest first: it stops most
    if let Some(point) = [Some(sized), sparing.as_ref()].into_iter().flatten().find(fits) {
        return Decision::Fits(point.clone());
    }
    let stops = smaller.iter().chain([sized]).any(|point| is_enough(point, enough_ppm));
    let spared = [Some(sized), sparing.as_ref()].into_iter().flatten().find(|point| spares(point));
    match spared {
        Some(point) if !stops => Decision::StopsNothing(point.clone()),
        _ => Decision::Overlap,
    }
}

/// The point that costs least; of several the one that refuses fewest, then stops most, then is largest.
/// `None` unless all have a cost.
pub(super) fn cheapest(points: &[Point]) -> Option<&Point> {
    if points.iter().any(|point| point.cost.is_none()) {
        return None;
    }
    points.iter().min_by_key(|point| {
        let size = Sizing::size_of(&point.limiter);
        let passed = point.attack_requests - point.attack_refused;
        (point.cost, point.real_refused, passed, Reverse(size))
    })
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use super::*;
    use crate::limiter::Limiter;
    use crate::limiter::concurrency::Concurrency;

    /// Of an attack of a hundred requests.
    fn point(limit: u64, real_refused: u64, attack_refused: u64) -> Point {
        Point {
            limiter: Limiter::Concurrency(Concurrency { limit }),
            real_refused,
            unknown_refused: 0,
            attack_requests: 100,
            attack_refused,
            cost: None,
        }
    }

    fn tried(sized: Point, sparing: Option<Point>, smaller: &[Point]) -> Tried {
        Tried { sized, sparing, smaller: smaller.to_vec() }
    }

    #[test]
    fn what_spares_and_stops_is_taken_and_the_smallest_of_such() {
        let both = tried(point(10, 0, 90), Some(point(20, 0, 60)), &[point(5, 3, 95)]);
        assert_eq!(decide(&both, ENOUGH_PPM, false), Decision::Fits(point(10, 0, 90)));
        // customers who share a key with the attack are refused at 10, and at 20 no more
        let mixed = tried(point(10, 2, 90), Some(point(20, 0, 60)), &[point(5, 3, 95)]);
        assert_eq!(decide(&mixed, ENOUGH_PPM, false), Decision::Fits(point(20, 0, 60)));
        // the site requires more than the half
        assert_eq!(decide(&mixed, 700_000, false), Decision::Overlap);
        // a cap for all
        assert_eq!(decide(&mixed, ENOUGH_PPM, true), Decision::Fits(point(10, 2, 90)));
    }

    #[test]
    fn no_answer_is_faked_where_customers_go_as_fast_as_the_attack() {
        let overlap = tried(point(10, 0, 0), None, &[point(8, 0, 0), point(4, 5, 80)]);
        assert_eq!(decide(&overlap, ENOUGH_PPM, false), Decision::Overlap);
        // the site says that a fifth is enough
        let slowed = tried(point(10, 0, 20), None, &[point(4, 5, 80)]);
        assert_eq!(decide(&slowed, 200_000, false), Decision::Fits(point(10, 0, 20)));
        assert_eq!(decide(&slowed, 200_001, false), Decision::Overlap);
    }

    #[test]
    fn an_attack_that_no_size_slows_leaves_the_limit_as_a_ceiling() {
        let slow = tried(point(10, 0, 0), None, &[point(4, 5, 10), point(1, 50, 49)]);
        assert_eq!(decide(&slow, ENOUGH_PPM, false), Decision::StopsNothing(point(10, 0, 0)));
        let none = tried(point(10, 1, 0), None, &[point(1, 50, 49)]);
        assert_eq!(decide(&none, ENOUGH_PPM, false), Decision::Overlap);
    }

    #[test]
    fn the_cheapest_point_is_chosen_only_where_all_are_priced() {
        let cost = |point: Point, cost: u32| Point { cost: Some(cost.into()), ..point };
        let (dear, cheap) = (cost(point(10, 0, 0), 100), cost(point(4, 2, 80), 60));
        let fewer = cost(point(5, 1, 70), 60);
        let all = [dear.clone(), cheap, fewer];
        assert_eq!(cheapest(&all).map(|point| point.real_refused), Some(1));
        assert_eq!(cheapest(&[dear, point(1, 0, 0)]), None);
        assert_eq!(all.iter().filter_map(|point| point.cost).max(), Some(Decimal::from(100)));
    }
}
