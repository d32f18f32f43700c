//! Formats that begin to appear after the first lines of a log.
//!
//! The companions of a log are detected in its first lines ([`super::companions`]). A line that is
//! in none of these formats is tried with every known format: a format that appears later joins
//! the companions, and holds from the line on with which it has joined.
//!
//! The rule is one for lines in their order, so the result does not depend on how a log is cut into
//! blocks. Most of the work does not need the order: [`crate::LineDetector`] looks at a line alone, and
//! lines that match nothing are only counted. So threads can read blocks at the same time and need
//! the order for the few lines that bring a format ([`CompanionSearch::examine`]).

use std::sync::Arc;

use super::companions::{COMPANIONS_MAX, lines_min};
use super::compiled::line_options::with_options;
use super::compiled::{Format, YearReference};
use super::tracker::{reference_of_year, with_log_year};

/// The formats that have joined the companions of a log after its first lines.
///
/// # The rule
///
/// Lines that the log's format and its companions do not match are examined in their order. The
/// format that reads the most fields of such a line joins the companions, and reads this line and
/// those after it. If the line may be a torn line of the log's own format, the format joins with
/// its second line, and the first is unparsed. The search ends when a log has seven companions, or
/// after [`Self::LINES_IN_VAIN_MAX`] lines that brought no format.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{CompanionSearch, LineDetector, format_by_name};
///
/// let own = Arc::new(format_by_name("CADDY").unwrap());
/// let line = br#"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] "GET / HTTP/1.1" 200 5"#;
/// let found = LineDetector::default().detect(line);
///
/// let mut search = CompanionSearch::new(None);
/// let joined = search.examine(&own, &[], found.as_ref(), 0).unwrap();
/// assert_eq!(joined.name(), "COMMON");
/// assert_eq!(search.companions(&own, &[])[0].name(), "COMMON");
/// ```
///
/// Memory is seven formats, and one for each known format of which one line was seen.
#[derive(Debug, Clone, Default)]
pub struct CompanionSearch {
    /// See [`crate::TrackerOptions::year`].
    year: Option<YearReference>,
    joined: Vec<Arc<Format>>,
    /// Formats of which one line was seen that may be torn.
    seen: Vec<Arc<Format>>,
    lines_in_vain: u64,
}

impl CompanionSearch {
    /// After this many lines that bring no format the search ends. They take some ten milliseconds,
    /// and a few seconds if all are as long as an examined line may be and begin as a line of the
    /// known formats again and again.
    pub const LINES_IN_VAIN_MAX: u64 = 4_096;

    /// A search at the start of a log. `year` determines the year of times without one, if none was
    /// stated; without it the current time does.
    pub fn new(year: Option<YearReference>) -> Self {
        Self { year, ..Self::default() }
    }

    /// The companions of a log: `first` were found in its first lines, and then come those that
    /// have joined; seven at most.
    pub fn companions(&self, own: &Format, first: &[Arc<Format>]) -> Vec<Arc<Format>> {
        let joined = self.joined_beside(own, first).cloned();
        first.iter().cloned().chain(joined).take(COMPANIONS_MAX).collect()
    }

    fn joined_beside<'a>(
        &'a self,
        own: &'a Format,
        first: &'a [Arc<Format>],
    ) -> impl Iterator<Item = &'a Arc<Format>> {
        self.joined.iter().filter(move |format| {
            !format.is_same_as(own) && !first.iter().any(|one| one.is_same_as(format))
        })
    }

    /// The number of lines in vain after which the search ends; 0 if it has ended.
    pub fn lines_left(&self, own: &Format, first: &[Arc<Format>]) -> u64 {
        let lines_left = Self::LINES_IN_VAIN_MAX - self.lines_in_vain;
        let is_full = || first.len() + self.joined_beside(own, first).count() >= COMPANIONS_MAX;
        if lines_left > 0 && is_full() { 0 } else { lines_left }
    }

    /// Counts lines that match no known format.
    pub fn count_in_vain(&mut self, lines: u64) {
        self.lines_in_vain = Self::LINES_IN_VAIN_MAX.min(self.lines_in_vain + lines);
    }

    /// Examines the next line that neither `own` nor one of the [`Self::companions`] matches.
    /// `found` is its format by [`crate::LineDetector::detect`], and `now_s` the current time in seconds
    /// since 1970. Returns the format that joins and reads the line, if one does.
    pub fn examine(
        &mut self,
        own: &Format,
        first: &[Arc<Format>],
        found: Option<&Arc<Format>>,
        now_s: i64,
    ) -> Option<Arc<Format>> {
        if self.lines_left(own, first) == 0 {
            return None;
        }
        let joining = found.filter(|found| {
            let is_seen = self.seen.iter().any(|seen| seen.is_same_as(found));
            is_seen || lines_min(found, own) <= 1
        });
        let Some(joining) = joining else {
            self.seen.extend(found.cloned());
            self.count_in_vain(1);
            return None;
        };
        let joining = with_options(joining.clone(), own.line_options());
        let joining = Format::with_any_user(&joining);
        let stated = || own.line_options().and_then(|options| reference_of_year(options.year?));
        let joining = with_log_year(joining, own.year().or_else(stated).or(self.year), now_s);
        self.joined.push(joining.clone());
        Some(joining)
    }
}
