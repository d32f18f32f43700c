//! What stands before the lines of a known format: names and times that other programs have added.
//!
//! ```text
//! web-1  | 192.0.2.1 - - [...                        docker compose logs
//! [pod/web-5d/nginx] 192.0.2.1 - - [...              kubectl logs --prefix
//! 2025-12-17T09:03:01.25Z 192.0.2.1 - - [...         docker logs -t, exports of CloudWatch
//! Dec 17 09:03:01.123456 web nginx[7]: 192.0.2.1     journalctl -o short-precise
//! 203.0.113.9 10.0.0.1 - - [...                      X-Forwarded-For before the client
//! ```
//!
//! A head is a list of parts, each of one kind. Blanks and the colours of a terminal (`ESC [ ... m`)
//! between them are skipped. Its times are not kept: the line has a time of its own.

use super::mismatch::{Mismatch, Reason};
use super::tail::is_blank;
use crate::field::Field;
use crate::record::Record;
use crate::value::{Client, month_by_name, parse_clf_variant, parse_rfc3339, second_of_day_at};

/// The most parts of a head.
pub(in crate::format) const PARTS_MAX: usize = 12;

/// A time in the definition of a head.
pub(in crate::format) const TIME: &str = "TIME";

/// The parts before a line.
#[derive(Debug, Clone)]
pub(in crate::format) struct Head {
    /// The kind of each part, and where its text is stored.
    pub(in crate::format) parts: Vec<(HeadKind, HeadSink)>,
    /// The fields of a head that names the client.
    pub(in crate::format) forwarded: Option<ForwardedFields>,
}

/// Where the text of a part is stored: in an extra field, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum HeadSink {
    Skip,
    /// The time of a line that has none of its own.
    Time,
    Extra(usize),
    /// The second and third part of `pod/NAME/CONTAINER`.
    Pod {
        pod: usize,
        container: usize,
    },
}

/// The extra fields of a line with `X-Forwarded-For` before the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct ForwardedFields {
    /// The header.
    pub(in crate::format) header: usize,
    /// The address of the connection, if the header names another client.
    pub(in crate::format) peer: usize,
}

/// The kinds of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::format) enum HeadKind {
    /// A date and time, or seconds since 1970.
    Time,
    /// A name before a vertical bar.
    Name,
    /// A text in brackets.
    Bracket,
    /// A text in quotes.
    Quote,
    /// The name of a program before a colon: `nginx[7]:`.
    Tag,
    /// A word, or a list of words with commas.
    Word,
}

/// A part of a head.
#[derive(Debug, Clone, Copy)]
pub(in crate::format) struct HeadPart<'a> {
    pub(in crate::format) kind: HeadKind,
    /// The text without brackets, quotes, bar, colon and process.
    pub(in crate::format) text: &'a [u8],
    /// The offset of what stands after the part and its blanks.
    pub(in crate::format) next: usize,
}

impl Head {
    /// Whether the time of a line is that of its head.
    pub(in crate::format) fn has_time(&self) -> bool {
        self.parts.iter().any(|(_, sink)| *sink == HeadSink::Time)
    }

    /// Reads the parts before a line. Returns the offset of the line.
    pub(in crate::format) fn read<'a>(
        &self,
        line: &'a [u8],
        record: &mut Record<'a>,
    ) -> Result<usize, Mismatch> {
        let mut at = skip_blanks(line, 0);
        for (kind, sink) in &self.parts {
            let part = part_at(line, at).filter(|part| part.kind == *kind);
            let part = part.ok_or(Mismatch::new(at, Reason::Form(kind.expectation())))?;
            match *sink {
                HeadSink::Skip => {}
                HeadSink::Time => {
                    let time = parse_clf_variant(part.text);
                    record.time = Some(time.ok_or(Mismatch::new(at, Reason::Time))?);
                }
                HeadSink::Extra(index) => record.set_extra(index, part.text),
                HeadSink::Pod { pod, container } => {
                    let names = pod_names(part.text);
                    let names = names.ok_or(Mismatch::new(at, Reason::Form(POD)))?;
                    record.set_extra(pod, names[0]);
                    record.set_extra(container, names[1]);
                }
            }
            at = part.next;
        }
        Ok(at)
    }

    /// Takes the client from the header before it, if there is one: the leftmost address.
    pub(in crate::format) fn set_client(&self, record: &mut Record<'_>) {
        let Some(ForwardedFields { header, peer }) = self.forwarded else { return };
        let Some(client) = record.extra(header).and_then(Client::of_header) else { return };
        if let Some(address) = record.text(Field::Client) {
            record.set_extra(peer, address);
        }
        record.put_text(Field::Client, Some(client.host));
    }
}

