//! The year of times that are written without one.
//!
//! Syslog servers write `Dec 31 23:59:59`. The year is not in the line, so it must come from
//! elsewhere:
//!
//! 1. A person states the year of the first line. Then the order of the months tells those of the
//!    others, see [`YearOrder`].
//! 2. The name of the file has the day on which the log ends.
//! 3. The log was last written at a time that the caller knows, or else the clock has the present.
//!    Both come after all lines, but may come years after them, as in a copy.
//!
//! Each time gets the latest year that puts it at most a day after a reference. So a log that spans
//! the turn of a year is read correctly in both halves. A log of more than a year is only with a
//! stated year.

use std::sync::Arc;

use crate::format::compiled::{Format, YearOrigin, YearReference};
use crate::format::read::log_reader::{LineOutcome, LogReader};
use crate::line::Lines;
use crate::value::{DAY_S, Date};

/// Gives a format whose times have no year the reference that determines it: this one, or else a
/// reference that the format has already, or else `now_s`, in seconds since 1970. Other formats are
/// returned unchanged.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{YearOrigin, YearReference, format_by_name, with_log_year};
///
/// let firewall = Arc::new(format_by_name("FIREWALL").unwrap());
/// let written = YearReference { unix_s: 1_765_962_181, origin: YearOrigin::Written };
/// let now = with_log_year(firewall.clone(), None, 1_800_000_000).year().unwrap();
/// assert_eq!((now.unix_s, now.origin), (1_800_000_000, YearOrigin::Clock));
/// assert_eq!(with_log_year(firewall, Some(written), 1_800_000_000).year(), Some(written));
/// ```
///
/// Compiles nothing: the format is copied with another reference.
pub fn with_log_year(
    format: Arc<Format>,
    reference: Option<YearReference>,
    now_s: i64,
) -> Arc<Format> {
    if !format.lacks_year() || (reference.is_none() && format.year().is_some()) {
        return format;
    }
    let now = YearReference { unix_s: now_s, origin: YearOrigin::Clock };
    Arc::new(Format::clone(&format).with_year(reference.unwrap_or(now)))
}

/// The reference for a log of one stated year.
pub(in crate::format) fn reference_of_year(year: i32) -> Option<YearReference> {
    let end_s = Date::new(year.checked_add(1)?, 1, 1)?.days() * DAY_S;
    Some(YearReference { unix_s: end_s - 1 - DAY_S, origin: YearOrigin::Stated })
}

/// How much later than its reference a block must begin for a new one.
const NEXT_S: i64 = 90 * DAY_S;

/// Lines may be this much earlier than the first of a log.
const DISORDER_S: i64 = DAY_S;

/// The years of a log whose first line is of a stated year: a line of an earlier month than the line
/// before it is of the next year. The references follow the first lines of the blocks, so a block may
/// be of a year less a day.
#[derive(Debug)]
pub(super) struct YearOrder {
    year: i32,
    /// The time of the first line of the last block, in seconds since 1970.
    last_s: Option<i64>,
    /// The same of the block for which the reference was set.
    reference_s: Option<i64>,
}

impl YearOrder {
    /// The order of a log whose first line is of this year.
    pub(super) fn new(year: i32) -> Self {
        Self { year, last_s: None, reference_s: None }
    }

    /// The reference for the lines of the next block and those after it, if it changes.
    pub(super) fn follow(&mut self, format: &Arc<Format>, bytes: &[u8]) -> Option<YearReference> {
        let time_s = first_time_s(format, bytes)?;
        let earliest_s = match self.last_s {
            None => Date::new(self.year, 1, 1)?.days() * DAY_S,
            // The line is of the year that puts it closest to the last block.
            Some(last_s) => last_s - 183 * DAY_S,
        };
        let begin_s = next_s(time_s, earliest_s)?;
        self.last_s = Some(begin_s);
        if self.reference_s.is_some_and(|reference_s| begin_s < reference_s + NEXT_S) {
            return None;
        }
        self.reference_s = Some(begin_s);
        let unix_s = next_s(time_s, begin_s + 1)? - DISORDER_S - DAY_S;
        Some(YearReference { unix_s, origin: YearOrigin::Stated })
    }
}

