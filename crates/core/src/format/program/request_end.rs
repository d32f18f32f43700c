//! The end of a request line between separators.
//!
//! ```text
//! 192.0.2.7|GET /a|b c HTTP/1.1|200|curl/8
//!                              `- after the version
//! 192.0.2.7|\x16\x03|\x01|400|-
//!                        `- by the number of separators after it
//! ```
//!
//! A client chooses the target, which may hold a separator, and may send what is no request. A server has not
//! read the headers of the latter, so what follows it holds no separator of the client.

use memchr::memchr_iter;

/// Where a request line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) struct RequestEnd {
    /// The text after it.
    pub(super) text: Box<[u8]>,
    separator: u8,
    /// The separator's place in the text.
    place: usize,
    /// The number of separators in the text after it, and between the values behind.
    separators: usize,
}

impl RequestEnd {
    /// The end before this text, if it holds what separates values. `behind` are the texts between the values
    /// behind it.
    pub(in crate::format) fn before<'a>(
        text: &[u8],
        behind: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        const SEPARATORS: &[u8] = b"\t|^~;,";
        let place = text.iter().position(|byte| SEPARATORS.contains(byte))?;
        if !text[..place].iter().all(|byte| *byte == b' ') {
            return None;
        }
        let separator = text[place];
        let count = |text: &[u8]| memchr_iter(separator, text).count();
        let separators = count(&text[place + 1..]) + behind.map(count).sum::<usize>();
        Some(Self { text: text.into(), separator, place, separators })
    }

    /// The end of the request line that begins at an offset.
    pub(super) fn find(&self, line: &[u8], start: usize) -> Option<usize> {
        let rest = &line[start..];
        let total = memchr_iter(self.separator, rest).count();
        let (mut first, mut by_number) = (None, None);
        for (number, at) in memchr_iter(self.separator, rest).enumerate() {
            let Some(end) = at.checked_sub(self.place) else { continue };
            if !rest[end..].starts_with(&self.text) {
                continue;
            }
            let is_by_number = total - number - 1 == self.separators;
            let has_version = ends_with_version(&rest[..end]);
            if has_version && is_by_number {
                return Some(start + end);
            }
            first = first.or(has_version.then_some(end));
            by_number = by_number.or(is_by_number.then_some(end));
        }
        first.or(by_number).map(|end| start + end)
    }
}

/// Whether a text ends with a version of HTTP.
fn ends_with_version(text: &[u8]) -> bool {
    let is_short =
        |text: &[u8]| matches!(text, [.., b' ', b'H', b'T', b'T', b'P', b'/', b'0'..=b'9']);
    is_short(text) || matches!(text, [before @ .., b'.', b'0'..=b'9'] if is_short(before))
}

#[cfg(test)]
mod tests {
    use super::RequestEnd;

    #[test]
    fn a_client_does_not_choose_the_end() {
        let end = RequestEnd::before(b" | ", [&b" | "[..], b"|"].into_iter()).expect("a separator");
        for (line, request) in [
            ("GET /a HTTP/1.1 | 200 | 5|curl", Some("GET /a HTTP/1.1")),
            ("GET /a HTTP/2 | 200 | 5|curl", Some("GET /a HTTP/2")),
            ("GET /a | 404 b HTTP/1.1 | 200 | 5|curl", Some("GET /a | 404 b HTTP/1.1")),
            (
                "GET /a HTTP/1.1 | 404 HTTP/1.1 | 200 | 5|curl",
                Some("GET /a HTTP/1.1 | 404 HTTP/1.1"),
            ),
            ("GET /a HTTP/1.1 | 200 | 5|x | y HTTP/1.1 | z", Some("GET /a HTTP/1.1")),
            ("- | 400 | 5|-", Some("-")),
            (" | 400 | 5|-", Some("")),
            ("- | 200 | 1 | 400 | 5|-", Some("- | 200 | 1")),
            ("GET /a | 400 | 5|-", Some("GET /a")),
            ("- | 400 | 5", None),
            ("", None),
        ] {
            let found = end.find(format!("x{line}").as_bytes(), 1).map(|end| &line[..end - 1]);
            assert_eq!(found, request, "{line}");
        }
        assert_eq!(RequestEnd::before(b"\" | ", [].into_iter()), None);
        assert_eq!(RequestEnd::before(b" ", [].into_iter()), None);
    }
}
