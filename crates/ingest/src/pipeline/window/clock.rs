//! The time of a log that is still being written, by what it says itself.

use weir_core::Segment;

/// The newest time of a log's records, from which a window of time is counted.
///
/// The log's own time counts and not this machine's, so that an old log that is read again is
/// asked in its own time. A few records with a wrong time, whoever wrote them, neither empty
/// the window nor stop it:
///
/// - a time that is ahead of the newest by more than the window becomes the newest only when
///   [`AGREEING`] records in a row are as far ahead; then it is the first of these times. That
///   is also what happens where a log was silent for longer than the window is wide.
/// - where as many in a row are behind the window as have agreed with the newest time, up to
///   [`AGREEING_MAX`], the newest time was wrong, and the last of theirs takes its place.
/// - of a live source no time is believed that is ahead of this machine's by more than
///   [`Clock::slack_ns`], however many are: anybody may send them. Servers whose clock or time
///   zone is wrong do so for ever, though: where no other time came for a while that is longer,
///   a time may be ahead by that while instead, and one that is believed so stays this far ahead.
/// - where [`PRESENT`] more records of a live source have this machine's time than are further ahead,
///   the newest time was wrong, in a row or not: whoever moved the clock while nobody sent anything is
///   not to hold it by a record now and then.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    width_ns: i64,
    newest_ns: Option<i64>,
    /// Records that agreed with the newest time.
    agreeing: u64,
    /// All that ever did.
    agreed: u64,
    /// This machine's time when one last did; at first, when there was a record.
    agreed_at_ns: Option<i64>,
    /// How far the log's time was seen to be ahead of this machine's, and believed.
    lead_ns: i64,
    run: Run,
    /// Records that have this machine's time and are behind the window, less those further ahead.
    present: u64,
}

/// When something was read.
#[derive(Debug, Clone, Copy)]
pub(in crate::pipeline) struct ReadAt {
    /// By this machine's clock, in nanoseconds since 1970.
    pub(in crate::pipeline) machine_ns: i64,
    /// True where it had just been written.
    pub(in crate::pipeline) is_live: bool,
}

/// Records in a row that do not agree.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    records: u64,
    is_ahead: bool,
    /// The earliest of those that are ahead, the latest of those that are behind.
    nearest_ns: i64,
    /// The same of how far they were ahead of this machine's time.
    lead_ns: i64,
}

/// So many records make a time believed.
pub(super) const AGREEING: u64 = 16;

/// More agreeing records than this make it no more so.
pub(super) const AGREEING_MAX: u64 = 1 << 14;

/// So many more records with this machine's time than with later ones take the newest time back.
const PRESENT: u64 = 32;

/// What clocks of servers may differ by: a minute.
const SLACK_NS_MAX: i64 = 60_000_000_000;

impl Clock {
    pub(super) fn new(width_ns: i64) -> Self {
        Self {
            width_ns,
            newest_ns: None,
            agreeing: 0,
            agreed: 0,
            agreed_at_ns: None,
            lead_ns: 0,
            run: Run::default(),
            present: 0,
        }
    }

    /// Passes the records of a segment.
    pub(super) fn pass(&mut self, segment: &Segment, at: ReadAt) {
        let Some((first_ns, last_ns)) = segment.time_range_ns() else { return };
        let is_all_near = last_ns <= self.believable_ns(at)
            && self.newest_ns.is_some_and(|newest_ns| {
                first_ns >= newest_ns.max(last_ns).saturating_sub(self.width_ns)
                    && last_ns <= newest_ns.saturating_add(self.width_ns)
            });
        if is_all_near && self.present == 0 && !segment.has_untimed() {
            self.agree(last_ns, segment.rows() as u64, at);
            return;
        }
        segment.for_each_time_ns(|time_ns| {
            if let Some(time_ns) = time_ns {
                self.pass_one(time_ns, at);
            }
        });
    }

    /// The newest time, wrong or right; `None` before the first.
    pub(super) fn newest_ns(&self) -> Option<i64> {
        self.newest_ns
    }

    /// What is before this time is to leave; `None` while too few records agree.
    pub(super) fn floor_ns(&self) -> Option<i64> {
        let newest_ns = self.newest_ns.filter(|_| self.agreeing >= AGREEING)?;
        Some(newest_ns.saturating_sub(self.width_ns))
    }

