//! What waits: in order, as long as there is room, and for no longer than it must.

use super::*;

fn spaced(min_time_us: i64, max_concurrent: Option<u64>) -> Limiter {
    Limiter::Spacing(Spacing { min_time_us, max_concurrent })
}

#[test]
fn what_waits_starts_in_order_and_a_full_queue_lets_go() {
    let spacing = |strategy| Limit {
        queue: Some(Queue { high_water: Some(1), strategy }),
        ..of("spaced", spaced(SECOND_US, Some(1)))
    };
    let rows: Vec<Row> = (0..3).map(|_| (0, 1, 200, 0)).collect();
    let leak = run(vec![spacing(Strategy::Leak)], &rows);
    assert_eq!((refused(&leak), leak.base.delayed), (vec![1], 1));
    let overflow = run(vec![spacing(Strategy::Overflow)], &rows);
    assert_eq!(overflow.base.limits[0].delays_us, [SECOND_US]);
    let block = run(vec![spacing(Strategy::Block)], &rows);
    assert_eq!((refused(&block), block.base.delayed), (vec![2], 0));
    let endless = Limit {
        queue: Some(Queue { high_water: None, strategy: Strategy::Leak }),
        ..spacing(Strategy::Leak)
    };
    assert_eq!(run(vec![endless], &rows).base.limits[0].delays_us, [SECOND_US, 2 * SECOND_US]);
}

#[test]
fn a_ban_or_the_lack_of_a_key_is_no_reason_to_wait() {
    let queue = Some(Queue { high_water: Some(1), strategy: Strategy::Overflow });
    let ban = Some(Ban { us: 10 * SECOND_US, extends: false, clears: false });
    let limit = Limit {
        queue,
        ban,
        missing_key: MissingKey::Refuse,
        ..of("spaced", spaced(60 * SECOND_US, Some(1)))
    };
    // the first starts, the second waits, the third finds the line full and is banned, the fourth too
    let rows = [(0, 1, 200, 9), (1, 1, 200, 0), (2, 1, 200, 0), (3, 1, 200, 0), (4, NONE, 200, 0)];
    let replayed = run(vec![limit], &rows);
    assert_eq!(refused(&replayed), [3]);
    assert_eq!(replayed.base.limits[0].delays_us, [59 * SECOND_US]);
}

#[test]
fn who_has_a_slot_and_waits_for_the_distance_is_not_in_the_line() {
    let of = |most, high_water, strategy| Limit {
        queue: Some(Queue { high_water: Some(high_water), strategy }),
        ..of("spaced", spaced(10 * SECOND_US, most))
    };
    let rows: Vec<Row> = (0..4).map(|_| (0, 1, 200, 3)).collect();
    // without slots nobody is: all get their start at once, but where not even that is allowed
    for strategy in [Strategy::Leak, Strategy::Overflow, Strategy::Block] {
        let unbound = run(vec![of(None, 1, strategy)], &rows);
        assert_eq!((refused(&unbound), unbound.base.delayed), (vec![0], 3), "{strategy:?}");
        assert_eq!(refused(&run(vec![of(None, 0, strategy)], &rows)), [3], "{strategy:?}");
    }
    // at 3 the first ends and the second has its slot and its start at 10: the line is free for the third
    let rows = [(0, 1, 200, 3), (1, 1, 200, 3), (2, 1, 200, 3), (4, 1, 200, 3)];
    let replayed = run(vec![of(Some(1), 1, Strategy::Overflow)], &rows);
    assert_eq!(refused(&replayed), [1]);
    assert_eq!(replayed.base.limits[0].delays_us, [9 * SECOND_US, 16 * SECOND_US]);
}

#[test]
fn a_block_ends_after_its_last_instant_and_a_distance_later_the_next_may_start() {
    let limit = Limit {
        queue: Some(Queue { high_water: Some(1), strategy: Strategy::Block }),
        ..of("spaced", spaced(2 * SECOND_US, Some(1)))
    };
    // the third empties the line and blocks up to 30; who comes then blocks up to 60, so that the next
    // start is at 62
    let rows = [(0, 1, 200, 1), (0, 1, 200, 1), (0, 1, 200, 1), (30, 1, 200, 1), (61, 1, 200, 1)];
    let replayed = run(vec![limit], &rows);
    assert_eq!(refused(&replayed), [3]);
    assert_eq!(replayed.base.limits[0].delays_us, [SECOND_US]);
}

#[test]
fn a_line_that_grew_past_its_length_is_no_longer_held_to_it() {
    let mut limit = Limit {
        queue: Some(Queue { high_water: Some(1), strategy: Strategy::Overflow }),
        ..of("slots", spaced(0, Some(2)))
    };
    limit.weight.by_route = vec![(1, 2)];
    // one of two slots is in use: the heavy one waits, the light one could start but for it
    let mut traffic = traffic(&[(0, 1, 200, 9), (1, 1, 200, 1), (2, 1, 200, 1), (3, 1, 200, 1)]);
    traffic.places_are_routes = true;
    traffic.events.places = vec![0, 1, 0, 0];
    assert_eq!(refused(&run_for(&Site::default(), vec![limit], &traffic)), [0]);
}

#[test]
fn a_long_line_is_walked_once_and_without_recursion() {
    let rows: Vec<Row> = (0..50_000).map(|_| (0, 1, 200, 0)).collect();
    let queue = Some(Queue { high_water: None, strategy: Strategy::Leak });
    let endless = Limit { queue, ..of("spaced", spaced(1_000, None)) };
    let replayed = run(vec![endless], &rows);
    assert_eq!(replayed.base.limits[0].delay_us(1000), Some(49_999_000));
    // a slot that is given back at once, again and again
    let slots = Limit { queue, ..of("slots", Limiter::Concurrency(Concurrency { limit: 1 })) };
    let mut rows = rows;
    rows[0].3 = 5;
    let replayed = run(vec![slots, limit("few", 1)], &rows);
    assert_eq!(refused(&replayed), [0, 49_999]);
}
