//! Where a field is in the records of a format.

use std::borrow::Cow;

use weir_core::{Field, Format, Record, STATUS_CLASSES, Timestamp, format_rfc3339};

/// Where a field is in the records of one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A field that every format may have.
    Known(Field),
    /// One of the format's own.
    Extra(usize),
    /// The class of the status, such as `4xx`.
    StatusClass,
}

/// The name of the class of the status, as reports have it.
pub(crate) const STATUS_CLASS: &str = "status_class";

impl Place {
    /// Where a field of that name is; `None` where the format has none.
    pub(crate) fn of(name: &str, format: &Format) -> Option<Self> {
        if name == STATUS_CLASS {
            return format.fills(Field::Status).then_some(Self::StatusClass);
        }
        match Field::by_name(name) {
            // A request line that is none is kept whole.
            Some(Field::Request) => Some(Self::Known(Field::Request)),
            Some(field) => format.fills(field).then_some(Self::Known(field)),
            None => format.extra_fields().iter().position(|extra| extra == name).map(Self::Extra),
        }
    }

    /// What a record has there, as text: times as RFC 3339, durations in seconds.
    pub(crate) fn value<'a>(self, record: &Record<'a>) -> Option<Cow<'a, [u8]>> {
        let number = |number: Option<u64>| number.map(|number| number.to_string().into_bytes());
        Some(match self {
            Self::Extra(index) => Cow::Borrowed(record.extra(index)?),
            Self::StatusClass => {
                Cow::Borrowed(status_class(record.text(Field::Status)?).as_bytes())
            }
            Self::Known(Field::Bytes) => Cow::Owned(number(record.bytes)?),
            Self::Known(Field::RequestTime) => Cow::Owned(seconds(record.request_time_ns?)),
            Self::Known(Field::UpstreamTime) => Cow::Owned(seconds(record.upstream_time_ns?)),
            Self::Known(Field::Time) => Cow::Owned(rfc3339(record.time?)),
            Self::Known(field) => Cow::Borrowed(record.text(field)?),
        })
    }

    /// True where the value is a number.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Known(field) if Field::NUMBERS.contains(&field))
    }
}

/// Where a field of that name is.
///
/// # Errors
/// Where the format has none: a sentence with those that it has.
pub(crate) fn find(name: &str, format: &Format) -> Result<Place, String> {
    Place::of(name, format).ok_or_else(|| {
        let names: Vec<String> = columns(format).into_iter().map(|(name, _)| name).collect();
        format!("the log has no field `{name}`; it has {}", names.join(", "))
    })
}

/// The fields of a format by their names: the time, those that every format may have, and the
/// format's own.
pub(crate) fn columns(format: &Format) -> Vec<(String, Place)> {
    let time = [Field::Time].into_iter();
    let known = time.chain(Field::TEXT).chain(Field::NUMBERS);
    let known = known.filter(|field| format.fills(*field) || *field == Field::Request);
    let known = known.map(|field| (field.name().to_owned(), Place::Known(field)));
    let extra = format.extra_fields().iter().enumerate();
    known.chain(extra.map(|(index, name)| (name.clone(), Place::Extra(index)))).collect()
}

fn seconds(nanoseconds: u64) -> Vec<u8> {
    let (whole, part) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').as_bytes().to_vec()
}

fn rfc3339(time: Timestamp) -> Vec<u8> {
    format_rfc3339(time).into_bytes()
}

/// The class of a status, as reports have it.
pub(crate) fn status_class(status: &[u8]) -> &'static str {
    let number = std::str::from_utf8(status).ok().filter(|text| {
        // `parse` would take a sign.
        text.bytes().all(|byte| byte.is_ascii_digit())
    });
    let class = match number.and_then(|text| text.parse().ok()) {
        Some(status @ 100..600) => status / 100,
        _ => 0,
    };
    STATUS_CLASSES[class]
}

#[cfg(test)]
mod tests {
    use super::{seconds, status_class};

    #[test]
    fn durations_are_seconds_without_idle_zeros() {
        let shown = |nanoseconds| String::from_utf8(seconds(nanoseconds)).expect("digits");
        assert_eq!(shown(0), "0");
        assert_eq!(shown(1_250_000_000), "1.25");
        assert_eq!(shown(10_000_000_000), "10");
        assert_eq!(shown(1), "0.000000001");
    }

    #[test]
    fn classes_are_those_of_reports() {
        for (status, class) in [("404", "4xx"), ("099", "other"), ("40", "other"), ("-", "other")] {
            assert_eq!(status_class(status.as_bytes()), class, "{status}");
        }
    }
}
