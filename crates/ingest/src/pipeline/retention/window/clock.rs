//! The current time of a log that is still being written, by its own time stamps.

use weir_core::Segment;

/// The newest credible time of a log, from which a sliding window reaches back.
///
/// The times in the log count, not this machine's clock, so that an old log can be read again in
/// its own time. A few records with a wrong time neither empty the window nor stop it:
///
/// - A time that is ahead of the newest one by more than the window becomes the newest only if
///   [`AGREEING`] records in a row are that far ahead. The earliest of them is taken. The same
///   happens after the log was silent for longer than the window is wide.
/// - If as many records in a row are before the window as agreed with the newest time (at most
///   [`AGREEING_MAX`]), then the newest time was wrong, and the latest time of those records
///   replaces it.
/// - A live source cannot move the window ahead of this machine's clock by more than
///   [`Clock::slack_ns`], however many records it sends, because anyone may send them. A server
///   whose clock or time zone is wrong stays ahead, though. So if no record has agreed for a longer
///   while, a time may be ahead by the length of that silence, and the lead is remembered.
/// - If [`PRESENT`] more records of a live source agree with this machine's clock than are
///   ahead of the window, in a row or not, then the newest time was wrong. A sender that moved
///   the clock during a silence cannot hold it with a record now and then.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    width_ns: i64,
    newest_ns: Option<i64>,
    /// Records that agreed with the newest time.
    agreeing: u64,
    /// Records that ever agreed.
    agreed: u64,
    /// This machine's time when a record last agreed, or when the first record came.
    agreed_at_ns: Option<i64>,
    /// How far the log is credibly ahead of this machine's clock.
    lead_ns: i64,
    run: Run,
    /// Records before the window that agree with this machine's clock, minus those ahead.
    present: u64,
}

/// When a segment was read.
#[derive(Debug, Clone, Copy)]
pub(in crate::pipeline::retention) struct ReadAt {
    /// By this machine's clock, in nanoseconds since 1970.
    pub(in crate::pipeline::retention) machine_ns: i64,
    /// Whether its lines had just been written.
    pub(in crate::pipeline::retention) is_live: bool,
}

/// Records in a row that do not agree.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    records: u64,
    is_ahead: bool,
    /// The earliest time of a run ahead, the latest one of a run before the window.
    nearest_ns: i64,
    /// The lead over this machine's clock: the least of a run ahead, the greatest of a run before.
    lead_ns: i64,
}

/// Records that make a time credible.
pub(super) const AGREEING: u64 = 16;

/// More agreeing records than this do not make a time more credible.
pub(super) const AGREEING_MAX: u64 = 1 << 14;

/// The surplus of records that agree with this machine's clock at which the newest time is
/// corrected.
const PRESENT: u64 = 32;

