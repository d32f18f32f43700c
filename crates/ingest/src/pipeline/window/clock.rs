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
#[derive(Debug, Clone)]
pub(super) struct Clock {
    width_ns: i64,
    newest_ns: Option<i64>,
    /// Records that agreed with the newest time.
    agreeing: u64,
    /// All that ever did.
    agreed: u64,
    run: Run,
}

/// Records in a row that do not agree.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    records: u64,
    is_ahead: bool,
    /// The earliest of those that are ahead, the latest of those that are behind.
    nearest_ns: i64,
}

/// So many records make a time believed.
pub(super) const AGREEING: u64 = 16;

/// More agreeing records than this make it no more so.
pub(super) const AGREEING_MAX: u64 = 1 << 14;

impl Clock {
    pub(super) fn new(width_ns: i64) -> Self {
        Self { width_ns, newest_ns: None, agreeing: 0, agreed: 0, run: Run::default() }
    }

    /// Passes the records of a segment.
    pub(super) fn pass(&mut self, segment: &Segment) {
        let Some((first_ns, last_ns)) = segment.time_range_ns() else { return };
        let is_all_near = self.newest_ns.is_some_and(|newest_ns| {
            first_ns >= newest_ns.max(last_ns).saturating_sub(self.width_ns)
                && last_ns <= newest_ns.saturating_add(self.width_ns)
        });
        if is_all_near && !segment.has_untimed() {
            self.agree(last_ns, segment.rows() as u64);
            return;
        }
        segment.for_each_time_ns(|time_ns| {
            if let Some(time_ns) = time_ns {
                self.pass_one(time_ns);
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

    /// The number of records that ever agreed with what was then the newest time.
    pub(super) fn agreed(&self) -> u64 {
        self.agreed
    }

    fn pass_one(&mut self, time_ns: i64) {
        let Some(newest_ns) = self.newest_ns else { return self.agree(time_ns, 1) };
        let is_ahead = time_ns > newest_ns.saturating_add(self.width_ns);
        if !is_ahead && time_ns >= newest_ns.saturating_sub(self.width_ns) {
            return self.agree(time_ns, 1);
        }
        let run = &mut self.run;
        let nearest_ns = match (run.records > 0 && run.is_ahead == is_ahead, is_ahead) {
            (true, true) => run.nearest_ns.min(time_ns),
            (true, false) => run.nearest_ns.max(time_ns),
            (false, _) => {
                run.records = 0;
                time_ns
            }
        };
        *run = Run { records: run.records + 1, is_ahead, nearest_ns };
        let needed = if is_ahead { AGREEING } else { self.agreeing.clamp(AGREEING, AGREEING_MAX) };
        if run.records >= needed {
            self.agreeing = run.records;
            self.newest_ns = Some(nearest_ns);
            *run = Run::default();
        }
    }

    fn agree(&mut self, time_ns: i64, records: u64) {
        self.newest_ns = Some(self.newest_ns.map_or(time_ns, |newest_ns| newest_ns.max(time_ns)));
        self.agreeing += records;
        self.agreed += records;
        self.run = Run::default();
    }
}

#[cfg(test)]
mod tests {
    use super::{AGREEING, Clock};

    const WIDTH: i64 = 100;

    fn after(times: impl IntoIterator<Item = i64>) -> Clock {
        let mut clock = Clock::new(WIDTH);
        times.into_iter().for_each(|time| clock.pass_one(time));
        clock
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
}
