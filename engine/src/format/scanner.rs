//! One format of one file, ready to take its lines apart.

use std::sync::Arc;

use super::csv::{self, Columns};
use super::detect::Format;
use super::fields::{Layout, Role, Values};
use super::json::Mapping;
use super::load_balancer::{self, Balancer};
use super::log_format::LogFormat;
use super::record::Record;
use super::skip::SkipReason;
use super::{combined, wrap};

/// A scanner of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scanner {
    /// nginx combined, Apache common, combined and `vhost_combined`.
    Combined,
    /// A format string.
    LogFormat(Format, Arc<LogFormat>),
    /// JSON Lines.
    Json(Format, Mapping),
    /// A load balancer's log.
    Balancer(Balancer, Layout),
    /// CSV.
    Csv(Columns),
}

impl Scanner {
    /// The scanner of a balancer's logs.
    pub fn balancer(balancer: Balancer) -> Self {
        Self::Balancer(balancer, balancer.layout())
    }

    /// Takes a line apart; its values stay in `values` for the fields of the layout.
    ///
    /// # Errors
    /// The reason why it is no request.
    pub fn scan<'a>(
        &self,
        line: &'a [u8],
        values: &mut Values<'a>,
    ) -> Result<Record<'a>, SkipReason> {
        match self {
            Self::Combined if wrap::looks_like_syslog(line) => Err(SkipReason::BadShape),
            Self::Combined => combined::scan(line),
            Self::LogFormat(_, format) => format.scan(line, values),
            Self::Json(_, mapping) => mapping.scan(line, values),
            Self::Balancer(balancer, layout) => {
                load_balancer::scan(*balancer, layout, line, values)
            }
            Self::Csv(columns) => columns.scan(line, values),
        }
    }

    /// The scanner under the name of the format that its lines were made of.
    #[must_use]
    pub fn stored_as(self, parquet: bool) -> Self {
        match self {
            Self::Json(_, mapping) if parquet => Self::Json(Format::Parquet, mapping),
            other => other,
        }
    }

    /// The fields besides those every record has; `None` for the combined family.
    pub fn layout(&self) -> Option<&Layout> {
        match self {
            Self::Combined => None,
            Self::LogFormat(_, format) => Some(&format.layout),
            Self::Json(_, mapping) => Some(&mapping.layout),
            Self::Balancer(_, layout) => Some(layout),
            Self::Csv(columns) => Some(&columns.layout),
        }
    }

    /// Whether its lines have a member or column of this name, as written there.
    pub fn has_column(&self, name: &str) -> bool {
        match self {
            Self::Json(_, mapping) => mapping.slot(name.as_bytes()).is_some(),
            Self::Csv(columns) => columns.has(name),
            _ => false,
        }
    }

    /// The format's name; `None` for the combined family, where the whole file decides.
    pub fn format(&self) -> Option<Format> {
        match self {
            Self::Combined => None,
            Self::LogFormat(format, _) | Self::Json(format, _) => Some(*format),
            Self::Balancer(Balancer::Alb, _) => Some(Format::Alb),
            Self::Balancer(Balancer::Classic, _) => Some(Format::ElbClassic),
            Self::Csv(_) => Some(Format::Csv),
        }
    }

    /// Whether the moment of arrival is known: logged itself, or the end and the duration are.
    pub fn knows_arrival(&self) -> bool {
        self.layout().is_none_or(|layout| {
            let tells = |role| matches!(role, Role::Duration(_) | Role::Seconds | Role::Arrival);
            !layout.stamps_end || layout.has(tells)
        })
    }

    /// Where the last whole record of a block ends.
    pub fn last_record_end(&self, block: &[u8]) -> Option<usize> {
        match self {
            Self::Csv(columns) => csv::last_record_end(block, columns.separator),
            _ => memchr::memrchr(b'\n', block),
        }
    }

    /// The records of a block, without their line ends, and whether they have one.
    pub fn records<'b>(&self, block: &'b [u8]) -> impl Iterator<Item = (&'b [u8], bool)> {
        let mut rest = block;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = self.record_end(rest);
            let record = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
            Some((record, end.is_some()))
        })
    }

    fn record_end(&self, block: &[u8]) -> Option<usize> {
        match self {
            Self::Csv(columns) => csv::record_end(block, columns.separator),
            _ => memchr::memchr(b'\n', block),
        }
    }
}
