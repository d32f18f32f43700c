//! One representation of a resource: its bytes and its entity tag.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::HeaderValue;
use sha1::{Digest, Sha1};

use crate::body::Body;

/// Bytes in memory or a file, with an entity tag.
#[derive(Clone, Debug)]
pub(super) struct Content {
    data: Data,
    tag: HeaderValue,
}

#[derive(Clone, Debug)]
enum Data {
    Bytes(Bytes),
    File(Arc<File>, u64),
}

impl Content {
    /// Creates content from bytes. The tag is a hash of them, so it is the same after a restart.
    pub(super) fn from_bytes(bytes: Bytes) -> Self {
        let tag = entity_tag(&bytes);
        Self { data: Data::Bytes(bytes), tag }
    }

    /// Opens a regular file. Returns it with the time of its last change. Its tag consists of that
    /// time in nanoseconds, its length and its coding.
    pub(super) fn open(path: &Path, coding: &str) -> io::Result<(Self, SystemTime)> {
        let file = open_without_waiting(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let modified = metadata.modified()?;
        let age = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let tag = quote_tag(&format!("{:x}-{:x}{coding}", age.as_nanos(), metadata.len()));
        Ok((Self { data: Data::File(Arc::new(file), metadata.len()), tag }, modified))
    }

    /// Returns the strong entity tag (RFC 9110 section 8.8.3).
    pub(super) fn tag(&self) -> &HeaderValue {
        &self.tag
    }

    /// Returns the length in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match &self.data {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::File(_, bytes) => *bytes,
        }
    }

    /// Returns a body with a range, which must lie within the content.
    pub(super) fn body(&self, range: Range<u64>) -> Body {
        match &self.data {
            Data::Bytes(bytes) => Body::from(bytes.slice(range.start as usize..range.end as usize)),
            Data::File(file, _) => Body::file(file.clone(), range),
        }
    }
}

/// Opens a file for reading. Does not block, even if the path names a pipe without a writer.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    options.open(path)
}

/// Returns a strong entity tag (RFC 9110 section 8.8.3) for content that these bytes determine: a
/// hash of them.
pub fn entity_tag(bytes: &[u8]) -> HeaderValue {
    let hash = Sha1::digest(bytes);
    let text: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    quote_tag(&text)
}

fn quote_tag(text: &str) -> HeaderValue {
    // Hexadecimal digits in quotes are always a valid value.
    HeaderValue::from_str(&format!("\"{text}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}
