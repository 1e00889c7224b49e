//! What waits: in order, as long as there is room, and for no longer than it must.

use super::*;

#[test]
fn what_waits_starts_in_order_and_a_full_queue_lets_go() {
    let spacing = |strategy| Limit {
        queue: Some(Queue { high_water: Some(1), strategy }),
        ..of("spaced", Limiter::Spacing(Spacing { min_time_us: SECOND_US, max_concurrent: None }))
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
    let spacing = Spacing { min_time_us: 60 * SECOND_US, max_concurrent: None };
    let spaced = || Limit {
        queue,
        ban,
        missing_key: MissingKey::Refuse,
        ..of("spaced", Limiter::Spacing(spacing))
    };
    // the first starts, the second waits, the third finds the line full and is banned, the fourth too
    let rows = [(0, 1, 200, 0), (1, 1, 200, 0), (2, 1, 200, 0), (3, 1, 200, 0), (4, NONE, 200, 0)];
    let replayed = run(vec![spaced()], &rows);
    assert_eq!(refused(&replayed), [3]);
    assert_eq!(replayed.base.limits[0].delays_us, [59 * SECOND_US]);
}

#[test]
fn a_long_line_is_walked_once_and_without_recursion() {
    let rows: Vec<Row> = (0..50_000).map(|_| (0, 1, 200, 0)).collect();
    let queue = Some(Queue { high_water: None, strategy: Strategy::Leak });
    let spaced =
        of("spaced", Limiter::Spacing(Spacing { min_time_us: 1_000, max_concurrent: None }));
    let replayed = run(vec![Limit { queue, ..spaced }], &rows);
    assert_eq!(replayed.base.limits[0].delay_us(1000), Some(49_999_000));
    // a slot that is given back at once, again and again
    let slots = Limit { queue, ..of("slots", Limiter::Concurrency(Concurrency { limit: 1 })) };
    let mut rows = rows;
    rows[0].3 = 5;
    let replayed = run(vec![slots, limit("few", 1)], &rows);
    assert_eq!(refused(&replayed), [0, 49_999]);
}
