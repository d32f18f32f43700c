//! Sources: where bytes come from, and how far they are.

mod compression;
mod file;
mod progress;
mod writer;

pub use compression::{Compression, PushDecoder, compression_of};
pub use file::{ReadError, read_file, read_stream};
pub(crate) use progress::BlockCounts;
pub use progress::{SourceEnd, SourceProgress, SourceSample, SourceSnapshot};
pub use writer::{FormatChoice, SourceWriter};
