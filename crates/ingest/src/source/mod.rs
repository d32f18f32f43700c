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
mod json_records;
mod line_joiner;
mod lz4;
mod packing;
mod read;
mod stream_head;
mod timeout_reader;
mod unpack;
mod upload;
mod utf16;
mod whole_file;
mod xz;
mod year;
mod zstd;

pub use find::find_inputs;
pub use follow::{Follower, can_follow};
pub use head::{Head, first_time};
pub use input::{Input, InputFile};
pub use line_joiner::LineJoiner;
pub use read::{read_inputs, read_packed_file, read_stream};
pub use stream_head::{is_identified, is_packed};
pub use unpack::Text;
pub use upload::{MemberLimit, ReadUpload, read_upload};
pub use year::with_year;
