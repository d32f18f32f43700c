//! Splits a request as CrowdSec's parsers do.
//!
//! The source is crowdsecurity/http-logs of CrowdSec's hub, whose patterns are greedy: the
//! arguments begin at the last `?`, and the extension at the last dot of a file that is not its
//! first character.

/// The extensions of files that are static, in lower case.
const STATIC_EXTENSIONS: [&str; 23] = [
    ".jpg", ".css", ".js", ".jpeg", ".png", ".svg", ".map", ".ico", ".otf", ".gif", ".mp3", ".mp4",
    ".woff", ".woff2", ".ttf", ".eot", ".webp", ".wav", ".gz", ".brotli", ".bvr", ".ts", ".bmp",
];

/// Splits a request target at its last `?`.
pub(super) fn split_arguments(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memrchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// The folder, file stem and extension of a request; `None` without a `/`.
pub(super) fn split_file(request: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (folder, file) = request.split_at(memchr::memrchr(b'/', request)? + 1);
    let dot = memchr::memrchr(b'.', file).filter(|dot| *dot > 0).unwrap_or(file.len());
    let (stem, extension) = file.split_at(dot);
    Some((folder, stem, extension))
}

/// Whether a file with the extension is static.
pub(super) fn is_static(extension: &[u8]) -> bool {
    STATIC_EXTENSIONS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(extension))
}

/// Reads a request line as the parser of nginx does: `verb target HTTP/version`, where the target
/// may contain spaces.
pub(super) fn split_request_line(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = memchr::memchr(b' ', line)?;
    let (verb, rest) = (&line[..space], &line[space + 1..]);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if verb.is_empty() || !verb.iter().all(is_word) {
        return None;
    }
    let at = memchr::memmem::rfind(rest, b" HTTP/")?;
    let version = &rest[at + 6..];
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let is_version = !version.is_empty() && version.iter().all(is_number);
    is_version.then_some((verb, &rest[..at], version))
}

#[cfg(test)]
mod tests {
    use regex::bytes::Regex;

    use super::{is_static, split_arguments, split_file, split_request_line};

    /// The pattern of the hub, with its sub-patterns expanded.
    const FILE: &str = r"(?P<dir>^.*/)((?P<frag>[^/].*?)(?P<ext>\.[^.]*$|$))?";

    #[test]
    fn files_are_divided_as_by_the_pattern() {
        let regex = Regex::new(FILE).expect("a pattern");
        for request in [
            "/a/b.html",
            "/",
            "/a/",
            "/.htpasswd",
            "/.wp-config.php.swp",
            "/a.b/c",
            "x",
            "",
            "/a.",
            "/..",
            "/a..b",
            "//",
            "/a/b.tar.gz",
        ] {
            let found = regex.captures(request.as_bytes()).map(|captures| {
                let part = |name| captures.name(name).map_or(&b""[..], |part| part.as_bytes());
                (part("dir").to_vec(), part("frag").to_vec(), part("ext").to_vec())
            });
            let split = split_file(request.as_bytes());
            let split = split.map(|(a, b, c)| (a.to_vec(), b.to_vec(), c.to_vec()));
            assert_eq!(split, found, "{request}");
        }
        assert!(is_static(b".PNG") && !is_static(b".php") && !is_static(b""));
    }

    #[test]
    fn requests_are_divided() {
        assert_eq!(split_arguments(b"/a?b?c"), (&b"/a?b"[..], Some(&b"c"[..])));
        assert_eq!(split_arguments(b"/a"), (&b"/a"[..], None));
        let line = b"GET /a b HTTP/1.1";
        assert_eq!(split_request_line(line), Some((&b"GET"[..], &b"/a b"[..], &b"1.1"[..])));
        for line in ["HELP", "\\x16\\x03 a HTTP/1.1", "GET / HTTP/x", ""] {
            assert_eq!(split_request_line(line.as_bytes()), None, "{line}");
        }
    }
}
