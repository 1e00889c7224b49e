//! A request that happened.

/// A request. Events are ordered by when their responses ended, as servers write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When the response ended, microseconds since the epoch, whole milliseconds.
    pub end_us: i64,
    /// Which group, as an index of the scenario's.
    pub group: u16,
    /// Which of its identities, from 0.
    pub identity: u32,
    /// Which of the identity's requests of a session, or of an attack's.
    pub sequence: u64,
    /// What kind of request, as an index of the scenario's.
    pub request: u16,
    /// The response's status.
    pub status: u16,
    /// How long it took, microseconds, whole milliseconds.
    pub duration_us: u32,
    /// Random bits for what else it says.
    pub bits: u64,
    /// Whether it is logged in.
    pub logged_in: bool,
    /// Whether its response logs in.
    pub logs_in: bool,
}

impl Event {
    /// When it arrived, microseconds since the epoch.
    pub fn arrival_us(&self) -> i64 {
        self.end_us.saturating_sub(self.duration_us.into())
    }
}
