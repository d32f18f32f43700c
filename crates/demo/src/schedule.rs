//! The number of lines in each second: day and night, weekends, and events.

use crate::clock::DAY_S;
use crate::rng::Rng;

/// The size of traffic that covers `REFERENCE_DAYS`.
pub(crate) const REFERENCE_BYTES: u64 = 1 << 30;
const REFERENCE_DAYS: f64 = 5.0;
/// The minimum time that traffic covers, so that small logs fill more than one histogram bucket.
const SPAN_S_MIN: f64 = 600.0;

/// The load by hour of the day, UTC.
const RHYTHM: [u32; 24] = [
    28, 20, 15, 12, 12, 15, 24, 40, 58, 70, 76, 80, 84, 82, 80, 82, 86, 90, 97, 100, 96, 80, 60, 42,
];
/// The load of Saturdays and Sundays, in percent of the other days.
const WEEKEND: u32 = 75;

/// An event besides the normal traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrafficEvent {
    None,
    /// A network attempts to log in.
    Attack,
    /// The application is down.
    Outage,
    /// A host scans for vulnerable paths.
    Scan,
}

/// The start and end of each event in thousandths of the span, and its load in percent.
const EVENTS: [(u64, u64, TrafficEvent, u32); 4] = [
    (212, 215, TrafficEvent::Scan, 130),
    (350, 361, TrafficEvent::Outage, 90),
    (612, 618, TrafficEvent::Attack, 800),
    (871, 874, TrafficEvent::Scan, 130),
];

/// The number of lines in each second.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    start_s: i64,
    /// The events repeat after this number of seconds.
    span_s: u64,
    /// The number of lines for each unit of load; 0 means one line in every second.
    lines_per_load: f64,
    /// The fraction of a line that is carried over to the next second.
    due: f64,
}

impl Schedule {
    /// A schedule for traffic of about `bytes`, whose lines have a mean length of `line_bytes`.
    pub(crate) fn new(start_s: i64, bytes: Option<u64>, line_bytes: u64) -> Self {
        let bytes = bytes.unwrap_or(REFERENCE_BYTES);
        let share = bytes as f64 / REFERENCE_BYTES as f64;
        let span_s = (share.sqrt() * REFERENCE_DAYS * DAY_S as f64).max(SPAN_S_MIN) as u64;
        let mut schedule = Self { start_s, span_s, lines_per_load: 0.0, due: 0.0 };
        // The load changes slowly, so 10,000 samples are enough to sum it up.
        let step = (span_s / 10_000).max(1);
        let samples = (0..span_s).step_by(step as usize);
        let load: f64 = samples.map(|second| schedule.load(start_s + second as i64).1).sum();
        schedule.lines_per_load = (bytes / line_bytes) as f64 / (load * step as f64);
        schedule
    }

    /// A schedule of one line in every second.
    pub(crate) fn every_second(start_s: i64) -> Self {
        Self { start_s, span_s: 5 * DAY_S as u64, lines_per_load: 0.0, due: 0.0 }
    }

    /// The number of lines in this second, and the event during it.
    pub(crate) fn second(&mut self, now_s: i64, rng: &mut Rng) -> (u32, TrafficEvent) {
        let (event, load) = self.load(now_s);
        if self.lines_per_load == 0.0 {
            return (1, event);
        }
        // The noise makes a second 0.5 to 1.5 times the mean.
        let noise = f64::from(rng.below(1024) + 512) / 1024.0;
        self.due += load * self.lines_per_load * noise;
        let lines = self.due as u32;
        self.due -= f64::from(lines);
        (lines, event)
    }

    fn load(&self, now_s: i64) -> (TrafficEvent, f64) {
        let (event, boost) = self.event(now_s);
        (event, f64::from(rhythm(now_s)) * f64::from(boost))
    }

    fn event(&self, now_s: i64) -> (TrafficEvent, u32) {
        let second = (now_s - self.start_s) as u64 % self.span_s;
        let at = second * 1000 / self.span_s;
        let running = EVENTS.iter().find(|(start, end, ..)| (*start..*end).contains(&at));
        running.map_or((TrafficEvent::None, 100), |&(_, _, event, load)| (event, load))
    }
}

/// The load at this time, interpolated between the full hours around it.
fn rhythm(now_s: i64) -> u32 {
    let second = now_s.rem_euclid(DAY_S) as u32;
    let (hour, part) = ((second / 3600) as usize, second % 3600);
    let load = RHYTHM[hour] * (3600 - part) + RHYTHM[(hour + 1) % 24] * part;
    // 1 January 1970 was a Thursday.
    let is_weekend = matches!((now_s.div_euclid(DAY_S) + 3).rem_euclid(7), 5 | 6);
    load / 36 * if is_weekend { WEEKEND } else { 100 } / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gibibyte_covers_five_days() {
        let mut schedule = Schedule::new(0, Some(1 << 30), 250);
        let mut rng = Rng::new(1);
        let lines: u64 =
            (0..5 * DAY_S).map(|second| u64::from(schedule.second(second, &mut rng).0)).sum();
        let wanted = (1 << 30) / 250;
        assert!(lines.abs_diff(wanted) < wanted / 50, "{lines} of {wanted}");
    }

    #[test]
    fn nights_and_weekends_are_quiet() {
        let monday = 4 * DAY_S;
        assert!(rhythm(monday + 19 * 3600) > 6 * rhythm(monday + 3 * 3600));
        assert!(rhythm(monday - DAY_S) < rhythm(monday));
        assert!(rhythm(monday + 1800) < rhythm(monday));
    }

    #[test]
    fn every_event_occurs() {
        let schedule = Schedule::new(0, Some(1 << 20), 250);
        for wanted in [TrafficEvent::Attack, TrafficEvent::Outage, TrafficEvent::Scan] {
            assert!((0..schedule.span_s as i64).any(|second| schedule.event(second).0 == wanted));
        }
    }
}