/// The first time in a block, in seconds since 1970, in the leap year 1972.
fn first_time_s(format: &Arc<Format>, bytes: &[u8]) -> Option<i64> {
    let reference = reference_of_year(1972)?;
    let mut reader = LogReader::new(Arc::new(Format::clone(format).with_year(reference)));
    let time = Lines::new(bytes).find_map(|line| {
        reader.read(line.bytes, |_, outcome| match outcome {
            LineOutcome::Record(record) => record.time,
            _ => None,
        })
    })?;
    Some(time.unix_ns.div_euclid(1_000_000_000))
}

/// The first time from `earliest_s` on with the date and the time of day of `time_s`.
fn next_s(time_s: i64, earliest_s: i64) -> Option<i64> {
    let Date { month, day, .. } = Date::from_days(time_s.div_euclid(DAY_S));
    let first = Date::from_days(earliest_s.div_euclid(DAY_S)).year;
    // A leap day may be missing in seven years.
    let years = (first..first.checked_add(9)?).filter_map(|year| Date::new(year, month, day));
    let mut times = years.map(|date| date.days() * DAY_S + time_s.rem_euclid(DAY_S));
    times.find(|time_s| *time_s >= earliest_s)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::format::compiled::line_options::LineOptions;
    use crate::format::{FormatChoice, FormatTracker, LineParser, TrackerOptions};
    use crate::record::Record;
    use crate::value::format_rfc3339;

    fn line(time: &str) -> String {
        format!(
            "{time} web kernel: [1.5] [UFW BLOCK] IN=eth0 OUT= SRC=192.0.2.7 DST=192.0.2.1 LEN=40 \
             PROTO=TCP SPT=1 DPT=2\n"
        )
    }

    /// The dates of the lines of each block, if the first is of this year.
    fn dates(year: i32, blocks: &[&[&str]]) -> Vec<Vec<String>> {
        let options = Arc::new(LineOptions { client: None, year: Some(year) });
        let choice = FormatChoice::DetectWith(options);
        let mut tracker = FormatTracker::new(choice, TrackerOptions::default(), 1_800_000_000);
        let mut dates = Vec::new();
        for times in blocks {
            let lines: Vec<String> = times.iter().map(|time| line(time)).collect();
            let spans = tracker.track(lines.concat().as_bytes(), 1_800_000_000).spans;
            let mut parser = LineParser::new(spans[0].format.clone());
            let date = |line: &String| {
                let mut record = Record::new();
                parser.parse(line.trim_end().as_bytes(), &mut record).unwrap();
                format_rfc3339(record.time.unwrap())[..10].to_owned()
            };
            dates.push(lines.iter().map(date).collect());
        }
        dates
    }

    #[test]
    fn the_lines_after_the_turn_of_a_year_are_of_the_next() {
        let found = dates(
            2022,
            &[&[
                "Nov 30 10:00:00",
                "Nov 30 09:30:00",
                "Dec 31 23:59:59",
                "Jan  1 00:00:00",
                "Nov 28 08:00:00",
            ]],
        );
        let expected = ["2022-11-30", "2022-11-30", "2022-12-31", "2023-01-01", "2023-11-28"];
        assert_eq!(found, [expected]);
    }

    #[test]
    fn the_order_of_months_tells_several_years() {
        let found = dates(
            2019,
            &[
                &["Dec 30 10:00:00", "Mar 10 00:00:00"],
                &["Mar 10 00:00:01", "Nov 12 00:00:00"],
                &["Nov 13 00:00:00", "Jan  2 00:00:00"],
                // A line that is late.
                &["Jan  1 00:00:00", "Feb 28 00:00:00"],
                &["Feb 28 23:00:00"],
            ],
        );
        let expected: [&[&str]; 5] = [
            &["2019-12-30", "2020-03-10"],
            &["2020-03-10", "2020-11-12"],
            &["2020-11-13", "2021-01-02"],
            &["2021-01-01", "2021-02-28"],
            &["2021-02-28"],
        ];
        assert_eq!(found, expected);
        assert_eq!(dates(2024, &[&["Feb 29 00:00:00"]]), [["2024-02-29"]]);
    }
}
