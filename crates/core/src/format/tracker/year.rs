//! The year of times that are written without one.
//!
//! Syslog servers write `Dec 31 23:59:59`. The year is not in the line, so it must come from
//! elsewhere:
//!
//! 1. A person states the year of the first line. Then the order of the lines tells those of the
//!    others, see [`YearOrder`].
//! 2. The name of the file has a day. It tells the year of the first line, as a stated one does.
//! 3. The log was last written at a time that the caller knows, or another log goes on after it, or else
//!    the clock has the present. All come after all lines, but may come years after them, as in a copy.
//! 4. A log of the third kind that has a 29 February near its start, more than a year before that time, is
//!    of the latest leap year before it.
//!
//! Each time gets the latest year that puts it at most a day after a reference. So a log that spans
//! the turn of a year is read correctly in both halves. A log of more than a year is only with a
//! year of the first two kinds.

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

/// Half a year: each line is of the year that puts it closest to the line before.
const HALF_S: i64 = 365 * DAY_S / 2;

/// How far from the line for which the reference was set a line must be for a new one.
const NEXT_S: i64 = 60 * DAY_S;

/// The first bytes of a log in which every line is followed. In so few bytes there may be years.
const DENSE_BYTES: usize = 256 << 10;

/// After these, one line in so many bytes is followed, because the lines are read twice.
const STEP_BYTES: usize = 4 << 10;

/// The most changes of the reference in a block, so that a log without order is not cut into single
/// lines. They suffice for forty years.
const CHANGES_MAX: usize = 256;

/// The years of a log whose first line is of a known year: each line is of the year that puts it
/// closest to the line before. So a few lines of a machine whose clock was not set yet do not change
/// the years of those after them, but a pause of more than half a year is not seen.
#[derive(Debug)]
pub(super) struct YearOrder {
    origin: YearOrigin,
    /// The first line is of the first time from then on, in seconds since 1970.
    begin_s: i64,
    /// No line is before this.
    earliest_s: i64,
    /// The time of the last line that was followed.
    last_s: Option<i64>,
    /// The time of the line for which the reference was set.
    reference_s: Option<i64>,
    /// How much of [`DENSE_BYTES`] is left.
    dense_bytes: usize,
}

impl YearOrder {
    /// The order of a log whose first line is of this year.
    pub(super) fn stated(year: i32) -> Option<Self> {
        let begin_s = Date::new(year, 1, 1)?.days() * DAY_S;
        Some(Self::new(YearOrigin::Stated, begin_s, begin_s))
    }

    /// The order of a log whose first line is of the year before this reference.
    pub(super) fn before(reference: YearReference) -> Self {
        let begin_s = reference.unix_s.saturating_add(DAY_S + 1 - 365 * DAY_S);
        Self::new(reference.origin, begin_s, i64::MIN)
    }

    /// The order of a log with a 29 February near its start, if the reference alone would put its first
    /// line after that day.
    pub(super) fn of_leap_day(
        format: &Arc<Format>,
        bytes: &[u8],
        reference: YearReference,
    ) -> Option<Self> {
        if matches!(reference.origin, YearOrigin::Stated | YearOrigin::Name) {
            return None;
        }
        let mut reader = reader_of_leap_year(format)?;
        let times: Vec<i64> = Lines::new(&bytes[..bytes.len().min(DENSE_BYTES)])
            .filter_map(|line| time_of(&mut reader, line.bytes))
            .collect();
        let first_s = *times.first()?;
        let leap_s = leap_day_among_neighbours(&times)?;
        let until_s = reference.unix_s.checked_add(DAY_S)?;
        let (first_s, leap_s) = (latest_s(first_s, until_s)?, latest_s(leap_s, until_s)?);
        let begin_s = leap_s - 365 * DAY_S;
        (first_s > leap_s).then(|| Self::new(YearOrigin::LeapDay, begin_s, i64::MIN))
    }

