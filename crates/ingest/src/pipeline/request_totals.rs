//! Counts of the requests of a data set for a monitoring system.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::{ColumnKind, Field, RequestCounts};
use weir_sync::Lock;

/// Counts of requests, in groups by one of their fields. Clones share them. They never decrease, even if
/// records expire or a source is removed.
///
/// Memory is less than 100 kB, and in each parser as much again while it counts a block, with a byte
/// for each distinct value of the field.
#[derive(Debug, Clone, Default)]
pub struct RequestTotals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    by: Option<RequestsBy>,
    groups: Lock<Groups>,
    counts: Lock<Vec<RequestCounts>>,
    /// Whether the counts have reached the present.
    is_current: AtomicBool,
}

/// By what requests are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestsBy {
    /// By the name of their source.
    Source,
    /// By a text field of this name.
    Field(String),
}

/// Which requests a group has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestGroup {
    /// Those without the field, or all if there is only one group.
    Unnamed,
    /// Those of all values that have no group.
    Others,
    /// Those of one value: any bytes, at most [`RequestTotals::VALUE_BYTES_MAX`].
    Value(Arc<[u8]>),
}

/// The numbers of the groups.
#[derive(Debug, Default)]
struct Groups {
    numbers: HashMap<Arc<[u8]>, u8>,
    values: Vec<Arc<[u8]>>,
}

/// The group of requests without the field.
pub(super) const UNNAMED: u8 = 0;
/// The group of all values that have no group.
pub(super) const OTHERS: u8 = 1;
/// The group of the first value.
const FIRST: usize = 2;

impl RequestTotals {
    /// The most values that have a group. Values come from clients, and a monitoring system keeps
    /// each one for weeks.
    pub const VALUES_MAX: usize = 100;

    /// The longest value that has a group, in bytes: names of hosts are shorter.
    pub const VALUE_BYTES_MAX: usize = 255;

    /// Returns empty counts, in one group or in several.
    pub fn new(by: Option<RequestsBy>) -> Self {
        Self(Arc::new(Shared { by, ..Shared::default() }))
    }

    /// By what the requests are grouped.
    pub fn by(&self) -> Option<&RequestsBy> {
        self.0.by.as_ref()
    }

    /// Returns the counts so far. If requests are grouped, all groups are there that a request may
    /// have been in.
    pub fn groups(&self) -> Vec<(RequestGroup, RequestCounts)> {
        // In this order, so that each group that has counts has its value.
        let mut counts = self.0.counts.lock().clone();
        let values = self.0.groups.lock().values.clone();
        let groups = match self.0.by {
            Some(_) => FIRST + values.len(),
            None => usize::from(OTHERS),
        };
        counts.resize(groups, RequestCounts::default());
        let fixed = [RequestGroup::Unnamed, RequestGroup::Others];
        fixed.into_iter().chain(values.into_iter().map(RequestGroup::Value)).zip(counts).collect()
    }

    /// The number of the group of a value, which is a new one while there is room.
    pub(super) fn group_of(&self, value: &[u8]) -> u8 {
        if value.len() > Self::VALUE_BYTES_MAX {
            return OTHERS;
        }
        let Groups { numbers, values } = &mut *self.0.groups.lock();
        if let Some(known) = numbers.get(value) {
            return *known;
        }
        if values.len() == Self::VALUES_MAX {
            return OTHERS;
        }
        let (value, number) = (Arc::<[u8]>::from(value), (FIRST + values.len()) as u8);
        values.push(value.clone());
        numbers.insert(value, number);
        number
    }

    /// The number of groups so far.
    pub(super) fn groups_len(&self) -> usize {
        FIRST + self.0.groups.lock().values.len()
    }

    /// Adds the counts of a block, by group.
    pub(super) fn add(&self, block: &[RequestCounts]) {
        let mut counts = self.0.counts.lock();
        if counts.len() < block.len() {
            counts.resize(block.len(), RequestCounts::default());
        }
        counts.iter_mut().zip(block).for_each(|(sum, counts)| sum.merge(counts));
    }

    /// Whether the counts have ever reached the present. `is_current` is asked until it returns true.
    pub(super) fn have_reached_present(&self, is_current: impl FnOnce() -> bool) -> bool {
        let known = &self.0.is_current;
        known.load(Ordering::Relaxed) || {
            let is_current = is_current();
            known.store(is_current, Ordering::Relaxed);
            is_current
        }
    }
}

