//! Address lists as their publishers write them, and the index that says which lists an address is in:
//! the longest prefix wins.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use serde_json::Value;

use super::facts::Label;
use crate::units::address::Address;

/// A line of a list that is no range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListProblem {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads a list; its format is told by its content. JSON: AWS, Google, Azure, Oracle, Fastly, GitHub,
/// or any list of ranges. Text: a range or address a line, `#` begins a comment; of CSV the first
/// column (RFC 8805).
///
/// # Errors
/// All that isn't a range, or that there is none.
pub fn parse_list(bytes: &[u8]) -> Result<Vec<IpNet>, Vec<ListProblem>> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.trim_start_matches('\u{feff}'),
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = memchr::memchr_iter(b'\n', before).count() + 1;
            return Err(vec![ListProblem { line, message: "not UTF-8 text".to_owned() }]);
        }
    };
    let mut ranges = Vec::new();
    let mut problems = Vec::new();
    if text.trim_start().starts_with(['{', '[']) {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => gather(text, &value, &mut ranges, &mut problems),
            Err(error) => problems
                .push(ListProblem { line: error.line(), message: format!("not JSON: {error}") }),
        }
    } else {
        for (index, line) in text.lines().enumerate() {
            let plain = line.split('#').next().unwrap_or_default();
            let first = plain.split(',').next().unwrap_or_default().trim().trim_matches('"');
            match parse_range(first) {
                Some(range) => ranges.push(range),
                None if plain.trim().is_empty() => {}
                None => problems.push(not_a_range(index + 1, first)),
            }
        }
    }
    if ranges.is_empty() && problems.is_empty() {
        problems.push(ListProblem { line: 1, message: "no address range in it".to_owned() });
    }
    if problems.is_empty() { Ok(ranges) } else { Err(problems) }
}

fn not_a_range(line: usize, text: &str) -> ListProblem {
    let shown: String = text.chars().take(60).collect();
    ListProblem { line, message: format!("`{shown}` is no address range") }
}

/// A range, or an address alone. IPv4 that is written as IPv6 becomes IPv4; bits behind the prefix are
/// dropped.
pub fn parse_range(text: &str) -> Option<IpNet> {
    let range = match text.parse::<IpNet>() {
        Ok(range) => range.trunc(),
        Err(_) => IpNet::from(text.parse::<IpAddr>().ok()?),
    };
    let mapped = match range {
        IpNet::V6(v6) if v6.prefix_len() >= 96 => v6.addr().to_ipv4_mapped().and_then(|v4| {
            Some(IpNet::V4(Ipv4Net::new(v4, v6.prefix_len().checked_sub(96)?).ok()?))
        }),
        _ => None,
    };
    Some(mapped.unwrap_or(range))
}

/// Keys under which publishers write one range.
const RANGE_KEYS: [&str; 5] = ["ip_prefix", "ipv6_prefix", "ipv4Prefix", "ipv6Prefix", "cidr"];

/// Walks JSON: whatever stands under a key of [`RANGE_KEYS`] must be a range; a list of texts whose
/// first is a range must hold ranges alone.
fn gather(text: &str, value: &Value, ranges: &mut Vec<IpNet>, problems: &mut Vec<ListProblem>) {
    let mut take = |found: &str| {
        if let Some(range) = parse_range(found) {
            ranges.push(range);
        } else {
            let at = text.find(&format!("\"{found}\"")).unwrap_or(0);
            let before = text.get(..at).unwrap_or_default();
            let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
            problems.push(not_a_range(line, found));
        }
    };
    match value {
        Value::Array(items) => {
            let first = items.first().and_then(Value::as_str);
            if first.is_some_and(|first| parse_range(first).is_some()) {
                items.iter().filter_map(Value::as_str).for_each(take);
            } else {
                for item in items {
                    gather(text, item, ranges, problems);
                }
            }
        }
        Value::Object(object) => {
            for (_, range) in object.iter().filter(|(key, _)| RANGE_KEYS.contains(&key.as_str())) {
                take(range.as_str().unwrap_or_default());
            }
            for (_, inner) in object {
                if inner.is_array() || inner.is_object() {
                    gather(text, inner, ranges, problems);
                }
            }
        }
        _ => {}
    }
}

/// Which lists an address is in.
#[derive(Debug, Clone, Default)]
pub struct LabelIndex {
    v4: Family<u32>,
    v6: Family<u128>,
    /// Sets of labels, each sorted.
    sets: Vec<Vec<usize>>,
}

/// Prefixes of one length, sorted, each with the number of its set.
#[derive(Debug, Clone)]
struct OfLength<Bits> {
    mask: Bits,
    prefixes: Vec<(Bits, usize)>,
}

/// Prefixes of one family, the longest first.
type Family<Bits> = Vec<OfLength<Bits>>;

impl LabelIndex {
    /// Builds the index; labels are known by their position.
    pub fn new(labels: &[Label]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (label, ranges) in labels.iter().enumerate() {
            for range in &ranges.ranges {
                match range {
                    IpNet::V4(range) => {
                        let mask = u32::MAX.checked_shl(32 - u32::from(range.prefix_len()));
                        let mask = mask.unwrap_or(0);
                        v4.push((mask, range.addr().to_bits() & mask, label));
                    }
                    IpNet::V6(range) => {
                        let mask = u128::MAX.checked_shl(128 - u32::from(range.prefix_len()));
                        let mask = mask.unwrap_or(0);
                        v6.push((mask, range.addr().to_bits() & mask, label));
                    }
                }
            }
        }
        let mut sets = Vec::new();
        Self { v4: family(v4, &mut sets), v6: family(v6, &mut sets), sets }
    }

    /// The labels (positions, ascending) whose lists hold the longest prefix of an address.
    pub fn labels_of(&self, address: Address) -> &[usize] {
        let set = match address.v4_bits() {
            Some(bits) => find(&self.v4, |mask| bits & mask),
            None => find(&self.v6, |mask| address.bits() & mask),
        };
        set.and_then(|set| self.sets.get(set)).map(Vec::as_slice).unwrap_or_default()
    }
}

fn find<Bits: Ord + Copy>(family: &Family<Bits>, cut: impl Fn(Bits) -> Bits) -> Option<usize> {
    family.iter().find_map(|length| {
        let wanted = cut(length.mask);
        let at = length.prefixes.binary_search_by_key(&wanted, |(prefix, _)| *prefix).ok()?;
        length.prefixes.get(at).map(|(_, set)| *set)
    })
}

/// Sorts (mask, prefix, label) into lengths, the longest first; labels of one prefix become a set.
fn family<Bits: Ord + Copy>(
    mut all: Vec<(Bits, Bits, usize)>,
    sets: &mut Vec<Vec<usize>>,
) -> Family<Bits> {
    // a longer prefix has a larger mask
    all.sort_unstable_by(|a, b| (b.0, a.1, a.2).cmp(&(a.0, b.1, b.2)));
    all.dedup();
    let mut lengths: Family<Bits> = Vec::new();
    for same in all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let Some((mask, prefix, _)) = same.first().copied() else { continue };
        let labels: Vec<usize> = same.iter().map(|(_, _, label)| *label).collect();
        let set = sets.iter().position(|known| *known == labels).unwrap_or_else(|| {
            sets.push(labels);
            sets.len() - 1
        });
        match lengths.last_mut().filter(|length| length.mask == mask) {
            Some(length) => length.prefixes.push((prefix, set)),
            None => lengths.push(OfLength { mask, prefixes: vec![(prefix, set)] }),
        }
    }
    lengths
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
