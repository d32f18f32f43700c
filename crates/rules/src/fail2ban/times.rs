//! Packs the times of lines. Most lines of a log have a different time, and fail2ban's decisions
//! depend on the times of all lines.

use crate::event::{Event, EventHead, Events};

/// The tag of an event with the times of several lines. The event has the first time. The text has
/// two bytes for each later time: the lines and the seconds since the previous one.
pub(super) const TIMES: u32 = 0;

const SECOND_NS: i64 = 1_000_000_000;

/// Packs the times of lines into events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimePacker {
    /// The last packed line, and its time.
    line: u64,
    time_ns: i64,
    /// The number of events, if the last of them is from this packer; 0 otherwise.
    events: usize,
}

impl TimePacker {
    /// Appends the time of a line, in nanoseconds since 1970. Lines must be in order. Other events
    /// may only be put before the first call or after [`end`](Self::end).
    pub(super) fn put(&mut self, line: u64, time_ns: i64, events: &mut Events) {
        let lines = line.wrapping_sub(self.line);
        let step_ns = time_ns.wrapping_sub(self.time_ns);
        (self.line, self.time_ns) = (line, time_ns);
        if self.events == events.len()
            && self.events > 0
            && let Some(packed) = packed(lines, step_ns)
            && events.extend_last(&packed)
        {
            return;
        }
        let head = EventHead { line, time_ns: Some(time_ns), duration_ns: 0, tag: TIMES };
        events.put(head, [&b""[..]]);
        self.events = events.len();
    }

    /// Ends the packed event, because another event was put.
    pub(super) fn end(&mut self) {
        self.events = 0;
    }
}

/// Packs the step from a line to a later one, if it is small and in whole seconds.
fn packed(lines: u64, time_ns: i64) -> Option<[u8; 2]> {
    let seconds = time_ns / SECOND_NS;
    if seconds * SECOND_NS != time_ns {
        return None;
    }
    let [seconds] = i8::try_from(seconds).ok()?.to_le_bytes();
    Some([u8::try_from(lines).ok()?, seconds])
}

/// Returns the times in an event of [`TIMES`], each with the number of lines since the event's
/// line.
pub(super) fn unpack(event: &Event<'_>) -> impl Iterator<Item = (u64, i64)> {
    let mut texts = event.texts;
    let (steps, _) = texts.next().unwrap_or_default().as_chunks::<2>();
    let first = event.time_ns.unwrap_or_default();
    let after = steps.iter().scan((0, first), |(line, time_ns), [lines, seconds]| {
        *line += u64::from(*lines);
        let step_ns = i64::from(i8::from_le_bytes([*seconds])) * SECOND_NS;
        *time_ns = time_ns.wrapping_add(step_ns);
        Some((*line, *time_ns))
    });
    std::iter::once((0, first)).chain(after)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SECOND_NS, TIMES, TimePacker, unpack};
    use crate::event::{EventHead, Events};

    #[derive(Debug, Clone)]
    enum Step {
        Time {
            lines: u64,
            time_ns: i64,
        },
        Other,
        /// Empties the events.
        Empty,
    }

    fn step() -> impl Strategy<Value = Step> {
        let time = prop_oneof![
            8 => (-3..3i64).prop_map(|seconds| seconds * SECOND_NS),
            1 => (-200..200i64).prop_map(|seconds| seconds * SECOND_NS),
            1 => -5 * SECOND_NS..5 * SECOND_NS,
            1 => any::<i64>().prop_map(|time| time / 1_000),
        ];
        prop_oneof![
            8 => (prop_oneof![1..4u64, 200..300u64], time)
                .prop_map(|(lines, time_ns)| Step::Time { lines, time_ns }),
            1 => Just(Step::Other),
            1 => Just(Step::Empty),
        ]
    }

    proptest! {
        #[test]
        fn times_are_unpacked_as_they_were_put(steps in prop::collection::vec(step(), 0..60)) {
            let (mut packer, mut events) = (TimePacker::default(), Events::default());
            let (mut line, mut now_ns) = (0, 0i64);
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            let take = |events: &Events, found: &mut Vec<(u64, i64)>| {
                for event in events.iter().filter(|event| event.tag == TIMES) {
                    found.extend(unpack(&event).map(|(lines, time)| (event.line + lines, time)));
                }
            };
            for step in steps {
                match step {
                    Step::Time { lines, time_ns } => {
                        line += lines;
                        now_ns = now_ns.wrapping_add(time_ns) / 2;
                        packer.put(line, now_ns, &mut events);
                        expected.push((line, now_ns));
                    }
                    Step::Other => {
                        events.put(EventHead { line, tag: 1, ..EventHead::default() }, [&b"text"[..]]);
                        packer.end();
                    }
                    Step::Empty => take(&std::mem::take(&mut events), &mut found),
                }
            }
            take(&events, &mut found);
            prop_assert_eq!(found, expected);
        }
    }
}
