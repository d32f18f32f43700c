//! Values as a person reads them, on the terminal and in the HTML report: escaped text, numbers
//! and times.

mod escape;
mod number;
mod time;

pub(crate) use escape::{safe, safe_bytes, safe_rows};
pub(crate) use number::{bytes, change, duration, rate, separated, share, signed};
pub(crate) use time::{LocalTime, span, step};
