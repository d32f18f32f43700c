//! What the commands that scan lines share: their arguments ([`LogArguments`]), the conditions of
//! `--where` ([`Conditions`]), and the texts of their inputs ([`for_each_text`]).

mod arguments;
mod conditions;
mod field_check;
mod log_fields;
mod record_period;
mod records;
mod texts;

pub(crate) use arguments::{LogArguments, inputs_of};
pub(crate) use conditions::{Conditions, check_client, check_field, parse_query, query_failure};
pub(crate) use field_check::{FieldCheck, MissingField};
pub(crate) use log_fields::LogFields;
pub(crate) use record_period::RecordPeriod;
pub(crate) use records::{ReadInput, read_lines};
pub(crate) use texts::{ScanError, UnparsedLines, for_each_text, report_unparsed};
