//! One form of a resource: its bytes, and the tag that stands for them.

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

/// Bytes in memory or a file.
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
    /// Bytes. Their tag is a hash of them, so it is the same after a restart.
    pub(super) fn from_bytes(bytes: Bytes) -> Self {
        let tag = entity_tag(&bytes);
        Self { data: Data::Bytes(bytes), tag }
    }

    /// A regular file and the time of its last change. Its tag is made of that time, in nanoseconds,
    /// its length and its coding.
    pub(super) fn open(path: &Path, coding: &str) -> io::Result<(Self, SystemTime)> {
        let file = open_without_waiting(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let modified = metadata.modified()?;
        let age = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let tag = tag_of(&format!("{:x}-{:x}{coding}", age.as_nanos(), metadata.len()));
        Ok((Self { data: Data::File(Arc::new(file), metadata.len()), tag }, modified))
    }

    /// The strong validator (RFC 9110 section 8.8.3).
    pub(super) fn tag(&self) -> &HeaderValue {
        &self.tag
    }

    /// The number of its bytes.
    pub(super) fn bytes(&self) -> u64 {
        match &self.data {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::File(_, bytes) => *bytes,
        }
    }

    /// The body with a range that lies within it.
    pub(super) fn body(&self, range: Range<u64>) -> Body {
        match &self.data {
            Data::Bytes(bytes) => Body::from(bytes.slice(range.start as usize..range.end as usize)),
            Data::File(file, _) => Body::file(file.clone(), range),
        }
    }
}

/// Opens a file for reading. The name of a pipe without a writer would wait for one.
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

/// A strong tag (RFC 9110 section 8.8.3) for content that these bytes determine: a hash of them.
pub fn entity_tag(bytes: &[u8]) -> HeaderValue {
    let hash = Sha1::digest(bytes);
    let text: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    tag_of(&text)
}

fn tag_of(text: &str) -> HeaderValue {
    // Hexadecimal digits in quotes are always a valid value.
    HeaderValue::from_str(&format!("\"{text}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}
