//! What a time implies: the date, the hour of the day, the day of the week.

use std::sync::Arc;

use super::{Derivation, DerivedField, DerivedInput, DerivedInputs};
use crate::value::{Date, Zone};

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
}

/// The part of a time in a zone, or with the offset that was logged.
#[derive(Debug)]
struct InZone {
    part: TimePart,
    zone: Option<Zone>,
}

const WEEKDAYS: [&str; 7] =
    ["1 Monday", "2 Tuesday", "3 Wednesday", "4 Thursday", "5 Friday", "6 Saturday", "7 Sunday"];

pub(super) fn field(name: &str, part: TimePart, zone: Option<&Zone>) -> DerivedField {
    let derivation = InZone { part, zone: zone.cloned() };
    DerivedField::new(name, vec![DerivedInput::Time], Arc::new(derivation))
}

impl Derivation for InZone {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let Some(time) = inputs.time() else { return false };
        let unix_s = time.unix_ns.div_euclid(1_000_000_000);
        let offset_s = self.zone.as_ref().map_or(time.offset_s, |zone| zone.offset_s(unix_s));
        let local_s = unix_s.saturating_add(i64::from(offset_s));
        let days = local_s.div_euclid(86_400);
        let text = match self.part {
            TimePart::Date => {
                let Date { year, month, day } = Date::from_days(days);
                format!("{year:04}-{month:02}-{day:02}")
            }
            TimePart::Hour => format!("{:02}", local_s.rem_euclid(86_400) / 3_600),
            // 1 January 1970 was a Thursday.
            TimePart::Weekday => WEEKDAYS[(days + 3).rem_euclid(7) as usize].to_owned(),
        };
        value.extend_from_slice(text.as_bytes());
        true
    }
}
