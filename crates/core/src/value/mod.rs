//! The values inside a line: times, numbers, request lines, addresses.
//!
//! Each function reads the bytes of one value. A log may contain any bytes, so a text that is not
//! of the expected form is `None`, never a panic.
//!
//! | text | becomes | module | source |
//! |---|---|---|---|
//! | `17/Dec/2025:09:03:01 +0000` | [`Timestamp`] | `clf` | `%t` of Apache's mod_log_config |
//! | `2025-12-17T09:03:01.250+01:00` | [`Timestamp`] | `rfc3339` | RFC 3339 |
//! | a pattern such as `%d.%m.%y %T` | parts of a time | `strftime` | POSIX.1-2024, `strftime` |
//! | `1765962181.250` | [`Timestamp`] | `time_parts` | nginx `$msec`, Apache `%{msec}t` |
//! | `0.123`, `7.5e-05` | nanoseconds | `number` | nginx `$request_time`, RFC 8259 |
//! | `1m2.5s` in a log | nanoseconds | `duration` | `Duration.String` of Go's package time |
//! | `1.5MiB`, `1h30m` of a person | bytes, nanoseconds | `quantity` | GNU coreutils, "Block size" |
//! | `GET /a?b HTTP/1.1` | method, target, protocol | `request` | RFC 9112, section 3 |
//! | `404` | class of the status | `status` | RFC 9110, section 15 |
//! | `192.0.2.7`, `web_1.example:80` | [`Client`] | `host` | RFC 4291, RFC 1123 |
//! | `192.0.2.0/24` | [`AddressBlock`] | `address` | RFC 4632, RFC 4291 |
//!
//! Instants are nanoseconds since 1970-01-01T00:00:00Z in an `i64`, durations nanoseconds in a
//! `u64`, zone offsets seconds east of UTC.
//!
//! # What is accepted
//!
//! Logs are written by many programs, so the functions accept what a source's manual allows and
//! what servers were seen to write, and no more: a looser form would make the wrong format match a
//! line. Letters of months and of `T`, `Z`, `AM` may have either case. No locale is applied:
//! servers log in the C locale.
//!
//! # Cost
//!
//! No function for logs allocates, except [`format_rfc3339`], and none reads beyond the text that it is
//! given. Times of the common log format are parsed from a cache of the last minute, because nearly
//! every line has one, and lines in succession are close in time.
//!
//! # Limits
//!
//! | quantity | unit | range |
//! |---|---|---|
//! | instant | nanoseconds since 1970, without leap seconds | years 1678 to 2261 |
//! | duration | nanoseconds | 0 to 2^64 - 2, or 584 years |
//! | zone offset | seconds east of UTC | less than a day in either direction |
//! | size | bytes | 0 to 2^64 - 2 |
//!
//! A value outside its range is not read, like any other text of the wrong form.

mod address;
mod address_mask;
mod calendar;
mod clf;
mod decimal;
mod duration;
mod host;
mod number;
mod quantity;
mod request;
mod rfc3339;
mod status;
mod strftime;
mod time_parts;
mod time_text;
mod timestamp;
mod zone;

pub use address::AddressBlock;
pub use address::common_spelling;
pub use address_mask::AddressMask;
pub use calendar::Date;
pub use decimal::{push_decimal, push_seconds};
pub use duration::parse_go_duration_ns;
pub use quantity::{
    QuantityError, QuantityProblem, format_duration, parse_duration_ns, parse_size,
};
pub use rfc3339::{format_rfc3339, parse_rfc3339};
pub use status::{STATUS_CLASS, STATUS_CLASSES, status_class};
pub use timestamp::Timestamp;
pub use zone::Zone;

pub(crate) use calendar::{DAY_S, month_by_name};
pub(crate) use clf::{CLF_LENGTH, ClfTimeCache, parse_clf, parse_clf_variant};
pub(crate) use host::{Client, is_host, usual_client_length};
pub(crate) use number::{parse_decimal_ns, parse_digits, parse_upstream_time_ns};
pub(crate) use quantity::{parse_count, parse_seconds_ns, parse_whole_size};
pub(crate) use request::{
    METHODS, RequestLine, is_method, is_standard_method, split_port, split_target, split_url,
};
pub(crate) use status::is_known_status;
pub(crate) use strftime::Strftime;
pub(crate) use time_parts::{TimeContent, TimeKind, TimeParts};
pub(crate) use time_text::{days_of, parse_day, second_of_day_at, year_of_unix};
