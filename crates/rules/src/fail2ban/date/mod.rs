//! The date of a line: its time, and its position, which is cut out before patterns match.
//!
//! Source: `server/datedetector.py`, `server/datetemplate.py` and `server/strptime.py` of fail2ban
//! 1.0.2.

mod detector;
mod fast;
mod template;
mod value;

pub(super) use detector::{DateDetector, DateTemplates, FoundDate};
pub(super) use fast::BracketDates;
pub(super) use value::{YEAR_OF_NONE, is_without_year, offset_s};
