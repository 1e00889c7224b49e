//! What a limit tells clients apart by, for every event of a traffic.

use std::borrow::Cow;
use std::collections::HashMap;

use ahash::RandomState;

use crate::policy::{KeyPart, LimitKey};
use crate::traffic::{KeyColumn, NONE, Traffic};

/// The key of every event for one limit.
#[derive(Debug)]
pub struct Keys<'t> {
    /// The key's number per event, [`NONE`] where it is missing; `None` if all share one.
    ids: Option<Cow<'t, [u32]>>,
    texts: Texts<'t>,
}

/// The texts of keys, by number.
#[derive(Debug)]
enum Texts<'t> {
    Global,
    Column(KeyColumn<'t>),
    Places(&'t [String]),
    /// Two keys together: the numbers of both parts.
    Joined(Box<(Self, Self)>, Vec<(u32, u32)>),
    /// Of a key that wasn't part of what was read.
    Unknown,
}

impl<'t> Keys<'t> {
    /// The keys of a traffic, whose columns aren't copied.
    pub fn new(key: &LimitKey, traffic: &'t Traffic) -> Self {
        let mut parts = key.parts.iter().map(|part| Self::of_part(part, traffic));
        let Some(first) = parts.next() else { return Self { ids: None, texts: Texts::Global } };
        parts.fold(first, Self::joined)
    }

    fn of_part(part: &KeyPart, traffic: &'t Traffic) -> Self {
        let (ids, texts) = match part {
            KeyPart::Route => (Cow::from(&traffic.events.places), Texts::Places(&traffic.places)),
            KeyPart::Key(spec) => match traffic.key(spec) {
                Some(mut column) => (std::mem::take(&mut column.ids), Texts::Column(column)),
                None => (vec![NONE; traffic.len()].into(), Texts::Unknown),
            },
        };
        Self { ids: Some(ids), texts }
    }

    /// Two keys together: numbers by the order of their parts' numbers, which is that of their texts.
    fn joined(self, other: Self) -> Self {
        let (mine, theirs) = (self.ids.unwrap_or_default(), other.ids.unwrap_or_default());
        // numbers in order of appearance first; hostile keys can't make the map slow
        let mut seen: HashMap<(u32, u32), u32, RandomState> = HashMap::default();
        let mut pairs = Vec::new();
        let mut ids: Vec<u32> = Vec::with_capacity(mine.len());
        for pair in mine.iter().copied().zip(theirs.iter().copied()) {
            if pair.0 == NONE || pair.1 == NONE {
                ids.push(NONE);
                continue;
            }
            let fresh = u32::try_from(pairs.len()).unwrap_or(NONE);
            let id = *seen.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                fresh
            });
            ids.push(id);
        }
        let mut order: Vec<((u32, u32), usize)> = pairs.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut number = vec![NONE; order.len()];
        for ((_, appeared), sorted) in order.iter().zip(0..NONE) {
            if let Some(slot) = number.get_mut(*appeared) {
                *slot = sorted;
            }
        }
        for id in &mut ids {
            *id = usize::try_from(*id).ok().and_then(|id| number.get(id)).copied().unwrap_or(NONE);
        }
        let pairs = order.into_iter().map(|(pair, _)| pair).collect();
        let texts = Texts::Joined(Box::new((self.texts, other.texts)), pairs);
        Self { ids: Some(ids.into()), texts }
    }

    /// The key of an event, [`NONE`] if it has none.
    pub fn of(&self, event: usize) -> u32 {
        match &self.ids {
            None => 0,
            Some(ids) => ids.get(event).copied().unwrap_or(NONE),
        }
    }

    /// The text of a key; `-` for the state that requests without the key share.
    pub fn text(&self, id: u32) -> Vec<u8> {
        self.texts.of(id).unwrap_or_else(|| b"-".to_vec())
    }

    /// Distinct keys.
    pub fn distinct(&self) -> usize {
        match &self.texts {
            Texts::Global => 1,
            Texts::Column(column) => column.distinct(),
            Texts::Places(places) => places.len(),
            Texts::Joined(_, pairs) => pairs.len(),
            Texts::Unknown => 0,
        }
    }
}

impl Texts<'_> {
    fn of(&self, id: u32) -> Option<Vec<u8>> {
        let at = usize::try_from(id).ok()?;
        match self {
            Self::Global => (at == 0).then(|| b"global".to_vec()),
            Self::Column(column) => (at < column.distinct()).then(|| column.text(at)),
            Self::Places(places) => places.get(at).map(|place| place.clone().into_bytes()),
            Self::Joined(parts, pairs) => {
                let (first, second) = pairs.get(at)?;
                let part = |texts: &Self, id| texts.of(id).unwrap_or_else(|| b"-".to_vec());
                let mut whole = part(&parts.0, *first);
                whole.push(b'+');
                whole.extend(part(&parts.1, *second));
                Some(whole)
            }
            Self::Unknown => None,
        }
    }
}
