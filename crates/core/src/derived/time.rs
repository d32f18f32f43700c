//! What a time implies: the date, the hour of the day, the day of the week, the step of a length.

use std::sync::Arc;

use super::{Derivation, DerivedField, DerivedInput, DerivedInputs, TIME_STEP_S};
use crate::value::{DAY_S, Date, Zone};

/// What is told of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimePart {
    /// `2026-11-28`
    Date,
    /// `00` to `23`
    Hour,
    /// `1 Monday` to `7 Sunday`, as ISO 8601 numbers them, so that the order of the texts is that
    /// of the days.
    Weekday,
    /// The start of the step on the local clock, `2026-11-28 14:05`. The length in seconds divides a
    /// day.
    Step(i64),
}

/// The part of a time in a zone, or with the offset that was logged.
#[derive(Debug)]
struct InZone {
    part: TimePart,
    zone: Option<Zone>,
}

const WEEKDAYS: [&str; 7] =
    ["1 Monday", "2 Tuesday", "3 Wednesday", "4 Thursday", "5 Friday", "6 Saturday", "7 Sunday"];

/// The units of steps, the longest first.
const UNITS: [(char, i64); 4] = [('d', DAY_S), ('h', 3_600), ('m', 60), ('s', 1)];

pub(super) fn field(name: &str, part: TimePart, zone: Option<&Zone>) -> DerivedField {
    let derivation = InZone { part, zone: zone.cloned() };
    let step_s = match part {
        // Offsets are multiples of a quarter of an hour, so both divide what is told.
        TimePart::Step(step_s) => greatest_common_divisor(step_s, TIME_STEP_S),
        TimePart::Date | TimePart::Hour | TimePart::Weekday => TIME_STEP_S,
    };
    DerivedField::new(name, vec![DerivedInput::Time], Arc::new(derivation)).with_time_step_s(step_s)
}

/// The field `time/STEP`.
///
/// # Errors
/// If the step is no length that divides a day, or is written in another way than usual.
pub(super) fn step_field(
    name: &str,
    step: &str,
    zone: Option<&Zone>,
) -> Result<DerivedField, String> {
    let step_s = step_s(step).ok_or_else(|| {
        format!("`{name}` needs a step that divides a day: time/1m, time/15m, time/1h or time/1d")
    })?;
    let (unit, unit_s) =
        UNITS.into_iter().find(|(_, unit_s)| step_s % unit_s == 0).unwrap_or(('s', 1));
    let usual = format!("time/{}{unit}", step_s / unit_s);
    match usual == name {
        true => Ok(field(name, TimePart::Step(step_s), zone)),
        // So that a field has one name.
        false => Err(format!("write `{name}` as {usual}")),
    }
}

/// The seconds of a step such as `15m`.
fn step_s(step: &str) -> Option<i64> {
    let unit = step.chars().last()?;
    let (_, unit_s) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let number = &step[..step.len() - 1];
    let are_digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let step_s = number.parse::<i64>().ok().filter(|_| are_digits)?.checked_mul(unit_s)?;
    (step_s > 0 && DAY_S % step_s == 0).then_some(step_s)
}

impl InZone {
    /// The start of the step of a local time.
    ///
    /// When a clock is set back, local times occur twice. Steps that begin in the second of them have
    /// their offset, so that they are values of their own, and behind the first in the order of texts.
    fn step(&self, step_s: i64, local_s: i64, offset_s: i64) -> String {
        let start_s = local_s - local_s.rem_euclid(step_s);
        let Date { year, month, day } = Date::from_days(start_s.div_euclid(DAY_S));
        let mut text = format!("{year:04}-{month:02}-{day:02}");
        let second = start_s.rem_euclid(DAY_S);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        match step_s {
            DAY_S => return text,
            _ if step_s % 60 == 0 => text += &format!(" {hour:02}:{minute:02}"),
            _ => text += &format!(" {hour:02}:{minute:02}:{second:02}"),
        }
        if self.is_second(start_s, offset_s) {
            let minutes = offset_s.abs() / 60;
            let sign = if offset_s < 0 { '-' } else { '+' };
            text += &format!(" {sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
        text
    }

    /// Returns whether the clock had already shown this local time with another offset.
    fn is_second(&self, local_s: i64, offset_s: i64) -> bool {
        let Some(zone) = &self.zone else { return false };
        let (from_s, ..) = zone.span(local_s - offset_s);
        if from_s == i64::MIN {
            return false;
        }
        let before_s = i64::from(zone.offset_s(from_s - 1));
        before_s > offset_s && local_s - before_s < from_s
    }
}

impl Derivation for InZone {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let Some(time) = inputs.time() else { return false };
        let unix_s = time.unix_ns.div_euclid(1_000_000_000);
        let offset_s = self.zone.as_ref().map_or(time.offset_s, |zone| zone.offset_s(unix_s));
        let offset_s = i64::from(offset_s);
        let local_s = unix_s.saturating_add(offset_s);
        let days = local_s.div_euclid(DAY_S);
        let text = match self.part {
            TimePart::Date => {
                let Date { year, month, day } = Date::from_days(days);
                format!("{year:04}-{month:02}-{day:02}")
            }
            TimePart::Hour => format!("{:02}", local_s.rem_euclid(DAY_S) / 3_600),
            // 1 January 1970 was a Thursday.
            TimePart::Weekday => WEEKDAYS[(days + 3).rem_euclid(7) as usize].to_owned(),
            TimePart::Step(step_s) => self.step(step_s, local_s, offset_s),
        };
        value.extend_from_slice(text.as_bytes());
        true
    }
}

fn greatest_common_divisor(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}