    /// Times beyond this one are ahead.
    pub(super) fn ceiling_ns(&self) -> i64 {
        self.newest_ns.map_or(i64::MAX, |newest_ns| newest_ns.saturating_add(self.width_ns))
    }

    /// Times beyond this one were ahead when they were read: none can be believed yet, or they
    /// are beyond [`Self::ceiling_ns`].
    pub(super) fn ceiling_at_ns(&self, at: ReadAt) -> i64 {
        match self.newest_ns {
            Some(_) => self.ceiling_ns(),
            None => self.believable_ns(at),
        }
    }

    /// The number of records that ever agreed with what was then the newest time.
    pub(super) fn agreed(&self) -> u64 {
        self.agreed
    }

    /// How far ahead of this machine's time a time may be: a minute, but no more than a tenth of
    /// the window, so that nobody can make more of it leave.
    fn slack_ns(&self) -> i64 {
        SLACK_NS_MAX.min(self.width_ns / 10)
    }

    /// The last time that is believed of a record.
    fn believable_ns(&self, at: ReadAt) -> i64 {
        if !at.is_live {
            return i64::MAX;
        }
        at.machine_ns.saturating_add(self.lead_ns).saturating_add(self.slack_ns())
    }

    /// True where a run of records that are so far ahead is believed.
    fn is_believable(&self, lead_ns: i64, at: ReadAt) -> bool {
        let since_ns = self.agreed_at_ns.unwrap_or(at.machine_ns);
        let silence_ns = at.machine_ns.saturating_sub(since_ns).max(0);
        // The moments between others' records are no silence: by the slack and a moment each,
        // somebody could go as far as they like.
        let most_ns = self.lead_ns.saturating_add(self.slack_ns().max(silence_ns));
        // After a window nothing is left that it could make leave.
        !at.is_live || lead_ns <= most_ns || silence_ns >= self.width_ns
    }

    fn pass_one(&mut self, time_ns: i64, at: ReadAt) {
        self.agreed_at_ns.get_or_insert(at.machine_ns);
        let ceiling_ns = self.ceiling_ns().min(self.believable_ns(at));
        let floor_ns =
            self.newest_ns.map_or(i64::MIN, |newest| newest.saturating_sub(self.width_ns));
        let is_ahead = time_ns > ceiling_ns;
        if !is_ahead && time_ns >= floor_ns {
            return self.agree(time_ns, 1, at);
        }
        match self.is_present(time_ns, at) {
            true => self.present += 1,
            false if is_ahead => self.present = self.present.saturating_sub(1),
            false => {}
        }
        if !is_ahead && self.present >= PRESENT {
            return self.come_back(time_ns, at);
        }
        let lead_ns = time_ns.saturating_sub(at.machine_ns);
        let run = match self.run {
            run if run.records == 0 || run.is_ahead != is_ahead => {
                Run { records: 1, is_ahead, nearest_ns: time_ns, lead_ns }
            }
            run => {
                let nearest = if is_ahead { i64::min } else { i64::max };
                let (nearest_ns, lead_ns) =
                    (nearest(run.nearest_ns, time_ns), nearest(run.lead_ns, lead_ns));
                Run { records: run.records + 1, is_ahead, nearest_ns, lead_ns }
            }
        };
        let needed = if is_ahead { AGREEING } else { self.agreeing.clamp(AGREEING, AGREEING_MAX) };
        if run.records < needed || (is_ahead && !self.is_believable(run.lead_ns, at)) {
            self.run = run;
            return;
        }
        // Records that were not believed at first make a time no surer.
        self.agreeing = if is_ahead { AGREEING } else { run.records };
        self.newest_ns = Some(run.nearest_ns);
        let is_slack =
            is_ahead && at.is_live && run.lead_ns <= self.lead_ns.saturating_add(self.slack_ns());
        // What is within the slack says no more than that the clock is no further ahead.
        let lead_ns = if is_slack { run.lead_ns.min(self.lead_ns) } else { run.lead_ns };
        self.lead_ns = lead_ns.max(0);
        self.agreed_at_ns = Some(at.machine_ns);
        self.run = Run::default();
        self.present = 0;
    }

