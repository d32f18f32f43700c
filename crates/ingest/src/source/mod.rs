//! Sources: where bytes come from, and how far they are.

mod archive;
mod broken;
mod compression;
mod error;
mod fetched;
mod find;
mod follow;
mod head;
mod input;
mod lz4;
mod progress;
mod push;
mod read;
mod strangers;
mod timed;
mod unpack;
mod writer;
mod year;

pub use archive::{ARCHIVE_HEAD_BYTES, is_archive};
pub use broken::Broken;
pub use compression::{Compression, compression_of};
pub use error::{Fault, FaultKind, ReadError};
pub use find::find_inputs;
pub use follow::{Follower, can_follow};
pub use head::{Head, first_time};
pub use input::Input;
pub(crate) use progress::BlockCounts;
pub use progress::{Course, SourceEnd, SourceProgress, SourceSample, SourceSnapshot};
pub use push::PushDecoder;
pub use read::{MemberLimit, ReadArchive, read_archive, read_inputs, read_stream};
pub use unpack::Text;
pub use writer::{FormatChoice, SourceWriter};
pub use year::with_year;
