//! Bytes in, answers out.
mod block;
mod field;
mod format;
mod line;
mod record;
mod value;
pub use block::{Block, BlockCutter, BlockLimits};
pub use field::Field;
pub use format::{Format, FormatError, LineParser, Mismatch, format_by_name, known_formats};
pub use line::{Line, Lines};
pub use record::Record;
pub use value::{AddressBlock, Timestamp, Zone, format_rfc3339, parse_rfc3339};
