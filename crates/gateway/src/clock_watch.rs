//! Detects jumps of the system clock.
//!
//! Tokens, limits and records use that clock. If all tokens expire at once, or the traffic chart
//! has a gap, an operator should not have to guess why.

use std::time::{Duration, Instant, SystemTime};

use crate::meter::{DIRECTIONS, Events};

/// How often the clocks are compared.
const INTERVAL: Duration = Duration::from_secs(1);

/// The smallest difference within an interval that counts as a jump. Time synchronisation either
/// slews the clock by less than a thousandth of the interval, or steps it.
const JUMP_MIN: Duration = Duration::from_secs(1);

/// The longest time that reading both clocks may take.
const READ_MAX: Duration = Duration::from_millis(100);

/// Readings of the system clock and of the monotonic clock at the same moment.
#[derive(Debug, Clone, Copy)]
struct ClockReadings {
    wall: SystemTime,
    steady: Instant,
}

/// The amount by which the system clock jumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jump {
    Forward(Duration),
    Back(Duration),
}

/// Compares the clocks for as long as it is polled. Counts and reports each jump.
pub(crate) async fn watch_clock(events: &Events) {
    let mut last: Option<ClockReadings> = None;
    loop {
        // The readings before a pause of the process are kept, so that a jump during it is not
        // lost.
        if let Some(now) = ClockReadings::read()
            && let Some(jump) = last.replace(now).and_then(|before| before.jump_to(now))
        {
            events.count_clock_jump(jump.direction());
            let clock_change_s = jump.seconds();
            tracing::warn!(target: "weir_gateway", clock_change_s, "{}", jump.sentence());
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

impl ClockReadings {
    /// Reads both clocks. Returns `None` if the process was stopped between the two, because a
    /// comparison would find a false jump.
    fn read() -> Option<Self> {
        let (steady, wall) = (Instant::now(), SystemTime::now());
        (steady.elapsed() <= READ_MAX).then_some(Self { wall, steady })
    }

    /// Returns the jump of the system clock between these readings and later ones.
    fn jump_to(self, later: Self) -> Option<Jump> {
        let passed = later.steady.saturating_duration_since(self.steady);
        let jump = match later.wall.duration_since(self.wall.checked_add(passed)?) {
            Ok(ahead) => Jump::Forward(ahead),
            Err(behind) => Jump::Back(behind.duration()),
        };
        let (Jump::Forward(by) | Jump::Back(by)) = jump;
        (by >= JUMP_MIN).then_some(jump)
    }
}

impl Jump {
    /// The direction's name in metrics.
    fn direction(self) -> &'static str {
        let [forward, back] = DIRECTIONS;
        match self {
            Self::Forward(_) => forward,
            Self::Back(_) => back,
        }
    }

    /// The jump in whole seconds, negative if the clock was set back.
    fn seconds(self) -> i64 {
        let whole = |by: Duration| i64::try_from(by.as_secs()).unwrap_or(i64::MAX);
        match self {
            Self::Forward(by) => whole(by),
            Self::Back(by) => -whole(by),
        }
    }

    fn sentence(self) -> String {
        match self {
            Self::Forward(by) => format!(
                "the clock has gone forward by {} s: tokens expire earlier than before",
                by.as_secs()
            ),
            Self::Back(by) => format!(
                "the clock was set back by {} s: new tokens may be refused as not valid yet, and by more than \
                 60 s, limits start over",
                by.as_secs()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use super::{ClockReadings, Jump};

    #[test]
    fn jumps_of_a_second_and_more_are_seen_once() {
        let (wall, steady) = (SystemTime::now(), Instant::now());
        let ms = Duration::from_millis;
        let mut last = ClockReadings { wall, steady };
        let mut look = |wall_ms: i64, steady_ms: u64| {
            let (far, back) = (wall + ms(wall_ms.max(0) as u64), ms((-wall_ms).max(0) as u64));
            let now = ClockReadings { wall: far - back, steady: steady + ms(steady_ms) };
            std::mem::replace(&mut last, now).jump_to(now)
        };
        assert_eq!(look(1_000, 1_000), None);
        assert_eq!(look(2_999, 2_000), None, "it was corrected");
        assert_eq!(look(3_999, 3_000), None);
        assert_eq!(look(6_000, 4_000), Some(Jump::Forward(ms(1_001))));
        assert_eq!(look(7_000, 5_000), None);
        assert_eq!(look(-90_000, 6_000), Some(Jump::Back(ms(98_000))));
        assert_eq!(look(-89_000, 7_000), None);
        assert_eq!(
            (Jump::Forward(ms(1_001)).seconds(), Jump::Back(ms(98_000)).seconds()),
            (1, -98)
        );
        // The machine was suspended; whether both clocks stopped differs by system.
        assert_eq!(look(-29_000, 67_000), None);
    }
}
