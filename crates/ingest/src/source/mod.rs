//! Sources: the origin of bytes, and how far each has been read.

mod archive;
mod byte_counter;
mod bzip2;
mod compression;
mod cri;
mod decode;
mod decompress;
mod find;
mod flate;
mod follow;
mod head;
mod input;
mod layered;
mod lz4;
mod lzw;
mod packing;
mod push;
mod read;
mod timeout_reader;
mod unpack;
mod utf16;
mod xz;
mod year;
mod zstd;

pub use archive::is_archive;
pub use compression::Compression;
pub use find::find_inputs;
pub use follow::{Follower, can_follow};
pub use head::{Head, first_time};
pub use input::Input;
pub use layered::LayeredDecoder;
pub use push::PushDecoder;
pub(crate) use read::DETECTION_PATIENCE;
pub use read::{MemberLimit, ReadArchive, read_archive, read_inputs, read_stream};
pub use unpack::Text;
pub use year::with_year;