    fn new(origin: YearOrigin, begin_s: i64, earliest_s: i64) -> Self {
        let (last_s, reference_s) = (None, None);
        Self { origin, begin_s, earliest_s, last_s, reference_s, dense_bytes: DENSE_BYTES }
    }

    /// Where in the next block the reference changes, and to which.
    pub(super) fn follow(
        &mut self,
        format: &Arc<Format>,
        bytes: &[u8],
    ) -> Vec<(usize, YearReference)> {
        let mut changes = Vec::new();
        let Some(mut reader) = reader_of_leap_year(format) else { return changes };
        let mut next = 0;
        for line in Lines::new(bytes) {
            if changes.len() == CHANGES_MAX {
                break;
            }
            if line.start < next {
                continue;
            }
            if line.start >= self.dense_bytes {
                next = line.start + STEP_BYTES;
            }
            let Some(time_s) = time_of(&mut reader, line.bytes) else { continue };
            let is_first = self.reference_s.is_none();
            let reference = self.follow_time(time_s);
            changes.extend(reference.map(|it| (if is_first { 0 } else { line.start }, it)));
        }
        self.dense_bytes = self.dense_bytes.saturating_sub(bytes.len());
        changes
    }

    /// The reference for the lines from a time of an unknown year on, if it changes.
    fn follow_time(&mut self, time_s: i64) -> Option<YearReference> {
        let time_s = match self.last_s {
            None => next_s(time_s, self.begin_s)?,
            Some(last_s) => {
                let from_s = (last_s - HALF_S).max(self.earliest_s);
                // The next leap day may be years away.
                next_s(time_s, from_s).filter(|next_s| *next_s < from_s + 366 * DAY_S)?
            }
        };
        self.last_s = Some(time_s);
        if self.reference_s.is_some_and(|reference_s| (time_s - reference_s).abs() <= NEXT_S) {
            return None;
        }
        self.reference_s = Some(time_s);
        let end_s = year_after((time_s - HALF_S).max(self.earliest_s))?;
        Some(YearReference { unix_s: end_s - 1 - DAY_S, origin: self.origin })
    }
}

/// A reader of lines whose times it puts into one leap year, so that each has its day.
fn reader_of_leap_year(format: &Arc<Format>) -> Option<LogReader> {
    let leap_year = reference_of_year(1972)?;
    Some(LogReader::new(Arc::new(Format::clone(format).with_year(leap_year))))
}

/// The time of a line in seconds since 1970.
fn time_of(reader: &mut LogReader, line: &[u8]) -> Option<i64> {
    let time = reader.read(line, |_, outcome| match outcome {
        LineOutcome::Record(record) => record.time,
        _ => None,
    });
    Some(time?.unix_ns.div_euclid(1_000_000_000))
}

