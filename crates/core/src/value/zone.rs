//! Time zones as tables of offsets.
//!
//! A zone is a sorted table of instants from which an offset holds. The offset at an instant is
//! found by bisection; that of a fixed zone, without a search. Going the other way, from a local
//! time to an instant, is ambiguous twice a year:
//!
//! ```text
//! clock set forward at 02:00   01:59:59 -> 03:00:00   02:30 does not exist
//! clock set back at 03:00      02:59:59 -> 02:00:00   02:30 occurs twice
//! ```
//!
//! A local time that does not exist becomes the instant of the change, and one that occurs twice
//! the first of the two. So the function from local times to instants is monotonic, and a day,
//! however long, is the span from one local midnight to the next.
//!
//! Local times are numbers like instants: seconds since 1970-01-01T00:00:00, but on the local
//! clock.

use super::rfc3339::format_offset;

/// A time zone: the offset from UTC in force at each instant.
///
/// The caller supplies the offsets: this crate reads no time zone database.
///
/// # Examples
///
/// ```
/// use weir_core::Zone;
///
/// // Central European Time in 2025: summer time from 30 March to 26 October.
/// let zone = Zone::from_transitions("CET", 3_600, [(1_743_296_400, 7_200), (1_761_440_400, 3_600)]).unwrap();
/// assert_eq!(zone.offset_s(1_750_000_000), 7_200);
/// assert_eq!(zone.instant_of_local(7_200), 3_600);
/// assert_eq!(Zone::fixed(-5_400).name(), "-01:30");
/// assert!(Zone::from_transitions("?", 0, [(7, 3_600), (5, 0)]).is_none());
/// ```
///
/// # Limits
///
/// Offsets are less than a day in either direction. An offset holds after the last transition for
/// all time, so a table should reach as far as the log. Rules for the future (as in POSIX `TZ`)
/// must be written out as transitions by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    /// Instants in seconds since 1970 from which an offset in seconds holds, ascending.
    /// The first entry also holds for all time before it. Never empty.
    offsets: Vec<(i64, i32)>,
}

impl Zone {
    /// UTC.
    ///
    /// Named `UTC`.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), offsets: vec![(i64::MIN, 0)] }
    }

    /// A fixed offset in seconds east of UTC, named `+hh:mm`, or `UTC` for zero.
    ///
    /// For the offset that a log was written in, if its zone is not known.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Zone;
    ///
    /// let india = Zone::fixed(19_800);
    /// assert_eq!((india.name(), india.offset_s(0)), ("+05:30", 19_800));
    /// assert_eq!(Zone::fixed(0), Zone::utc());
    /// ```
    pub fn fixed(offset_s: i32) -> Self {
        if offset_s == 0 {
            return Self::utc();
        }
        Self { name: format_offset(offset_s), offsets: vec![(i64::MIN, offset_s)] }
    }

    /// A zone that has the offset `initial_offset_s` before the first of `transitions`.
    ///
    /// A transition is an instant in seconds since 1970 and the offset in force from then on, in
    /// seconds east of UTC. The instants ascend.
    ///
    /// `None` if they do not: the offset at a time would have no meaning.
    pub fn from_transitions(
        name: impl Into<String>,
        initial_offset_s: i32,
        transitions: impl IntoIterator<Item = (i64, i32)>,
    ) -> Option<Self> {
        let mut offsets = vec![(i64::MIN, initial_offset_s)];
        offsets.extend(transitions);
        let is_ascending = offsets.is_sorted_by(|(one, _), (next, _)| one < next);
        is_ascending.then(|| Self { name: name.into(), offsets })
    }

    /// The zone's name.
    ///
    /// As the caller gave it, for instance `Europe/Berlin`, or as [`Self::fixed`] formats it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The offset in force before all transitions, in seconds east of UTC.
    ///
    /// The only offset of a fixed zone.
    pub fn initial_offset_s(&self) -> i32 {
        self.offsets[0].1
    }

    /// The longest step of at most an hour that divides all transitions of the zone: both the
    /// local times at which its clocks change and the amounts by which they do.
    ///
    /// Steps of this length, counted in elapsed time from a local midnight, begin at the same
    /// minutes of the local clock before and after each change. It is 3,600 in nearly all zones,
    /// and 1,800 on Lord Howe Island, whose summer time is half an hour.
    pub(crate) fn even_step_s(&self) -> i64 {
        let initial = i64::from(self.initial_offset_s());
        self.offsets[1..].iter().fold(3600, |step, (from, offset_s)| {
            let step = gcd(step, i64::from(*offset_s) - initial);
            gcd(step, from.wrapping_add(initial))
        })
    }

    /// The offset in seconds east of UTC that is in force at `unix_s`, in seconds since 1970.
    ///
    /// At a transition, the offset from then on.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Zone;
    ///
    /// let zone = Zone::from_transitions("CET", 3_600, [(1_743_296_400, 7_200)]).unwrap();
    /// assert_eq!([0, 1_743_296_399, 1_743_296_400].map(|at| zone.offset_s(at)), [3_600, 3_600, 7_200]);
    /// ```
    #[inline]
    pub fn offset_s(&self, unix_s: i64) -> i32 {
        if let [(_, offset_s)] = self.offsets[..] {
            return offset_s;
        }
        let after = self.offsets.partition_point(|(from, _)| *from <= unix_s);
        self.offsets[after.saturating_sub(1)].1
    }

    /// The first instant whose local time is `local_s` or later, in seconds since 1970.
    ///
    /// `local_s` is a local date and time in seconds since 1970-01-01T00:00:00 on the local clock.
    ///
    /// For a local time that the clock skips this is the transition. For one that occurs twice it
    /// is the earlier instant.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Zone;
    ///
    /// let spring = 1_743_296_400; // 2025-03-30T01:00:00Z, when 02:00 becomes 03:00
    /// let autumn = 1_761_440_400; // 2025-10-26T01:00:00Z, when 03:00 becomes 02:00
    /// let zone = Zone::from_transitions("CET", 3_600, [(spring, 7_200), (autumn, 3_600)]).unwrap();
    ///
    /// let skipped = spring + 3_600 + 1_800; // 02:30 local time
    /// assert_eq!(zone.instant_of_local(skipped), spring);
    /// let twice = autumn + 3_600 + 1_800; // 02:30 local time
    /// assert_eq!(zone.instant_of_local(twice), autumn - 1_800);
    /// ```
    pub fn instant_of_local(&self, local_s: i64) -> i64 {
        // Offsets are less than a day, so the answer is not in an earlier span.
        let (mut from, mut until, mut offset_s) = self.span(local_s.saturating_sub(86_400));
        while local_s - i64::from(offset_s) >= until {
            (from, until, offset_s) = self.span(until);
        }
        from.max(local_s - i64::from(offset_s))
    }

    /// The range of instants around `unix_s` with one offset: `(from, until, offset_s)`, where
    /// `until` is exclusive. A caller that goes through sorted instants can reuse the offset.
    ///
    /// `from` is `i64::MIN` before the first transition and `until` is `i64::MAX` after the last.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Zone;
    ///
    /// let zone = Zone::from_transitions("CET", 3_600, [(1_743_296_400, 7_200)]).unwrap();
    /// assert_eq!(zone.span(0), (i64::MIN, 1_743_296_400, 3_600));
    /// assert_eq!(zone.span(1_743_296_400), (1_743_296_400, i64::MAX, 7_200));
    /// ```
    pub fn span(&self, unix_s: i64) -> (i64, i64, i32) {
        let after = self.offsets.partition_point(|(from, _)| *from <= unix_s).max(1);
        let until = self.offsets.get(after).map_or(i64::MAX, |(from, _)| *from);
        let (from, offset_s) = self.offsets[after - 1];
        (from, until, offset_s)
    }
}

