//! A report as a person reads it, on the terminal and in HTML: escaped text, numbers, times, and
//! the titles, columns and colours.

mod axis;
mod blocks;
mod colour;
mod differences;
mod escape;
mod group;
mod lists;
mod number;
mod robots;
mod span;
mod time;
mod visitors;

pub(crate) use axis::{AxisWidths, axis_labels};
pub(crate) use blocks::{blocks_counts, blocks_remarks};
pub(crate) use colour::colour_number;
pub(crate) use differences::differences_counts;
pub(crate) use escape::{safe, safe_bytes, safe_rows};
pub(crate) use group::{GroupColumns, errors_changed};
pub(crate) use lists::{fields_with_values, list_order, title_of};
pub(crate) use number::{
    SUM_MAX, at_least, bytes, change, duration, lower_bound, rate, separated, share, signed,
};
pub(crate) use robots::{ROBOT_COLUMNS, robot_cells, robot_reasons, robot_remarks, robot_sums};
pub(crate) use span::Span;
pub(crate) use time::{LocalTime, left_out_text, span, step};
pub(crate) use visitors::{
    VISITOR_COLUMNS, earlier_days, visitor_cells, visitors_counts, visitors_remarks,
};
