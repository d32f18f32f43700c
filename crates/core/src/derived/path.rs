//! What a path implies: its first segments, its extension, whether it is a static file.

use super::{Derivation, DerivedField, DerivedInputs};
use crate::field::Field;

/// The longest extension, in bytes. What is longer is a name with a dot in it.
const EXTENSION_BYTES_MAX: usize = 10;

/// The extensions of files that a page is made of, or that are handed out as they are: those of
/// the `static-file` lines in GoAccess's default configuration, and newer kinds of images, fonts
/// and scripts.
const STATIC_EXTENSIONS: &[&[u8]] = &[
    b"7z",
    b"aac",
    b"apk",
    b"avi",
    b"avif",
    b"bmp",
    b"bz2",
    b"css",
    b"csv",
    b"cur",
    b"deb",
    b"dmg",
    b"doc",
    b"docx",
    b"eot",
    b"exe",
    b"flac",
    b"flv",
    b"gif",
    b"gz",
    b"ico",
    b"img",
    b"iso",
    b"jpeg",
    b"jpg",
    b"js",
    b"less",
    b"m4a",
    b"map",
    b"mid",
    b"mjs",
    b"mkv",
    b"mov",
    b"mp3",
    b"mp4",
    b"mpeg",
    b"mpg",
    b"msi",
    b"ogg",
    b"ogv",
    b"otf",
    b"pdf",
    b"pkg",
    b"png",
    b"ppt",
    b"pptx",
    b"rar",
    b"rpm",
    b"svg",
    b"svgz",
    b"swf",
    b"tar",
    b"tgz",
    b"tif",
    b"tiff",
    b"ttf",
    b"txt",
    b"wasm",
    b"wav",
    b"webm",
    b"webmanifest",
    b"webp",
    b"wma",
    b"wmv",
    b"woff",
    b"woff2",
    b"xls",
    b"xlsx",
    b"xz",
    b"zip",
    b"zst",
];

/// What is told of a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum PathPart {
    /// This many segments from the beginning.
    Segments(usize),
    /// The extension of the last segment, in lower case.
    Extension,
    /// Whether it is a static file, by its extension: `yes` or `no`.
    Static,
}

pub(super) fn field(name: &str, part: PathPart) -> DerivedField {
    DerivedField::of_field(name, Field::Path, part)
}

impl Derivation for PathPart {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let Some(path) = inputs.text(0) else { return false };
        match self {
            Self::Segments(count) => value.extend_from_slice(first_segments(path, *count)),
            Self::Extension => {
                let Some(extension) = extension(path) else { return false };
                value.extend(extension.iter().map(u8::to_ascii_lowercase));
            }
            Self::Static => {
                let lower = extension(path).map(<[u8]>::to_ascii_lowercase);
                let is_static =
                    lower.is_some_and(|it| STATIC_EXTENSIONS.binary_search(&&*it).is_ok());
                value.extend_from_slice(if is_static { b"yes" } else { b"no" });
            }
        }
        true
    }
}

/// The first segments of a path, with the slash behind the last one if the path goes on: `/a/` and
/// `/a/b` have the first segment `/a/`, and `/a` is a file.
fn first_segments(path: &[u8], count: usize) -> &[u8] {
    let mut slashes = memchr::memchr_iter(b'/', path).filter(|at| *at > 0);
    match slashes.nth(count.saturating_sub(1)) {
        Some(end) => &path[..=end],
        None => path,
    }
}

/// The extension of the last segment: what stands behind its last dot, if that is a name. A segment
/// that begins with its only dot has none.
fn extension(path: &[u8]) -> Option<&[u8]> {
    let name = &path[memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)..];
    // Parameters of a segment (RFC 3986, section 3.3) are no part of the name.
    let name = &name[..memchr::memchr(b';', name).unwrap_or(name.len())];
    let dot = memchr::memrchr(b'.', name).filter(|dot| *dot > 0)?;
    let extension = &name[dot + 1..];
    let is_name = (1..=EXTENSION_BYTES_MAX + 1).contains(&extension.len())
        && extension.iter().all(u8::is_ascii_alphanumeric);
    is_name.then_some(extension)
}

#[cfg(test)]
mod tests {
    use super::{STATIC_EXTENSIONS, extension, first_segments};

    #[test]
    fn the_extensions_can_be_searched() {
        assert!(STATIC_EXTENSIONS.is_sorted());
    }

    #[test]
    fn segments_end_with_their_slash() {
        for (path, count, expected) in [
            ("/a/b/c", 1, "/a/"),
            ("/a/b/c", 2, "/a/b/"),
            ("/a/b/c", 3, "/a/b/c"),
            ("/a/b/c", 9, "/a/b/c"),
            ("/a/", 1, "/a/"),
            ("/a", 1, "/a"),
            ("/", 1, "/"),
            ("//a/b", 1, "//"),
            ("", 1, ""),
            ("*", 1, "*"),
            ("a/b", 1, "a/"),
        ] {
            let found = first_segments(path.as_bytes(), count);
            assert_eq!(found, expected.as_bytes(), "{path} {count}");
        }
    }

    #[test]
    fn an_extension_is_a_name() {
        for (path, expected) in [
            ("/a.css", Some("css")),
            ("/a.tar.gz", Some("gz")),
            ("/a.d/b", None),
            ("/.htaccess", None),
            ("/.well-known/x", None),
            ("/a.", None),
            ("/a.b c", None),
            ("/a.php;jsessionid=1.2", Some("php")),
            ("/v1.2/list", None),
            ("/manifest.webmanifest", Some("webmanifest")),
            ("/a.averylongextension", None),
        ] {
            assert_eq!(extension(path.as_bytes()), expected.map(str::as_bytes), "{path}");
        }
    }
}