const POD: &str = "expected [pod/NAME/CONTAINER]";

impl HeadKind {
    /// What a line lacks that has no such part.
    const fn expectation(self) -> &'static str {
        match self {
            Self::Time => "expected a time before the line",
            Self::Name => "expected a name and ` | ` before the line",
            Self::Bracket => "expected a text in brackets before the line",
            Self::Quote => "expected a text in quotes before the line",
            Self::Tag => "expected the name of a program and `:` before the line",
            Self::Word => "expected a word before the line",
        }
    }
}

/// The names of a pod and its container in `pod/NAME/CONTAINER`.
pub(in crate::format) fn pod_names(text: &[u8]) -> Option<[&[u8]; 2]> {
    let names = text.strip_prefix(b"pod/")?;
    let slash = memchr::memchr(b'/', names)?;
    Some([&names[..slash], &names[slash + 1..]])
}

/// Whether a word is the name of an output of a container.
pub(in crate::format) fn is_stream(text: &[u8]) -> bool {
    matches!(text, b"stdout" | b"stderr")
}

/// The part that begins at an offset of a line; `None` if the line ends before something follows.
pub(in crate::format) fn part_at(line: &[u8], at: usize) -> Option<HeadPart<'_>> {
    let rest = &line[at..];
    let part = |kind, text, end: usize| {
        let next = skip_blanks(line, at + end);
        (end > 0 && next > at + end && next < line.len()).then_some(HeadPart { kind, text, next })
    };
    if let Some(length) = time_length(rest) {
        return part(HeadKind::Time, &rest[..length], length);
    }
    let closing = match rest.first()? {
        b'[' => memchr::memchr(b']', rest).map(|end| (HeadKind::Bracket, end)),
        b'"' => memchr::memchr(b'"', &rest[1..]).map(|end| (HeadKind::Quote, end + 1)),
        _ => None,
    };
    if let Some((kind, end)) = closing {
        return part(kind, &rest[1..end], end + 1);
    }
    let length = word_length(rest);
    let after = skip_blanks(rest, length);
    if rest.get(after) == Some(&b'|') {
        return part(HeadKind::Name, &rest[..length], after + 1);
    }
    let word = &rest[..length];
    let is_tag = word.first().is_some_and(|byte| !byte.is_ascii_digit());
    if let Some(tag) = word.strip_suffix(b":").filter(|_| is_tag) {
        let name = tag.iter().position(|byte| *byte == b'[').map_or(tag, |end| &tag[..end]);
        return part(HeadKind::Tag, name, length);
    }
    part(HeadKind::Word, word, length)
}

/// The length of a word; a comma before a space goes on with a list.
fn word_length(text: &[u8]) -> usize {
    let mut end = 0;
    while end < text.len() {
        let is_list = end > 0 && text[end - 1] == b',' && text[end] == b' ';
        if matches!(text[end], b' ' | b'\t' | b'\x1b') && !is_list {
            break;
        }
        end += 1;
    }
    end
}

/// The offset after blanks and colours.
pub(in crate::format) fn skip_blanks(line: &[u8], mut at: usize) -> usize {
    loop {
        match line[at..] {
            [byte, ..] if is_blank(byte) => at += 1,
            [b'\x1b', b'[', ref rest @ ..] => {
                let is_colour = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
                let length = rest.iter().take_while(|byte| is_colour(byte)).count();
                if rest.get(length) != Some(&b'm') {
                    return at;
                }
                at += length + 3;
            }
            _ => return at,
        }
    }
}

