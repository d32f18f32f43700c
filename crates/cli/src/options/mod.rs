//! Arguments that several commands share, and the values of options, parsed from their text.

mod admin;
mod agents;
mod anonymize;
mod derived;
mod derived_catalog;
mod format;
mod geography;
mod keep;
mod kind;
mod listen_address;
mod log;
mod memory;
mod output;
mod page;
mod period;
mod read;
mod token_file;

pub(crate) use admin::AdminArguments;
pub(crate) use agents::{AgentArguments, AgentFields};
pub(crate) use anonymize::{AnonymizeArguments, check_hidden};
pub(crate) use derived::{DerivedArguments, known_names, words};
pub(crate) use derived_catalog::PageFields;
pub(crate) use format::FormatArguments;
pub(crate) use keep::{FeedWindow, KeepArguments, StateArguments};
pub(crate) use kind::KindArgument;
pub(crate) use listen_address::{ListenAddress, default_address, reachable};
pub(crate) use log::LogArguments;
pub(crate) use memory::{cores, data_bytes_max, memory_bytes_max, say_default_memory, size_bytes};
pub(crate) use output::{OutputArguments, OutputKind};
pub(crate) use page::{PageArguments, first_set};
pub(crate) use period::PeriodArguments;
pub(crate) use read::ReadArguments;
pub(crate) use token_file::{read_token, read_token_text};

use std::time::Duration;

use weir_core::{QuantityError, Zone, parse_duration_ns};
use weir_query::find_zone;

use crate::outcome::Failure;

/// Parses a duration.
///
/// # Errors
/// If it is not one, as [`parse_duration_ns`] says.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    parse_duration_ns(text).map(Duration::from_nanos)
}

/// Parses the value of `--tz`.
///
/// # Errors
/// If it is not a known zone.
pub(crate) fn parse_zone(name: Option<&str>) -> Result<Option<Zone>, Failure> {
    let zone = name.map(find_zone).transpose();
    zone.map_err(|error| Failure::new(format_args!("--tz: {error}")))
}
