//! The two periods of a comparison.

use std::fmt;

use weir_core::{Timestamp, Zone, format_rfc3339};
use weir_view::Period;

use crate::question::PeriodBounds;

const SECOND_NS: i64 = 1_000_000_000;

/// A half-open period of time, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeriodNs {
    pub(crate) since_ns: i64,
    pub(crate) until_ns: i64,
}

/// A period, and the previous one of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Periods {
    pub(crate) now: PeriodNs,
    pub(crate) before: PeriodNs,
}

/// Why two periods cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeriodError {
    /// No record has a time.
    NoTime,
    /// The period begins after the last record, or ends before it begins.
    Empty,
    /// The log covers too short a time to be divided into two periods.
    TooShort,
}

impl fmt::Display for PeriodError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoTime => "no record has a time, so there is no period to compare",
            Self::Empty => "nothing was logged in the period to compare; begin it earlier",
            Self::TooShort => {
                "the log covers too short a time to be halved; give the start of the period"
            }
        })
    }
}

impl std::error::Error for PeriodError {}

impl From<PeriodNs> for PeriodBounds {
    fn from(PeriodNs { since_ns, until_ns }: PeriodNs) -> Self {
        Self { since_ns: Some(since_ns), until_ns: Some(until_ns) }
    }
}

impl Periods {
    /// Returns the two periods, given the first and the last time of the log.
    ///
    /// Without an end, the period ends with the log, rounded up to whole seconds. Without a start,
    /// the time of the log up to the end is halved.
    ///
    /// # Errors
    /// Fails if a period would be empty.
    pub(crate) fn new(
        bounds: PeriodBounds,
        log_ns: Option<(i64, i64)>,
    ) -> Result<Self, PeriodError> {
        let (first_ns, last_ns) = log_ns.ok_or(PeriodError::NoTime)?;
        let log_end_ns = (last_ns.div_euclid(SECOND_NS) + 1).saturating_mul(SECOND_NS);
        let Some(since_ns) = bounds.since_ns else {
            let end_ns = bounds.until_ns.unwrap_or(log_end_ns).min(log_end_ns);
            return Self::halves(first_ns, end_ns);
        };
        let until_ns = bounds.until_ns.unwrap_or(log_end_ns);
        if until_ns <= since_ns {
            return Err(PeriodError::Empty);
        }
        let length_ns = until_ns.saturating_sub(since_ns);
        let before = PeriodNs { since_ns: since_ns.saturating_sub(length_ns), until_ns: since_ns };
        Ok(Self { now: PeriodNs { since_ns, until_ns }, before })
    }
    /// Halves a time, in whole seconds.
    fn halves(first_ns: i64, end_ns: i64) -> Result<Self, PeriodError> {
        let first_ns = first_ns.div_euclid(SECOND_NS).saturating_mul(SECOND_NS);
        let length_s = end_ns.saturating_sub(first_ns) / SECOND_NS;
        if length_s < 2 {
            return Err(PeriodError::TooShort);
        }
        let middle_ns = first_ns + (length_s / 2 + length_s % 2) * SECOND_NS;
        let now = PeriodNs { since_ns: middle_ns, until_ns: end_ns };
        Ok(Self { now, before: PeriodNs { since_ns: first_ns, until_ns: middle_ns } })
    }
}

impl PeriodNs {
    /// Returns the bounds as text in a zone.
    pub(crate) fn in_zone(self, zone: &Zone) -> Period {
        let stamp = |unix_ns: i64| {
            let offset_s = zone.offset_s(unix_ns.div_euclid(SECOND_NS));
            format_rfc3339(Timestamp { unix_ns, offset_s })
        };
        Period { since: stamp(self.since_ns), until: stamp(self.until_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::{PeriodBounds, PeriodError, Periods};

    const S: i64 = super::SECOND_NS;

    /// In seconds; the log runs from 100.5 to 199.5.
    fn periods(since: Option<i64>, until: Option<i64>) -> Option<[(i64, i64); 2]> {
        let [since_ns, until_ns] = [since, until].map(|bound| bound.map(|bound| bound * S));
        let log_ns = Some((100 * S + S / 2, 199 * S + S / 2));
        let Periods { now, before } =
            Periods::new(PeriodBounds { since_ns, until_ns }, log_ns).ok()?;
        Some([now, before].map(|period| (period.since_ns / S, period.until_ns / S)))
    }

    #[test]
    fn the_period_before_is_as_long() {
        assert_eq!(periods(Some(150), Some(180)), Some([(150, 180), (120, 150)]));
        assert_eq!(periods(Some(150), None), Some([(150, 200), (100, 150)]), "to the log's end");
        assert_eq!(periods(None, None), Some([(150, 200), (100, 150)]), "halves");
        assert_eq!(periods(None, Some(140)), Some([(120, 140), (100, 120)]));
        assert_eq!(periods(None, Some(900)), Some([(150, 200), (100, 150)]), "after the log");
        assert_eq!(periods(None, Some(103)), Some([(102, 103), (100, 102)]));
        assert_eq!(periods(Some(200), None), None);
        assert_eq!(periods(None, Some(101)), None);
        let whole = PeriodBounds { since_ns: Some(i64::MIN + 5), until_ns: Some(i64::MAX) };
        assert!(Periods::new(whole, Some((0, i64::MAX))).is_ok(), "no overflow");
        assert_eq!(Periods::new(whole, None), Err(PeriodError::NoTime));
    }
}
