//! The values inside a line: times, numbers, request lines, addresses.

mod address;
mod calendar;
mod clf;
mod duration;
mod number;
mod request;
mod rfc3339;
mod status;
mod strftime;
mod time_parts;
mod time_text;
mod timestamp;
mod zone;

pub use address::AddressBlock;
pub use rfc3339::{format_rfc3339, parse_rfc3339};
pub use status::{STATUS_CLASS, STATUS_CLASSES, status_class};
pub use timestamp::Timestamp;
pub use zone::Zone;

pub(crate) use calendar::month_by_name;
pub(crate) use clf::{CLF_LENGTH, ClfTimeCache};
pub(crate) use duration::parse_go_duration_ns;
pub(crate) use number::{parse_digits, parse_duration_ns, parse_upstream_time_ns};
pub(crate) use request::{RequestLine, split_port, split_target, split_url, without_port};
pub(crate) use strftime::Strftime;
pub(crate) use time_parts::{TimeContent, TimeKind, TimeParts};
pub(crate) use time_text::{days_of, parse_day, second_of_day_at, year_of_unix};