/// The length of a time at the start of a text, without the comma, blank or end after it.
pub(in crate::format) fn time_length(text: &[u8]) -> Option<usize> {
    let is_end = |at: usize| text.get(at).is_none_or(|byte| is_blank(*byte));
    let word = |from: usize| {
        let rest = text.get(from..)?;
        Some(&rest[..rest.iter().position(|byte| is_blank(*byte)).unwrap_or(rest.len())])
    };
    let is_clock = |word: &[u8]| {
        let zone = word.iter().position(|byte| matches!(byte, b'Z' | b'+')).unwrap_or(word.len());
        let (clock, zone) = word.split_at(zone);
        let fraction = clock.get(8..).unwrap_or_default();
        second_of_day_at(clock.get(..8).unwrap_or_default()).is_some()
            && (fraction.is_empty() || matches!(fraction[0], b'.' | b','))
            && fraction.iter().skip(1).all(u8::is_ascii_digit)
            && zone.iter().all(|byte| matches!(byte, b'Z' | b'+' | b':' | b'0'..=b'9'))
    };
    let first = word(0)?;
    if parse_rfc3339(first).is_some() || is_unix_time(first) {
        return Some(first.len());
    }
    // svlogd of runit: `2017-03-25_15:11:15.70081`.
    if first.get(10) == Some(&b'_') && first[4] == b'-' && is_clock(&first[11..]) {
        return Some(first.len());
    }
    if first.len() == 10 && matches!((first[4], first[7]), (b'-', b'-') | (b'/', b'/')) {
        let clock = word(11).filter(|clock| is_clock(clock))?;
        return Some(11 + clock.len());
    }
    let is_month = first.len() == 3 && month_by_name(first).is_some();
    let day_bytes = if text.get(4) != Some(&b' ') && is_end(5) { 1 } else { 2 };
    let day = text.get(4..4 + day_bytes).filter(|_| is_month && is_end(4 + day_bytes))?;
    let is_day = matches!(day, [b' ' | b'0'..=b'3', b'0'..=b'9'] | [b'1'..=b'9']);
    let clock = word(5 + day_bytes).filter(|clock| is_day && is_clock(clock))?;
    Some(5 + day_bytes + clock.len())
}

/// Whether a word is a number of seconds or milliseconds since 1970, from 2001 on.
fn is_unix_time(word: &[u8]) -> bool {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fraction = word[digits..].strip_prefix(b".").unwrap_or(&word[digits..]);
    matches!(digits, 10 | 13) && fraction.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::{HeadKind, part_at};

    fn parts(line: &str) -> Vec<(HeadKind, &str)> {
        let (mut at, mut parts) = (0, Vec::new());
        while let Some(part) = part_at(line.as_bytes(), at) {
            parts.push((part.kind, std::str::from_utf8(part.text).unwrap()));
            at = part.next;
        }
        parts
    }

    #[test]
    fn finds_parts() {
        use HeadKind::{Bracket, Name, Quote, Tag, Time, Word};
        for (line, expected) in [
            ("web-1  | x", vec![(Name, "web-1")]),
            ("\u{1b}[36mweb-1  |\u{1b}[0m x", vec![]),
            ("[pod/a/b] x", vec![(Bracket, "pod/a/b")]),
            ("2025-12-17T09:03:01.25Z x", vec![(Time, "2025-12-17T09:03:01.25Z")]),
            ("2025-12-17 09:03:01,25 x", vec![(Time, "2025-12-17 09:03:01,25")]),
            ("2025-12-17_09:03:01.25 x", vec![(Time, "2025-12-17_09:03:01.25")]),
            ("2025-12-17 noon x", vec![(Word, "2025-12-17"), (Word, "noon")]),
            (
                "Dec  7 09:03:01.123456 web nginx[7]: x",
                vec![(Time, "Dec  7 09:03:01.123456"), (Word, "web"), (Tag, "nginx")],
            ),
            ("1765962181.250 \"a b\" x", vec![(Time, "1765962181.250"), (Quote, "a b")]),
            (
                "192.0.2.1, 10.0.0.1 10.0.0.2 x",
                vec![(Word, "192.0.2.1, 10.0.0.1"), (Word, "10.0.0.2")],
            ),
            ("Dec", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(parts(line), expected, "{line}");
        }
    }
}
