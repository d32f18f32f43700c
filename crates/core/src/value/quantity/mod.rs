//! Sizes and durations as people write them: in options, conditions, rules and configurations.
//!
//! | text | function | result |
//! |---|---|---|
//! | `512`, `512B` | [`parse_size`] | 512 bytes |
//! | `1kB`, `1MB` | [`parse_size`] | 1,000 bytes, 1,000,000 bytes |
//! | `1K`, `1KiB`, `1.5MiB` | [`parse_size`] | 1,024 bytes, 1,024 bytes, 1,572,864 bytes |
//! | `200ms`, `1.5h`, `2w` | [`parse_duration_ns`] | 0.2 seconds, 90 minutes, 14 days |
//! | `5m`, `5min` | [`parse_duration_ns`] | 5 minutes |
//! | `1h30m`, `2 min 5 s` | [`parse_duration_ns`] | 90 minutes, 125 seconds |
//!
//! There is one grammar, so that a text has the same meaning wherever it is written. It reads all
//! sizes and durations that Weir itself shows. The languages of other programs have their own.
//!
//! Source of the units of sizes: "Block size" in the manual of GNU coreutils. A letter alone is a
//! power of 1024, as with `iB`; only `B` makes it a power of 1000. Case is ignored. Units of
//! durations are in lower case, because `m` is a minute and `M` is a mebibyte.
//!
//! A number is decimal, with a fraction or without, and a space may precede its unit. Numbers are
//! never floating point: a result is exact, or an error says where the text is wrong and what to
//! write.

mod amount;
mod duration;
mod error;
mod size;
#[cfg(test)]
mod tests;

pub use duration::{format_duration, parse_duration_ns};
pub use error::{QuantityError, QuantityProblem};
pub use size::parse_size;

pub(crate) use duration::parse_seconds_ns;
pub(crate) use size::{parse_count, parse_whole_size};
