//! What the times of a format's lines lack.

use super::Format;

/// Where the year of times comes from that are written without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum YearOrigin {
    /// A person has stated it.
    Stated,
    /// A day in the name of the file.
    Name,
    /// The first time of the log that goes on after this one, in a rotated set.
    NextLog,
    /// A 29 February in the log.
    LeapDay,
    /// The time at which the log was last written.
    Written,
    /// The clock of this machine.
    Clock,
}

/// The time that determines the year of times that are written without one: each gets the latest
/// year that puts it at most one day after this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YearReference {
    /// The time in seconds since 1970.
    pub unix_s: i64,
    /// Where it comes from.
    pub origin: YearOrigin,
}

impl Format {
    /// The same format for a log that has no line much later than `unix_s`, in seconds since
    /// 1970.
    ///
    /// Times without a year, as syslog writes them, get the latest year that puts them at most
    /// one day after `unix_s`. Without a reference their year is 1972, a leap year that no log
    /// has.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Format, LineParser, Record, format_rfc3339};
    ///
    /// let written_s = 1_767_225_660; // 2026-01-01T00:01:00Z
    /// let format = Format::parse("$remote_addr $status in SYSLOG")?;
    /// assert!(format.lacks_year());
    /// let mut parser = LineParser::new(Arc::new(format.with_year_reference(written_s)));
    /// let mut record = Record::new();
    /// parser.parse(b"Dec 31 23:59:59 web nginx: ::1 200", &mut record).unwrap();
    /// assert_eq!(format_rfc3339(record.time.unwrap()), "2025-12-31T23:59:59Z");
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn with_year_reference(mut self, unix_s: i64) -> Self {
        self.year = Some(YearReference { unix_s, origin: YearOrigin::Written });
        self
    }

    /// [`Self::with_year_reference`], with where the reference comes from.
    pub fn with_year(self, year: YearReference) -> Self {
        Self { year: Some(year), ..self }
    }

    /// The reference that [`Self::with_year_reference`] has set, in seconds since 1970.
    pub fn year_reference(&self) -> Option<i64> {
        self.year.map(|year| year.unix_s)
    }

    /// The reference that [`Self::with_year`] has set.
    pub fn year(&self) -> Option<YearReference> {
        self.year
    }

    /// Whether times have no year, so that [`Self::with_year_reference`] matters.
    pub fn lacks_year(&self) -> bool {
        self.takes_wrapper_time || self.program.lacks_year()
    }

    /// Whether the log says that its times are local to the machine that wrote it, in a zone that
    /// it does not name. They are read as UTC.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Format;
    ///
    /// assert!(Format::parse("#Fields: date-local time-local c-ip")?.has_local_times());
    /// assert!(!Format::parse("#Fields: date time c-ip")?.has_local_times());
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn has_local_times(&self) -> bool {
        self.has_local_times
    }

    /// Sets [`Self::has_local_times`].
    pub(in crate::format) fn set_local_times(&mut self) {
        self.has_local_times = true;
    }
}
