//! Compressions, recognised by the first bytes.

/// How a source is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    /// gzip (RFC 1952), of one member or several.
    Gzip,
    /// Zstandard (RFC 8878), of one frame or several.
    Zstd,
    /// bzip2, of one stream or several.
    Bzip2,
    /// xz (the .xz file format 1.2), of one stream or several.
    Xz,
    /// LZ4 frames (lz4_Frame_format.md 1.6), one or several.
    Lz4,
}

/// The number of bytes that identify a compression.
pub(crate) const MAGIC_BYTES: usize = 4;

/// A zstd frame may ask for a window of any size. The zstd tool accepts 128 MiB by default.
pub(crate) const ZSTD_WINDOW_LOG_MAX: u32 = 27;

impl Compression {
    /// The name, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
        }
    }
}

/// Returns the compression of a stream with these first bytes, or `None` if it is not compressed.
pub(super) fn compression_of(first_bytes: &[u8]) -> Option<Compression> {
    match first_bytes {
        [0x1F, 0x8B, 0x08, ..] => Some(Compression::Gzip),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Compression::Zstd),
        // A skippable frame may come first. LZ4 has the same ones, but no program writes them
        // before its first frame.
        [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Compression::Zstd),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Compression::Bzip2),
        [0xFD, b'7', b'z', b'X', ..] => Some(Compression::Xz),
        [0x04, 0x22, 0x4D, 0x18, ..] => Some(Compression::Lz4),
        _ => None,
    }
}

/// Whether a stream with these first bytes was written by compress(1) (`.Z`), which is not read.
pub(super) fn is_compress(first_bytes: &[u8]) -> bool {
    // The third byte has the greatest width of a code, 9 to 16 bits. Two of its bits are unused.
    matches!(first_bytes, [0x1F, 0x9D, flags, ..] if matches!(flags & 0x7F, 9..=16))
}

#[cfg(test)]
mod tests {
    use super::is_compress;

    #[test]
    fn only_valid_headers_are_those_of_compress() {
        assert!(is_compress(b"\x1f\x9d\x90\x31") && is_compress(b"\x1f\x9d\x09"));
        for other in [&b"\x1f\x9d"[..], b"\x1f\x9d\x88", b"\x1f\x9d\xf0", b"\x1f\x8b\x08\0"] {
            assert!(!is_compress(other), "{other:?}");
        }
    }
}
