//! The measures of a group of records.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use weir_core::{ColumnKind, Field, Unit};

/// A measure of the records of a group, such as their number or the 95th percentile of their time.
///
/// As text it is a word, or a statistic and a number field:
///
/// ```
/// use weir_view::Measure;
///
/// let measure: Measure = "p95:upstream_time".parse().unwrap();
/// assert_eq!(measure.to_string(), "p95:upstream_time");
/// assert_eq!("p95".parse::<Measure>().unwrap().to_string(), "p95:request_time");
/// assert!("p95:path".parse::<Measure>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// The number of records.
    Requests,
    /// The number of records in percent of all.
    Share,
    /// The number of visitors: distinct clients with their agents, by day.
    Visitors,
    /// The number of their visits, each of which ends with half an hour without a record.
    Visits,
    /// The number of distinct clients.
    Clients,
    /// The sum of the response sizes.
    Bytes,
    /// The number of records with a status of 400 to 599.
    Errors,
    /// The share of these among the records of the group.
    ErrorRate,
    /// The first time.
    FirstSeen,
    /// The last time.
    LastSeen,
    /// A statistic of a number field.
    Number(Statistic, Field),
}

/// A statistic of the numbers of a group. Records without the number do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The sum.
    Sum,
    /// The largest number.
    Max,
    /// A percentile by the nearest-rank method, in tenths of a percent: p0.1 to p99.9.
    Percentile(u16),
}

/// The value of a measure in JSON. Durations are seconds, and shares are parts of 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(untagged)]
pub enum MeasureValue {
    /// A count, or a number of bytes.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// A time, RFC 3339.
    Time(String),
}

/// Why a text is no measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMeasure(String);

/// The measures that are words.
const WORDS: [(&str, Measure); 10] = [
    ("requests", Measure::Requests),
    ("share", Measure::Share),
    ("visitors", Measure::Visitors),
    ("visits", Measure::Visits),
    ("clients", Measure::Clients),
    ("bytes", Measure::Bytes),
    ("errors", Measure::Errors),
    ("error_rate", Measure::ErrorRate),
    ("first_seen", Measure::FirstSeen),
    ("last_seen", Measure::LastSeen),
];

impl Measure {
    /// The measures that are shown if none are named.
    pub const SHOWN: [Self; 5] =
        [Self::Requests, Self::Share, Self::Bytes, Self::Errors, Self::ErrorRate];

    /// Returns the measures that are words.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(name, _)| *name)
    }

    /// Returns the fields that the records must have for this measure.
    pub fn fields(self) -> Vec<Field> {
        match self {
            Self::Requests | Self::Share => Vec::new(),
            Self::Visitors | Self::Visits => vec![Field::Client, Field::Time],
            Self::Clients => vec![Field::Client],
            Self::Bytes => vec![Field::Bytes],
            Self::Errors | Self::ErrorRate => vec![Field::Status],
            Self::FirstSeen | Self::LastSeen => vec![Field::Time],
            Self::Number(_, field) => vec![field],
        }
    }

    /// Returns whether the measure is a member of every row: the records, bytes and errors, and what
    /// follows from them.
    pub fn is_of_tally(self) -> bool {
        Self::SHOWN.contains(&self)
    }

    /// Returns whether the value is a duration.
    pub fn is_duration(self) -> bool {
        matches!(self, Self::Number(_, field) if field.kind() == ColumnKind::Number(Unit::Nanoseconds))
    }

    /// Returns the heading of a column with the measure. That of the records is the kind's.
    pub fn heading(self) -> String {
        match self {
            Self::Bytes => "bytes sent".to_owned(),
            Self::Number(statistic, Field::RequestTime) => statistic.to_string(),
            Self::Number(statistic, field) => {
                format!("{statistic} {}", field.name().replace('_', " "))
            }
            word => word.to_string().replace('_', " "),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(statistic, field) => write!(formatter, "{statistic}:{}", field.name()),
            word => {
                let name = WORDS.iter().find(|(_, measure)| measure == word);
                formatter.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => formatter.write_str("mean"),
            Self::Sum => formatter.write_str("sum"),
            Self::Max => formatter.write_str("max"),
            Self::Percentile(tenths) if tenths % 10 == 0 => write!(formatter, "p{}", tenths / 10),
            Self::Percentile(tenths) => write!(formatter, "p{}.{}", tenths / 10, tenths % 10),
        }
    }
}