/// The tolerated difference between the clocks of servers: a minute.
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

    /// Updates the clock with the records of a segment.
    pub(super) fn update(&mut self, segment: &Segment, at: ReadAt) {
        let Some((first_ns, last_ns)) = segment.time_range_ns() else { return };
        let is_all_near = last_ns <= self.credible_ns(at)
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
                self.update_one(time_ns, at);
            }
        });
    }

    /// Returns the newest time, right or wrong; `None` before the first record.
    pub(super) fn newest_ns(&self) -> Option<i64> {
        self.newest_ns
    }

    /// Rows before this time expire; `None` while too few records agree.
    pub(super) fn floor_ns(&self) -> Option<i64> {
        let newest_ns = self.newest_ns.filter(|_| self.agreeing >= AGREEING)?;
        Some(newest_ns.saturating_sub(self.width_ns))
    }

    /// Times after this one are ahead.
    pub(super) fn ceiling_ns(&self) -> i64 {
        self.newest_ns.map_or(i64::MAX, |newest_ns| newest_ns.saturating_add(self.width_ns))
    }

    /// Times after this one were ahead when they were read: they are after [`Self::ceiling_ns`], or
    /// they are not credible and there is no newest time yet.
    pub(super) fn ceiling_at_ns(&self, at: ReadAt) -> i64 {
        match self.newest_ns {
            Some(_) => self.ceiling_ns(),
            None => self.credible_ns(at),
        }
    }

    /// Number of records that ever agreed with the newest time.
    pub(super) fn agreed(&self) -> u64 {
        self.agreed
    }

    /// How far a time may be ahead of this machine's clock: a minute, but at most a tenth of the
    /// window, so that a wrong clock expires no more than that.
    fn slack_ns(&self) -> i64 {
        SLACK_NS_MAX.min(self.width_ns / 10)
    }

    /// The latest credible time of a record.
    fn credible_ns(&self, at: ReadAt) -> i64 {
        if !at.is_live {
            return i64::MAX;
        }
        at.machine_ns.saturating_add(self.lead_ns).saturating_add(self.slack_ns())
    }

    /// Whether a run of records is credible that are ahead of this machine's clock by `lead_ns`.
    fn is_credible(&self, lead_ns: i64, at: ReadAt) -> bool {
        let since_ns = self.agreed_at_ns.unwrap_or(at.machine_ns);
        let silence_ns = at.machine_ns.saturating_sub(since_ns).max(0);
        // The pauses between records of others are not a silence. Otherwise a sender could use each
        // of them to move the clock by the slack.
        let most_ns = self.lead_ns.saturating_add(self.slack_ns().max(silence_ns));
        // After a silence of a whole window there are no rows that could expire.
        !at.is_live || lead_ns <= most_ns || silence_ns >= self.width_ns
    }

    fn update_one(&mut self, time_ns: i64, at: ReadAt) {
        self.agreed_at_ns.get_or_insert(at.machine_ns);
        let ceiling_ns = self.ceiling_ns().min(self.credible_ns(at));
        let floor_ns =
            self.newest_ns.map_or(i64::MIN, |newest| newest.saturating_sub(self.width_ns));
        let is_ahead = time_ns > ceiling_ns;
        if !is_ahead && time_ns >= floor_ns {
            return self.agree(time_ns, 1, at);
        }
        if self.is_present(time_ns, at) {
            self.present += 1;
        } else if is_ahead {
            self.present = self.present.saturating_sub(1);
        }
        if !is_ahead && self.present >= PRESENT {
            return self.correct(time_ns, at);
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
        if run.records < needed || (is_ahead && !self.is_credible(run.lead_ns, at)) {
            self.run = run;
            return;
        }
        // Records that were not credible at first do not make a time more credible.
        self.agreeing = if is_ahead { AGREEING } else { run.records };
        self.newest_ns = Some(run.nearest_ns);
        let is_slack =
            is_ahead && at.is_live && run.lead_ns <= self.lead_ns.saturating_add(self.slack_ns());
        // A lead within the slack only shows that the clock is not further ahead.
        let lead_ns = if is_slack { run.lead_ns.min(self.lead_ns) } else { run.lead_ns };
        self.lead_ns = lead_ns.max(0);
        self.agreed_at_ns = Some(at.machine_ns);
        self.run = Run::default();
        self.present = 0;
    }

    /// Whether a record was just written by a sender whose clock agrees with this machine's.
    fn is_present(&self, time_ns: i64, at: ReadAt) -> bool {
        at.is_live && time_ns.saturating_sub(at.machine_ns).saturating_abs() <= self.slack_ns()
    }

    /// Corrects a newest time that was further ahead than most records.
    fn correct(&mut self, time_ns: i64, at: ReadAt) {
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
        let is_present = self.is_present(time_ns, at);
        self.present = if is_present { 0 } else { self.present.saturating_sub(records) };
    }
}

#[cfg(test)]
mod tests {
    use super::{AGREEING, AGREEING_MAX, Clock, ReadAt};

    const WIDTH: i64 = 100;

    fn after(times: impl IntoIterator<Item = i64>) -> Clock {
        let mut clock = Clock::new(WIDTH);
        let at = ReadAt { machine_ns: 1_000_000, is_live: false };
        times.into_iter().for_each(|time| clock.update_one(time, at));
        clock
    }

    /// The clock after records of a live source, given as this machine's time and their own.
    fn after_live(records: impl IntoIterator<Item = (i64, i64)>) -> Clock {
        let mut clock = Clock::new(WIDTH);
        for (machine_ns, time) in records {
            clock.update_one(time, ReadAt { machine_ns, is_live: true });
        }
        clock
    }

