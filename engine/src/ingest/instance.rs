//! Which instance of a tier got a request, as its line tells.

use std::borrow::Cow;

use crate::format::fields::{Layout, Values};
use crate::format::record::Record;
use crate::format::text::present;

/// The instance that a line names; `at` is the field of [`Layout::instance`]. Of several in a row, as nginx
/// lists the servers it tried, the last: the one that answered.
pub(super) fn instance_of<'a>(
    at: Option<usize>,
    record: &Record<'a>,
    values: &Values<'a>,
) -> Option<Cow<'a, [u8]>> {
    let raw = at.and_then(|at| values.get(at)).and_then(present)?;
    let undone = record.escape.undo(raw);
    let last = last_of(&undone);
    let last = match undone {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(last)?),
        Cow::Owned(ref text) => Cow::Owned(text.get(last)?.to_vec()),
    };
    present(&last).is_some().then_some(last)
}

/// Where the last of several texts stands that are parted by `, ` or ` : `.
fn last_of(list: &[u8]) -> std::ops::Range<usize> {
    let after = |separator: &[u8]| {
        memchr::memmem::rfind(list, separator).map_or(0, |at| at + separator.len())
    };
    after(b", ").max(after(b" : "))..list.len()
}

/// Where a line's instance stands.
pub(super) fn instance_field(layout: Option<&Layout>) -> Option<usize> {
    layout.and_then(Layout::instance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_servers_that_were_tried_in_turn_the_last_answered() {
        for (list, last) in [
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("10.0.0.1:80, 10.0.0.2:80", "10.0.0.2:80"),
            ("10.0.0.1:80, 10.0.0.2:80 : unix:/run/app.sock", "unix:/run/app.sock"),
        ] {
            assert_eq!(list.get(last_of(list.as_bytes())), Some(last));
        }
    }
}
