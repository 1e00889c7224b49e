//! What a limiter in service decided about a request, as its line tells.

/// A decision that was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Observed {
    /// The line doesn't tell.
    #[default]
    Unknown,
    /// Let through at once.
    Pass,
    /// Held up.
    Delay,
    /// Refused.
    Refuse,
    /// Let through, where a limiter in earnest would have held it up.
    DelayDryRun,
    /// Let through, where a limiter in earnest would have refused it.
    RefuseDryRun,
}

impl Observed {
    /// Reads a value of nginx's `$limit_req_status` or `$limit_conn_status` (`ngx_http_limit_req_module`,
    /// `ngx_http_limit_conn_module`).
    pub fn parse(text: &[u8]) -> Self {
        match text {
            b"PASSED" => Self::Pass,
            b"DELAYED" => Self::Delay,
            b"REJECTED" => Self::Refuse,
            b"DELAYED_DRY_RUN" => Self::DelayDryRun,
            b"REJECTED_DRY_RUN" => Self::RefuseDryRun,
            _ => Self::Unknown,
        }
    }

    /// What the field of a line and its status tell of a limiter of rates: where there is no field, 429
    /// (RFC 6585, 4) is a refusal.
    pub fn of(field: Option<&[u8]>, status: Option<u16>) -> Self {
        match field {
            Some(text) => Self::parse(text),
            None if status == Some(429) => Self::Refuse,
            None => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_tells_and_else_the_status() {
        assert_eq!(Observed::of(Some(b"PASSED"), Some(429)), Observed::Pass);
        assert_eq!(Observed::of(Some(b"DELAYED"), Some(200)), Observed::Delay);
        assert_eq!(Observed::of(Some(b"REJECTED"), Some(503)), Observed::Refuse);
        assert_eq!(Observed::of(Some(b"DELAYED_DRY_RUN"), Some(200)), Observed::DelayDryRun);
        assert_eq!(Observed::of(Some(b"REJECTED_DRY_RUN"), Some(200)), Observed::RefuseDryRun);
        assert_eq!(Observed::of(Some(b"BYPASSED"), Some(429)), Observed::Unknown);
        assert_eq!(Observed::of(None, Some(429)), Observed::Refuse);
        assert_eq!(Observed::of(None, Some(503)), Observed::Unknown);
        assert_eq!(Observed::of(None, None), Observed::Unknown);
    }
}