/// The greatest common divisor, not negative.
fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::Zone;

    /// Central European Time around the changes of 2025.
    fn cet() -> Zone {
        let transitions = [(1_743_296_400, 7200), (1_761_440_400, 3600)];
        Zone::from_transitions("CET", 3600, transitions).expect("in order")
    }

    #[test]
    fn finds_the_offset() {
        let zone = cet();
        assert_eq!(zone.offset_s(0), 3600);
        assert_eq!(zone.offset_s(1_743_296_399), 3600);
        assert_eq!(zone.offset_s(1_743_296_400), 7200);
        assert_eq!(zone.offset_s(1_761_440_400), 3600);
        assert_eq!(Zone::fixed(-5400).name(), "-01:30");
    }

    #[test]
    fn finds_the_step_that_clocks_change_by() {
        assert_eq!(cet().even_step_s(), 3600);
        assert_eq!(Zone::fixed(5 * 3600 + 1800).even_step_s(), 3600);
        let lord_howe = [(1_743_260_400 + 1800, 37_800), (1_759_591_800, 39_600)];
        let lord_howe = Zone::from_transitions("Australia/Lord_Howe", 39_600, lord_howe);
        assert_eq!(lord_howe.expect("in order").even_step_s(), 1800);
        let at_a_minute_past_midnight = [(1_300_000_000 / 3600 * 3600 + 60, 3600)];
        let minute = Zone::from_transitions("", 0, at_a_minute_past_midnight);
        assert_eq!(minute.expect("in order").even_step_s(), 60);
    }

    #[test]
    fn finds_the_instant() {
        let zone = cet();
        for unix_s in [0, 1_743_296_399, 1_743_296_400, 1_750_000_000, 1_770_000_000] {
            let local = unix_s + i64::from(zone.offset_s(unix_s));
            assert_eq!(zone.instant_of_local(local), unix_s);
        }
        // 02:30 does not exist on 30 March 2025; 02:30 on 26 October comes twice.
        assert_eq!(zone.instant_of_local(1_743_296_400 + 3600 + 1800), 1_743_296_400);
        assert_eq!(zone.instant_of_local(1_761_440_400 + 3600 + 60), 1_761_440_400 - 3600 + 60);
    }
}
