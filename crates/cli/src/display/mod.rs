//! A report as a person reads it, on the terminal and in HTML: escaped text, numbers, times, and
//! the titles, columns and colours.

mod colour;
mod escape;
mod group;
mod lists;
mod number;
mod time;

pub(crate) use colour::colour_number;
pub(crate) use escape::{safe, safe_bytes, safe_rows};
pub(crate) use group::{group_cells, group_columns};
pub(crate) use lists::{fields_with_values, title_of, titled_order};
pub(crate) use number::{bytes, change, duration, rate, separated, share, signed};
pub(crate) use time::{LocalTime, span, step};