impl FromStr for Measure {
    type Err = UnknownMeasure;

    /// Parses a word such as `bytes`, or a statistic with a number field such as
    /// `p95:upstream_time`. Without a field, the number is the time to serve the request.
    fn from_str(text: &str) -> Result<Self, UnknownMeasure> {
        if let Some((_, measure)) = WORDS.iter().find(|(name, _)| *name == text) {
            return Ok(*measure);
        }
        let (statistic, field) = text.split_once(':').unwrap_or((text, Field::RequestTime.name()));
        let field = Field::by_name(field).filter(|field| Field::NUMBERS.contains(field));
        let measure = Statistic::by_name(statistic).zip(field);
        let measure = measure.map(|(statistic, field)| Self::Number(statistic, field));
        measure.ok_or_else(|| UnknownMeasure(text.to_owned()))
    }
}

impl Statistic {
    fn by_name(name: &str) -> Option<Self> {
        match name {
            "mean" => return Some(Self::Mean),
            "sum" => return Some(Self::Sum),
            "max" => return Some(Self::Max),
            _ => {}
        }
        let (whole, tenth) =
            name.strip_prefix('p')?.split_once('.').unwrap_or((name.get(1..)?, "0"));
        let are_digits =
            [whole, tenth].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let tenths = whole.parse::<u16>().ok()?.checked_mul(10)? + tenth.parse::<u16>().ok()?;
        (are_digits && tenth.len() == 1 && (1..1_000).contains(&tenths))
            .then_some(Self::Percentile(tenths))
    }
}

impl fmt::Display for UnknownMeasure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = WORDS.map(|(name, _)| name).join(", ");
        let fields = Field::NUMBERS.map(Field::name).join(", ");
        write!(
            formatter,
            "`{}` is not a measure; use {words}, or mean, sum, max or a percentile from p0.1 to \
             p99.9 with one digit after the point at most, with a colon and one of {fields} if it is \
             not of request_time, as in p95:upstream_time",
            self.0
        )
    }
}

impl std::error::Error for UnknownMeasure {}

#[cfg(test)]
mod tests {
    use super::{Field, Measure, Statistic, WORDS};

    #[test]
    fn measures_have_one_text_each() {
        for (name, measure) in WORDS {
            assert_eq!((name.parse(), measure.to_string().as_str()), (Ok(measure), name));
        }
        let number = |statistic| Measure::Number(statistic, Field::RequestTime);
        for (text, name, measure) in [
            ("p95", "p95:request_time", number(Statistic::Percentile(950))),
            ("p99.9", "p99.9:request_time", number(Statistic::Percentile(999))),
            ("p99.0:request_time", "p99:request_time", number(Statistic::Percentile(990))),
            ("max:bytes", "max:bytes", Measure::Number(Statistic::Max, Field::Bytes)),
            (
                "mean:upstream_response_time",
                "mean:upstream_time",
                Measure::Number(Statistic::Mean, Field::UpstreamTime),
            ),
        ] {
            assert_eq!(text.parse(), Ok(measure));
            assert_eq!(measure.to_string(), name);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "p",
            "p0",
            "p100",
            "p95.",
            "p95.55",
            "p99.99",
            "p+5",
            "p9\u{665}",
            "max:path",
            "sum:",
            "p95:",
            "hits",
            "p99999",
        ] {
            let error = text.parse::<Measure>().expect_err(text).to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not a measure; use requests, ")),
                "{error}"
            );
        }
    }
}