    /// A record with the right time at each moment.
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
    fn advances_after_a_silence_and_recovers_from_an_error() {
        let jump = (5_000..5_000 + AGREEING as i64).rev();
        let clock = after((0..200).chain(jump.clone()));
        assert_eq!(clock.newest_ns(), Some(5_000), "enough to be credible");
        let clock = after((0..200).chain(jump).chain(200..240));
        assert_eq!(clock.newest_ns(), Some(239), "more records disagree");
        let sparse = after((0..100).map(|n| n * 1_000));
        assert!(sparse.newest_ns() >= Some(100_000 - 2_000 * AGREEING as i64));
    }

    #[test]
    fn no_sender_moves_a_live_window_into_the_future() {
        for time in [i64::MAX, 10_000_000, 2_000, 1_095, 1_012] {
            let clock = after_live(normal(0..1_000).chain(times(1_000, 999, time)));
            assert_eq!(clock.newest_ns(), Some(999), "{time}");
            let first = after_live(times(1_000, 0, time).chain(normal(1..50)));
            assert_eq!(first.newest_ns(), Some(49), "{time}");
        }
        let clock = after_live(normal(0..1_000).chain([(999, 1_009)]));
        assert_eq!(clock.newest_ns(), Some(1_009), "a tenth of the window");
        // Moving ahead step by step does not help the sender either.
        let steps = (0..10_000).map(|step| (999, 999 + step));
        assert_eq!(after_live(normal(0..1_000).chain(steps)).newest_ns(), Some(1_009));
    }

    #[test]
    fn gaps_between_records_do_not_let_a_sender_advance_the_clock() {
        // Each attempt is just beyond the credible times, before the next record of the others.
        let mut clock = Clock::new(WIDTH);
        for now in 0..1_000 {
            let at = ReadAt { machine_ns: now, is_live: true };
            let credible = clock.credible_ns(at);
            (0..AGREEING).for_each(|_| clock.update_one(credible + 1, at));
            clock.update_one(now, at);
        }
        assert!(clock.newest_ns() <= Some(999 + WIDTH / 10), "{:?}", clock.newest_ns());
    }

    #[test]
    fn a_clock_moved_during_a_silence_is_corrected() {
        let (begin, silent_to) = (normal(0..200), 200 + WIDTH);
        let far = times(AGREEING_MAX as usize, silent_to, 1_000_000);
        let clock = after_live(begin.clone().chain(far.clone()));
        assert_eq!(clock.newest_ns(), Some(1_000_000), "no row is left that could expire");
        // One record in ten is ahead, by the same time or by more.
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
    fn a_few_servers_with_the_right_time_do_not_move_the_clock_back() {
        let ahead = |now: i64| (now, now + 2 * WIDTH);
        // Nine in ten records are two windows ahead, as all were at first.
        let mixed = (300..3_000).map(|now| if now % 10 == 5 { (now, now) } else { ahead(now) });
        let clock = after_live((0..300).map(ahead).chain(mixed));
        assert_eq!(clock.newest_ns(), Some(2_999 + 2 * WIDTH));
    }

    #[test]
    fn a_live_feed_advances_the_clock_at_once_after_a_silence() {
        let clock = after_live(normal(0..200).chain(normal(5_000..5_000 + AGREEING as i64)));
        assert_eq!(clock.newest_ns(), Some(5_000));
    }

    #[test]
    fn a_clock_that_stays_ahead_becomes_credible_after_as_long_a_time() {
        let ahead =
            |moments: std::ops::Range<i64>| normal(moments).map(|(now, time)| (now, time + 60));
        let clock = after_live(normal(0..1_000).chain(ahead(1_000..1_040)));
        assert_eq!(clock.newest_ns(), Some(999), "not yet");
        let clock = after_live(normal(0..1_000).chain(ahead(1_000..1_200)));
        assert_eq!(clock.newest_ns(), Some(1_259));
        // A clock ahead from the start is accepted after a window, however far ahead it is.
        let far = |now: i64| (now, now + 1_000_000);
        assert_eq!(after_live((0..99).map(far)).newest_ns(), None);
        assert_eq!(after_live((0..200).map(far)).newest_ns(), Some(1_000_199));
    }

    #[test]
    fn a_file_shows_how_far_its_clock_is_ahead() {
        let mut clock = Clock::new(WIDTH);
        for time in 0..100 {
            clock.update_one(time + 5_000, ReadAt { machine_ns: 0, is_live: false });
        }
        for now in 0..100 {
            clock.update_one(now + 5_100, ReadAt { machine_ns: now, is_live: true });
        }
        assert_eq!(clock.newest_ns(), Some(5_199));
    }
}
