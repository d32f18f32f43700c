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
//!
//! Texts behind the request may be a client's too, so that a text may look like the end of a request and what
//! follows it, in the target as in an agent. If more than one end fits, the line is unparsed:
//!
//! ```text
//! 192.0.2.7|GET /a HTTP/1.1|200|5|x HTTP/1.1|404|9|z
//!                         |                `- here, if the target has separators
//!                         `- here, if the agent has them
//! ```

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
    /// The text after the status, if a status is next.
    after_status: Option<Box<[u8]>>,
}

impl RequestEnd {
    /// The end before this text, if it holds what separates values. `behind` are the texts between the values
    /// behind it, the first of which may be a status.
    pub(in crate::format) fn before<'a>(
        text: &[u8],
        behind: impl Iterator<Item = &'a [u8]> + Clone,
        is_before_status: bool,
    ) -> Option<Self> {
        const SEPARATORS: &[u8] = b"\t|^~;,";
        let place = text.iter().position(|byte| SEPARATORS.contains(byte))?;
        if !text[..place].iter().all(|byte| *byte == b' ') {
            return None;
        }
        let separator = text[place];
        let count = |text: &[u8]| memchr_iter(separator, text).count();
        let separators = count(&text[place + 1..]) + behind.clone().map(count).sum::<usize>();
        let after_status =
            is_before_status.then(|| behind.clone().next().unwrap_or_default().into());
        Some(Self { text: text.into(), separator, place, separators, after_status })
    }

    /// The end of the request line that begins at an offset. `None` if there is none, or more than one.
    pub(super) fn find(&self, line: &[u8], start: usize) -> Option<usize> {
        let rest = &line[start..];
        let total = memchr_iter(self.separator, rest).count();
        let (mut after_version, mut by_number) = (None, None);
        for (number, at) in memchr_iter(self.separator, rest).enumerate() {
            let Some(end) = at.checked_sub(self.place) else { continue };
            if !rest[end..].starts_with(&self.text) {
                continue;
            }
            if ends_with_version(&rest[..end]) && self.may_go_on(&rest[end + self.text.len()..]) {
                if after_version.is_some() {
                    return None;
                }
                after_version = Some(end);
            }
            let is_by_number = total - number - 1 == self.separators;
            by_number = by_number.or(is_by_number.then_some(end));
        }
        after_version.or(by_number).map(|end| start + end)
    }

    /// Whether a text can be what follows the request.
    fn may_go_on(&self, rest: &[u8]) -> bool {
        let Some(after) = &self.after_status else { return true };
        match rest {
            [a, b, c, rest @ ..] if [a, b, c].into_iter().all(u8::is_ascii_digit) => {
                rest.starts_with(after) && (!after.is_empty() || rest.is_empty())
            }
            _ => false,
        }
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
        let behind = [&b" | "[..], b"|"];
        let end = RequestEnd::before(b" | ", behind.into_iter(), true).expect("a separator");
        for (line, request) in [
            ("GET /a HTTP/1.1 | 200 | 5|curl", Some("GET /a HTTP/1.1")),
            ("GET /a HTTP/2 | 200 | 5|curl", Some("GET /a HTTP/2")),
            ("GET /a | 404 b HTTP/1.1 | 200 | 5|curl", Some("GET /a | 404 b HTTP/1.1")),
            (
                "GET /a HTTP/1.1 | 404 HTTP/1.1 | 200 | 5|curl",
                Some("GET /a HTTP/1.1 | 404 HTTP/1.1"),
            ),
            ("GET /a HTTP/1.1 | 200 | 5|x | y HTTP/1.1 | z", Some("GET /a HTTP/1.1")),
            // In the target or in the agent.
            ("GET /a HTTP/1.1 | 200 | 5|x HTTP/1.1 | 404 | 9|z", None),
            ("GET /a HTTP/1.1 | 200 | 5|x HTTP/1.1 | 404 | 9|z|y", None),
            (
                "GET /a HTTP/1.1 | 20 | 5|x HTTP/1.1 | 404 | 9|z",
                Some("GET /a HTTP/1.1 | 20 | 5|x HTTP/1.1"),
            ),
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
        assert_eq!(RequestEnd::before(b"\" | ", [].into_iter(), true), None);
        assert_eq!(RequestEnd::before(b" ", [].into_iter(), true), None);
        // Nothing tells which end is right if any text can be next.
        let end = RequestEnd::before(b"|", behind.into_iter(), false).expect("a separator");
        assert_eq!(end.find(b"GET /a HTTP/1.1|b HTTP/1.1|c | d|e", 0), None);
        assert_eq!(end.find(b"GET /a HTTP/1.1|b|c | d|e", 0), Some(15));
    }
}