    /// True for the time of a record that has just been written by somebody whose clock is right.
    fn is_present(&self, time_ns: i64, at: ReadAt) -> bool {
        at.is_live && time_ns.saturating_sub(at.machine_ns).saturating_abs() <= self.slack_ns()
    }

    /// The newest time was further ahead than most records are.
    fn come_back(&mut self, time_ns: i64, at: ReadAt) {
        self.agreeing = self.present;
        self.newest_ns = Some(time_ns);
        self.lead_ns = time_ns.saturating_sub(at.machine_ns).max(0);
        self.agreed_at_ns = Some(at.machine_ns);
        self.run = Run::default();
        self.present = 0;
    }

    fn agree(&mut self, time_ns: i64, records: u64, at: ReadAt) {
        let newest_ns = self.newest_ns.map_or(time_ns, |newest_ns| newest_ns.max(time_ns));
        self.newest_ns = Some(newest_ns);
        self.agreeing += records;
        self.agreed += records;
        self.agreed_at_ns = Some(at.machine_ns);
        if !at.is_live {
            self.lead_ns = newest_ns.saturating_sub(at.machine_ns).max(0);
        }
        self.run = Run::default();
        self.present = match self.is_present(time_ns, at) {
            true => 0,
            false => self.present.saturating_sub(records),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{AGREEING, AGREEING_MAX, Clock, ReadAt};

    const WIDTH: i64 = 100;

    fn after(times: impl IntoIterator<Item = i64>) -> Clock {
        let mut clock = Clock::new(WIDTH);
        let at = ReadAt { machine_ns: 1_000_000, is_live: false };
        times.into_iter().for_each(|time| clock.pass_one(time, at));
        clock
    }

    /// The clock after records of these times, each read at that of this machine.
    fn after_live(records: impl IntoIterator<Item = (i64, i64)>) -> Clock {
        let mut clock = Clock::new(WIDTH);
        for (machine_ns, time) in records {
            clock.pass_one(time, ReadAt { machine_ns, is_live: true });
        }
        clock
    }

    /// A record each moment, as it is written.
    fn normal(moments: std::ops::Range<i64>) -> impl Iterator<Item = (i64, i64)> + Clone {
        moments.map(|now| (now, now))
    }

    fn times(count: usize, now: i64, time: i64) -> impl Iterator<Item = (i64, i64)> + Clone {
        std::iter::repeat_n((now, time), count)
    }

    #[test]
    fn follows_the_newest_time() {
        assert_eq!(after([]).floor_ns(), None);
        assert_eq!(after(0..5).floor_ns(), None, "too few to be sure");
        assert_eq!(after(0..1_000).floor_ns(), Some(899));
        assert_eq!(after((0..1_000).chain([920, 950])).newest_ns(), Some(999));
    }

    #[test]
    fn a_few_wrong_times_make_no_difference() {
        let normal = (0..1_000).flat_map(|time| match time % 10 {
            0 => vec![time, time + 1_000_000, time - 1_000_000],
            _ => vec![time],
        });
        assert_eq!(after(normal).newest_ns(), Some(999));
        let first_is_wrong = after([i64::MAX].into_iter().chain(0..50));
        assert_eq!(first_is_wrong.newest_ns(), Some(49));
    }

    #[test]
    fn goes_over_a_silence_and_comes_back_from_an_error() {
        let jump = (5_000..5_000 + AGREEING as i64).rev();
        let clock = after((0..200).chain(jump.clone()));
        assert_eq!(clock.newest_ns(), Some(5_000), "as many as make it believed");
        let clock = after((0..200).chain(jump).chain(200..240));
        assert_eq!(clock.newest_ns(), Some(239), "more say otherwise");
        let sparse = after((0..100).map(|n| n * 1_000));
        assert!(sparse.newest_ns() >= Some(100_000 - 2_000 * AGREEING as i64));
    }

    #[test]
    fn nobody_sends_a_live_window_into_the_future() {
        for time in [i64::MAX, 10_000_000, 2_000, 1_095, 1_012] {
            let clock = after_live(normal(0..1_000).chain(times(1_000, 999, time)));
            assert_eq!(clock.newest_ns(), Some(999), "{time}");
            let first = after_live(times(1_000, 0, time).chain(normal(1..50)));
            assert_eq!(first.newest_ns(), Some(49), "{time}");
        }
        let clock = after_live(normal(0..1_000).chain([(999, 1_009)]));
        assert_eq!(clock.newest_ns(), Some(1_009), "a tenth of the window");
        // Step by step neither.
        let steps = (0..10_000).map(|step| (999, 999 + step));
        assert_eq!(after_live(normal(0..1_000).chain(steps)).newest_ns(), Some(1_009));
    }

    #[test]
    fn nobody_uses_the_moments_between_the_records_of_others() {
        // Just beyond what is believed, before the next record of others comes.
        let mut clock = Clock::new(WIDTH);
        for now in 0..1_000 {
            let at = ReadAt { machine_ns: now, is_live: true };
            let believed = clock.believable_ns(at);
            (0..AGREEING).for_each(|_| clock.pass_one(believed + 1, at));
            clock.pass_one(now, at);
        }
        assert!(clock.newest_ns() <= Some(999 + WIDTH / 10), "{:?}", clock.newest_ns());
    }

    #[test]
    fn who_moves_the_clock_in_a_silence_does_not_hold_it() {
        let (begin, silent_to) = (normal(0..200), 200 + WIDTH);
        let far = times(AGREEING_MAX as usize, silent_to, 1_000_000);
        let clock = after_live(begin.clone().chain(far.clone()));
        assert_eq!(clock.newest_ns(), Some(1_000_000), "nothing is left to leave");
        // One among ten, before and behind the time that was believed.
        for farther in [0, 10 * WIDTH] {
            let mixed = (silent_to..silent_to + 1_000).flat_map(|now| match now % 10 {
                0 => vec![(now, now), (now, 1_000_000 + farther)],
                _ => vec![(now, now)],
            });
            let clock = after_live(begin.clone().chain(far.clone()).chain(mixed));
            assert_eq!(clock.newest_ns(), Some(silent_to + 999), "{farther}");
        }
    }

    #[test]
    fn a_few_servers_with_the_right_time_do_not_hold_the_others() {
        let ahead = |now: i64| (now, now + 2 * WIDTH);
        // Nine of ten are two windows ahead, as all were at first.
        let mixed = (300..3_000).map(|now| if now % 10 == 5 { (now, now) } else { ahead(now) });
        let clock = after_live((0..300).map(ahead).chain(mixed));
        assert_eq!(clock.newest_ns(), Some(2_999 + 2 * WIDTH));
    }

    #[test]
    fn a_live_feed_goes_over_a_silence_at_once() {
        let clock = after_live(normal(0..200).chain(normal(5_000..5_000 + AGREEING as i64)));
        assert_eq!(clock.newest_ns(), Some(5_000));
    }

    #[test]
    fn clocks_that_are_ahead_for_ever_are_believed_after_as_long() {
        let ahead =
            |moments: std::ops::Range<i64>| normal(moments).map(|(now, time)| (now, time + 60));
        let clock = after_live(normal(0..1_000).chain(ahead(1_000..1_040)));
        assert_eq!(clock.newest_ns(), Some(999), "not yet");
        let clock = after_live(normal(0..1_000).chain(ahead(1_000..1_200)));
        assert_eq!(clock.newest_ns(), Some(1_259));
        // From the beginning on, however far: after a window.
        let far = |now: i64| (now, now + 1_000_000);
        assert_eq!(after_live((0..99).map(far)).newest_ns(), None);
        assert_eq!(after_live((0..200).map(far)).newest_ns(), Some(1_000_199));
    }

    #[test]
    fn a_file_says_itself_how_far_its_clock_is_ahead() {
        let mut clock = Clock::new(WIDTH);
        for time in 0..100 {
            clock.pass_one(time + 5_000, ReadAt { machine_ns: 0, is_live: false });
        }
        for now in 0..100 {
            clock.pass_one(now + 5_100, ReadAt { machine_ns: now, is_live: true });
        }
        assert_eq!(clock.newest_ns(), Some(5_199));
    }
}
