//! What the commands that scan lines share: their arguments ([`LogArguments`]), the conditions of
//! `--where` ([`Conditions`]), and the texts of their inputs ([`for_each_text`]).

mod arguments;
mod conditions;
mod log_fields;
mod record_period;
mod texts;
mod whole_lines;

pub(crate) use arguments::{LogArguments, inputs_of};
pub(crate) use conditions::{Conditions, check_field, parse_filter, where_failure};
pub(crate) use log_fields::LogFields;
pub(crate) use record_period::RecordPeriod;
pub(crate) use texts::{ScanError, UnparsedLines, for_each_text, report_unparsed};
pub(crate) use whole_lines::whole_lines;
