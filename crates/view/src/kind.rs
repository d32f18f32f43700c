//! The kinds of records, which are counted separately.

use serde::{Deserialize, Serialize};

/// The kind of a record.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum RecordKind {
    /// A request that a server answered.
    #[default]
    Request,
    /// A line of an error log.
    ErrorLogLine,
    /// A packet or connection that a firewall logged.
    FirewallEvent,
}

/// The number of records of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct KindCount {
    /// The kind.
    pub kind: RecordKind,
    /// The number of its records, whether or not they match the filter.
    pub records: u64,
}

impl RecordKind {
    /// Returns the name in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::ErrorLogLine => "error_log_line",
            Self::FirewallEvent => "firewall_event",
        }
    }

    /// Returns the kind with this [name](Self::name). Hyphens may replace the underscores, as on
    /// the command line.
    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        weir_core::RecordKind::ALL.into_iter().map(Self::from).find(|kind| kind.name() == name)
    }

    /// Returns the noun for this number of records, in lower case.
    pub fn noun(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Request, 1) => "request",
            (Self::Request, _) => "requests",
            (Self::ErrorLogLine, 1) => "error-log line",
            (Self::ErrorLogLine, _) => "error-log lines",
            (Self::FirewallEvent, 1) => "firewall event",
            (Self::FirewallEvent, _) => "firewall events",
        }
    }

    /// Returns the heading of a column with the number of records.
    pub fn column(self) -> &'static str {
        match self {
            Self::Request => "requests",
            Self::ErrorLogLine => "lines",
            Self::FirewallEvent => "events",
        }
    }

    /// Returns the most informative fields of such records, whose lists come first.
    pub fn leading_fields(self) -> &'static [&'static str] {
        match self {
            Self::Request => &[],
            Self::ErrorLogLine => &["message", "level", "module"],
            Self::FirewallEvent => &["action", "client", "dst-port"],
        }
    }

    /// Returns the plural noun for the records, as a title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Request => "Requests",
            Self::ErrorLogLine => "Error-log lines",
            Self::FirewallEvent => "Firewall events",
        }
    }
}

impl From<weir_core::RecordKind> for RecordKind {
    fn from(kind: weir_core::RecordKind) -> Self {
        match kind {
            weir_core::RecordKind::Request => Self::Request,
            weir_core::RecordKind::ErrorLogLine => Self::ErrorLogLine,
            weir_core::RecordKind::FirewallEvent => Self::FirewallEvent,
        }
    }
}

impl From<RecordKind> for weir_core::RecordKind {
    fn from(kind: RecordKind) -> Self {
        match kind {
            RecordKind::Request => Self::Request,
            RecordKind::ErrorLogLine => Self::ErrorLogLine,
            RecordKind::FirewallEvent => Self::FirewallEvent,
        }
    }
}

/// Returns the kind that a report is about if its query names none: requests if there are any,
/// otherwise the kind with the most records.
pub fn main_kind(counts: &[KindCount]) -> RecordKind {
    let with_records = || counts.iter().filter(|count| count.records > 0);
    if with_records().any(|count| count.kind == RecordKind::Request) {
        return RecordKind::Request;
    }
    let most = with_records().max_by_key(|count| count.records);
    most.map(|count| count.kind).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{KindCount, RecordKind, main_kind};

    #[test]
    fn names_are_those_in_json() {
        for kind in weir_core::RecordKind::ALL.map(RecordKind::from) {
            assert_eq!(RecordKind::by_name(kind.name()), Some(kind));
            assert_eq!(RecordKind::by_name(&kind.name().replace('_', "-")), Some(kind));
            assert_eq!(crate::to_json(&kind).unwrap(), format!("\"{}\"", kind.name()));
        }
        assert_eq!(RecordKind::by_name("Request"), None);
    }

    #[test]
    fn requests_come_first_however_few() {
        let count = |kind, records| KindCount { kind, records };
        let lines = count(RecordKind::ErrorLogLine, 9);
        let events = count(RecordKind::FirewallEvent, 10);
        assert_eq!(main_kind(&[]), RecordKind::Request);
        assert_eq!(main_kind(&[lines, events]), RecordKind::FirewallEvent);
        assert_eq!(main_kind(&[lines, count(RecordKind::Request, 0)]), RecordKind::ErrorLogLine);
        assert_eq!(main_kind(&[lines, events, count(RecordKind::Request, 1)]), RecordKind::Request);
    }
}