/// The same time of the next year; instead of a leap day the day after it.
fn year_after(unix_s: i64) -> Option<i64> {
    let Date { year, month, day, .. } = Date::from_days(unix_s.div_euclid(DAY_S));
    let year = year.checked_add(1)?;
    let date = Date::new(year, month, day).or_else(|| Date::new(year, 3, 1))?;
    Some(date.days() * DAY_S + unix_s.rem_euclid(DAY_S))
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

/// The last time up to `until_s` with the date and the time of day of `time_s`.
fn latest_s(time_s: i64, until_s: i64) -> Option<i64> {
    let mut times = (1..=9).filter_map(|years| next_s(time_s, until_s - years * 366 * DAY_S));
    times.find(|time_s| *time_s <= until_s)
}

/// The first 29 February that lines of the days around it surround. A line of its own may have any time:
/// senders of syslog choose it.
fn leap_day_among_neighbours(times: &[i64]) -> Option<i64> {
    const NEIGHBOURS_S: i64 = 3 * DAY_S;
    let is_leap_day = |time_s: &i64| {
        let Date { month, day, .. } = Date::from_days(time_s.div_euclid(DAY_S));
        (month, day) == (2, 29)
    };
    let begin = times.iter().position(is_leap_day)?;
    let end = begin + times[begin..].iter().take_while(|time_s| is_leap_day(time_s)).count();
    let (leap_s, last_s) = (times[begin], times[end - 1]);
    let before = times[..begin].last().map(|time_s| leap_s - time_s);
    let after = times.get(end).map(|time_s| time_s - last_s);
    let are_near =
        before.iter().chain(&after).all(|distance_s| (0..NEIGHBOURS_S).contains(distance_s));
    (are_near && (before.is_some() || after.is_some())).then_some(leap_s)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::block::Block;
    use crate::format::compiled::line_options::LineOptions;
    use crate::format::compiled::{YearOrigin, YearReference};
    use crate::format::{FormatChoice, FormatTracker, LineParser, TrackerOptions};
    use crate::line::Lines;
    use crate::record::Record;
    use crate::value::{Date, format_rfc3339};

    fn line(time: &str) -> String {
        format!(
            "{time} web kernel: [1.5] [UFW BLOCK] IN=eth0 OUT= SRC=192.0.2.7 DST=192.0.2.1 LEN=40 \
             PROTO=TCP SPT=1 DPT=2\n"
        )
    }

    /// The dates of the lines of each block.
    fn dates_of(
        choice: FormatChoice,
        year: Option<YearReference>,
        blocks: &[Vec<String>],
    ) -> Vec<String> {
        let options = TrackerOptions { year, ..TrackerOptions::default() };
        let mut tracker = FormatTracker::new(choice, options, 1_800_000_000);
        let mut dates = Vec::new();
        for times in blocks {
            let lines: String = times.iter().map(|time| line(time)).collect();
            let block = Block::new(lines.into_bytes());
            let spans = tracker.track(block.bytes(), 1_800_000_000).spans;
            let pieces = block.split(spans.iter().skip(1).map(|span| span.start));
            for (piece, span) in pieces.iter().zip(&spans) {
                let mut parser = LineParser::new(span.format.clone());
                for line in Lines::new(piece.bytes()) {
                    let mut record = Record::new();
                    parser.parse(line.bytes, &mut record).unwrap();
                    dates.push(format_rfc3339(record.time.unwrap())[..10].to_owned());
                }
            }
        }
        dates
    }

    /// The same, if the first line is of this year.
    fn dates(year: i32, blocks: &[&[&str]]) -> Vec<String> {
        let options =
            Arc::new(LineOptions { client: None, year: Some(year), ..LineOptions::default() });
        let owned = |times: &&[&str]| times.iter().map(|time| (*time).to_owned()).collect();
        let blocks: Vec<Vec<String>> = blocks.iter().map(owned).collect();
        dates_of(FormatChoice::DetectWith(options), None, &blocks)
    }

    /// Days from one on, as `2021-03-01` and as syslog writes them.
    fn days(first: Date, count: i64) -> Vec<(String, String)> {
        let days = (first.days()..).take(count as usize).map(Date::from_days);
        days.map(|Date { year, month, day, .. }| {
            let name = &"JanFebMarAprMayJunJulAugSepOctNovDec"[month as usize * 3 - 3..][..3];
            (format!("{year}-{month:02}-{day:02}"), format!("{name} {day:2} 10:00:00"))
        })
        .collect()
    }

    #[test]
    fn the_years_in_a_block_follow_the_lines() {
        let (expected, times): (Vec<_>, Vec<_>) =
            days(Date::new(2021, 3, 1).unwrap(), 1_200).into_iter().unzip();
        let options =
            Arc::new(LineOptions { client: None, year: Some(2021), ..LineOptions::default() });
        let choice = FormatChoice::DetectWith(options);
        assert_eq!(dates_of(choice.clone(), None, std::slice::from_ref(&times)), expected);
        let blocks: Vec<Vec<String>> = times.chunks(77).map(<[String]>::to_vec).collect();
        assert_eq!(dates_of(choice, None, &blocks), expected);
    }

    #[test]
    fn a_clock_that_is_not_set_changes_no_other_years() {
        let options =
            Arc::new(LineOptions { client: None, year: Some(2021), ..LineOptions::default() });
        let choice = FormatChoice::DetectWith(options);
        let unset = vec!["Jan  1 00:00:10".to_owned(); 22_000];
        for month in [5, 9] {
            let (expected, times): (Vec<_>, Vec<_>) =
                days(Date::new(2021, month, 13).unwrap(), 60).into_iter().unzip();
            let blocks = [times[..30].to_vec(), unset.clone(), times[30..].to_vec()];
            for blocks in [vec![blocks.concat()], blocks.to_vec()] {
                let mut found = dates_of(choice.clone(), None, &blocks);
                found.drain(30..30 + unset.len());
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_leap_day_is_not_of_another_year_than_the_days_around_it() {
        let reference = |year, month, origin| {
            let unix_s = Date::new(year, month, 28).unwrap().days() * super::DAY_S;
            Some(YearReference { unix_s, origin })
        };
        let of = |first: Date, year| {
            let (expected, times): (Vec<_>, Vec<_>) = days(first, 200).into_iter().unzip();
            assert_eq!(dates_of(FormatChoice::Detect, year, &[times]), expected, "{year:?}");
        };
        let first = Date::new(2023, 12, 20).unwrap();
        // Written soon, or copied years later.
        of(first, reference(2024, 7, YearOrigin::Written));
        of(first, reference(2025, 11, YearOrigin::Written));
        of(first, reference(2026, 11, YearOrigin::Clock));
        of(first, reference(2025, 2, YearOrigin::NextLog));
        of(Date::new(2019, 12, 20).unwrap(), reference(2023, 11, YearOrigin::Written));
        // A log without the day.
        of(Date::new(2026, 3, 1).unwrap(), reference(2026, 11, YearOrigin::Written));
    }

    #[test]
    fn a_year_before_a_time_is_that_of_the_first_line() {
        let (expected, times): (Vec<_>, Vec<_>) =
            days(Date::new(2025, 6, 1).unwrap(), 500).into_iter().unzip();
        let unix_s = Date::new(2025, 11, 28).unwrap().days() * super::DAY_S;
        let year = YearReference { unix_s, origin: YearOrigin::Name };
        assert_eq!(dates_of(FormatChoice::Detect, Some(year), &[times]), expected);
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
                // A line that is late.
                "Dec 31 23:59:58",
                "Jan  1 00:00:01",
            ]],
        );
        let expected =
            ["2022-11-30", "2022-11-30", "2022-12-31", "2023-01-01", "2022-12-31", "2023-01-01"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_block_without_order_is_not_cut_into_lines() {
        let options =
            Arc::new(LineOptions { client: None, year: Some(2021), ..LineOptions::default() });
        let choice = FormatChoice::DetectWith(options);
        let mut tracker = FormatTracker::new(choice, TrackerOptions::default(), 0);
        let log = (line("Jan  1 00:00:00") + &line("May  1 00:00:00")).repeat(1_000);
        assert_eq!(tracker.track(log.as_bytes(), 0).spans.len(), super::CHANGES_MAX);
    }

    #[test]
    fn no_line_is_before_a_stated_year() {
        let found = dates(2024, &[&["Jan  1 00:00:00", "Dec 31 23:59:59"], &["Jan  1 00:00:01"]]);
        assert_eq!(found, ["2024-01-01", "2024-12-31", "2025-01-01"]);
        let found = dates(2024, &[&["Feb 29 00:00:00", "Mar  1 00:00:00", "Jan  1 00:00:00"]]);
        assert_eq!(found, ["2024-02-29", "2024-03-01", "2024-01-01"]);
    }
}
