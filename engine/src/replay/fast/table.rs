//! States by key and instance in one list, and the order in which nginx last looked at them.

use std::collections::HashMap;

use ahash::RandomState;

use crate::traffic::NONE;

/// How many idle keys a new one may free (`ngx_http_limit_req_expire`).
const FREED_AT_ONCE: u32 = 2;

/// States that a list has room for from the beginning, all keys on all instances: beyond, only those in use.
const MOST_AT_ONCE: usize = if cfg!(test) { 8 } else { 1 << 22 };

/// States by key and instance.
#[derive(Debug)]
pub(super) struct Table<S> {
    fresh: S,
    cells: Vec<Cell<S>>,
    instances: usize,
    /// Where each state is; `None` if all have their place from the beginning.
    places: Option<HashMap<(u32, usize), usize, RandomState>>,
    /// Per instance: the cells that were looked at, from the oldest look to the newest.
    queues: Vec<Queue>,
}

/// One key's state at one instance.
#[derive(Debug, Clone)]
struct Cell<S> {
    state: S,
    instance: usize,
    /// Whether it is in the table at all.
    known: bool,
    /// Whether it is in its queue.
    queued: bool,
    /// The cells looked at just before and just after it; [`NONE`] at the ends.
    older: u32,
    newer: u32,
}

impl<S> Cell<S> {
    fn new(state: S, instance: usize) -> Self {
        Self { state, instance, known: false, queued: false, older: NONE, newer: NONE }
    }
}

/// The ends of a queue; [`NONE`] if it is empty.
#[derive(Debug, Clone, Copy)]
struct Queue {
    oldest: u32,
    newest: u32,
}

impl<S: Clone> Table<S> {
    pub(super) fn new(fresh: S, keys: usize, instances: usize) -> Self {
        let queue = Queue { oldest: NONE, newest: NONE };
        let all = keys.saturating_mul(instances);
        let at_once = instances == 1 || all <= MOST_AT_ONCE;
        let numbers = 0..if at_once { all } else { 0 };
        let cells = numbers.map(|place| Cell::new(fresh.clone(), place % instances.max(1)));
        Self {
            cells: cells.collect(),
            fresh,
            instances,
            places: (!at_once).then(HashMap::default),
            queues: vec![queue; instances],
        }
    }

    /// Where a key's state at an instance is; the last key's place is for requests without it.
    pub(super) fn place(&mut self, key: u32, instance: usize) -> usize {
        let Some(places) = &mut self.places else {
            let keys = self.cells.len() / self.instances.max(1);
            let key = usize::try_from(key).unwrap_or(usize::MAX).min(keys.saturating_sub(1));
            return key * self.instances + instance;
        };
        let (cells, fresh) = (&mut self.cells, &self.fresh);
        *places.entry((key, instance)).or_insert_with(|| {
            cells.push(Cell::new(fresh.clone(), instance));
            cells.len() - 1
        })
    }

    pub(super) fn state(&self, place: usize) -> Option<&S> {
        self.cells.get(place).map(|cell| &cell.state)
    }

    /// A state to be changed: from now on it is in the table.
    pub(super) fn touch(&mut self, place: usize) -> Option<&mut S> {
        let cell = self.cells.get_mut(place)?;
        cell.known = true;
        Some(&mut cell.state)
    }

    /// Looks at a state: if it is new, idle ones are freed first; it is the newest of its instance then.
    /// Tells whether any was freed.
    pub(super) fn look(
        &mut self,
        place: usize,
        instance: usize,
        idle: impl Fn(&S) -> bool,
    ) -> bool {
        let mut freed = false;
        if self.cells.get(place).is_some_and(|cell| !cell.known) {
            for _ in 0..FREED_AT_ONCE {
                let oldest = self.queues.get(instance).map_or(NONE, |queue| queue.oldest);
                let oldest = usize::try_from(oldest).unwrap_or(usize::MAX);
                if !self.cells.get(oldest).is_some_and(|cell| idle(&cell.state)) {
                    break;
                }
                self.forget(oldest);
                freed = true;
            }
        }
        self.unlink(place);
        self.append(place, instance);
        freed
    }

    /// Takes a state out of the table.
    pub(super) fn forget(&mut self, place: usize) {
        self.unlink(place);
        if let Some(cell) = self.cells.get_mut(place) {
            (cell.state, cell.known) = (self.fresh.clone(), false);
        }
    }

    fn append(&mut self, place: usize, instance: usize) {
        let Some(queue) = self.queues.get_mut(instance) else { return };
        let number = u32::try_from(place).unwrap_or(NONE);
        let before = std::mem::replace(&mut queue.newest, number);
        if queue.oldest == NONE {
            queue.oldest = number;
        }
        if let Some(cell) = self.cells.get_mut(place) {
            (cell.known, cell.queued, cell.older, cell.newer) = (true, true, before, NONE);
        }
        if let Some(cell) = self.cell(before) {
            cell.newer = number;
        }
    }

    fn unlink(&mut self, place: usize) {
        let Some(cell) = self.cells.get_mut(place) else { return };
        if !std::mem::take(&mut cell.queued) {
            return;
        }
        let (older, newer, instance) = (cell.older, cell.newer, cell.instance);
        let Some(queue) = self.queues.get_mut(instance) else { return };
        if older == NONE {
            queue.oldest = newer;
        }
        if newer == NONE {
            queue.newest = older;
        }
        if let Some(cell) = self.cell(older) {
            cell.newer = newer;
        }
        if let Some(cell) = self.cell(newer) {
            cell.older = older;
        }
    }

    fn cell(&mut self, number: u32) -> Option<&mut Cell<S>> {
        usize::try_from(number).ok().and_then(|at| self.cells.get_mut(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_looks_are_freed_first_and_no_more_than_two() {
        let mut table = Table::new(0, 5, 1);
        let look =
            |table: &mut Table<i32>, place, idle: &dyn Fn(&i32) -> bool| table.look(place, 0, idle);
        for place in 0..3 {
            assert!(!look(&mut table, place, &|_| false));
            *table.touch(place).unwrap() = 7;
        }
        // 0 is looked at again, so 1 and 2 are the oldest
        assert!(!look(&mut table, 0, &|_| true));
        assert!(look(&mut table, 3, &|state| *state == 7));
        let states: Vec<i32> = (0..4).map(|place| *table.state(place).unwrap()).collect();
        assert_eq!(states, [7, 0, 0, 0]);
        // what isn't idle stays, whatever is behind it
        assert!(!look(&mut table, 1, &|state| *state == 0));
    }
}