impl RequestsBy {
    /// The name of a label for the values, in the form that Prometheus requires. None of them is the
    /// name of another label of requests.
    pub fn label(&self) -> String {
        let name = match self {
            Self::Source => "source",
            // A class is the label `status`.
            Self::Field(name) if name == Field::Status.name() => "code",
            Self::Field(name) => name,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let label: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let is_reserved = ["le", "quantile", "job", "instance"].contains(&label.as_str())
            || label.starts_with("__")
            || label.starts_with(|first: char| first.is_ascii_digit());
        if is_reserved { format!("field_{label}") } else { label }
    }
}

impl FromStr for RequestsBy {
    type Err = RequestsByError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match Field::by_name(name) {
            _ if name == "source" => Ok(Self::Source),
            _ if name.is_empty() => Err(RequestsByError::Empty),
            Some(Field::Method) => Err(RequestsByError::Method),
            Some(field) if field.kind() != ColumnKind::Text => {
                Err(RequestsByError::NoText(name.to_owned()))
            }
            Some(field) => Ok(Self::Field(field.name().to_owned())),
            None => Ok(Self::Field(name.to_owned())),
        }
    }
}

/// Why requests cannot be grouped by something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestsByError {
    /// The name is empty.
    Empty,
    /// They always are by method.
    Method,
    /// The field of this name has numbers or times.
    NoText(String),
}

impl fmt::Display for RequestsByError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("the name is empty; write a field, such as host, or source"),
            Self::Method => formatter.write_str(
                "requests are always counted by method; name another field, such as host, or source",
            ),
            Self::NoText(name) => write!(
                formatter,
                "`{name}` is a number in each request, not a name; choose a field of text, such as host, or source"
            ),
        }
    }
}

impl std::error::Error for RequestsByError {}

#[cfg(test)]
mod tests {
    use weir_core::RequestCounts;

    use super::{OTHERS, RequestGroup, RequestTotals, RequestsBy, RequestsByError};

    #[test]
    fn values_have_groups_until_there_are_too_many() {
        let totals = RequestTotals::new(Some(RequestsBy::Field("host".to_owned())));
        assert_eq!(totals.group_of(&[b'x'; 256]), OTHERS, "too long");
        let numbers: Vec<u8> = (0..RequestTotals::VALUES_MAX)
            .map(|n| totals.group_of(n.to_string().as_bytes()))
            .collect();
        assert_eq!(numbers, (2..=101).collect::<Vec<u8>>());
        assert_eq!(totals.group_of(b"one more"), OTHERS);
        assert_eq!(totals.group_of(b"0"), 2, "it keeps its group");
        let groups = totals.groups();
        assert_eq!(groups.len(), 102);
        assert_eq!(groups[0].0, RequestGroup::Unnamed);
        assert_eq!(groups[1].0, RequestGroup::Others);
        assert_eq!(groups[2].0, RequestGroup::Value(b"0"[..].into()));
    }

    #[test]
    fn without_a_field_there_is_one_group() {
        let totals = RequestTotals::default();
        assert_eq!(totals.groups(), [(RequestGroup::Unnamed, RequestCounts::default())]);
    }

    #[test]
    fn the_present_is_reached_once() {
        let totals = RequestTotals::default();
        assert!(!totals.have_reached_present(|| false));
        assert!(totals.have_reached_present(|| true));
        assert!(totals.have_reached_present(|| false));
    }

    #[test]
    fn labels_have_the_form_of_prometheus() {
        for (name, label) in [
            ("host", "host"),
            ("source", "source"),
            ("remote_addr", "client"),
            ("status", "code"),
            ("cs(Cookie)", "cs_Cookie_"),
            ("le", "field_le"),
            ("__name__", "field___name__"),
            ("4xx\n\"", "field_4xx__"),
            ("größe", "gr__e"),
        ] {
            assert_eq!(name.parse::<RequestsBy>().map(|by| by.label()), Ok(label.to_owned()));
        }
        assert_eq!("request_method".parse::<RequestsBy>(), Err(RequestsByError::Method));
        assert_eq!("".parse::<RequestsBy>(), Err(RequestsByError::Empty));
        for name in ["bytes", "request_time", "time"] {
            assert_eq!(name.parse::<RequestsBy>(), Err(RequestsByError::NoText(name.to_owned())));
        }
    }
}
