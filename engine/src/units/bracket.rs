//! A number that is only known to lie between two ends, with how well that is known.

/// Where the two ends of a [`Bracket`] come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BracketKind {
    /// The true value is inside, by an argument that holds for every possible input.
    Proven,
    /// The least and the most over a few arrangements that were tried; the truth may lie outside.
    Sampled,
    /// The ends follow from an assumption that the input cannot confirm.
    Assumed,
}

impl BracketKind {
    /// The word used in `report.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Sampled => "sampled",
            Self::Assumed => "assumed",
        }
    }
}

/// A value known to be at least `lo` and at most `hi` (both inclusive, same unit as `T`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bracket<T> {
    /// Least possible value.
    pub lo: T,
    /// Greatest possible value.
    pub hi: T,
    /// How the ends were found.
    pub kind: BracketKind,
}

impl<T: Copy + PartialEq> Bracket<T> {
    /// A value that is known exactly.
    pub fn exact(value: T) -> Self {
        Self { lo: value, hi: value, kind: BracketKind::Proven }
    }

    /// A bracket whose ends are proven.
    pub fn proven(lo: T, hi: T) -> Self {
        Self { lo, hi, kind: BracketKind::Proven }
    }

    /// Whether both ends are the same number.
    pub fn is_exact(&self) -> bool {
        self.lo == self.hi
    }
}
