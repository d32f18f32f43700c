//! Joins the lines that a container runtime has split, while they are read.
//!
//! The container runtimes of Kubernetes write each line of a container after its time, its stream
//! and a tag. They split a line that is longer than their buffer, 16 KiB. All parts but the last
//! have the tag `P`. Lines of the other stream may come between the parts.
//!
//! ```text
//! 2025-12-17T09:03:01.25Z stdout P 192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] "GET /lo
//! 2025-12-17T09:03:01.26Z stderr F a warning
//! 2025-12-17T09:03:01.25Z stdout F ng HTTP/1.1" 200 5
//! ```
//!
//! A joined line has the time of its first part and the tag `F`, and replaces its last part. All
//! other lines pass unchanged, including those of other formats.
//!
//! Source: the log format of the kubelet, `pkg/kubelet/kuberuntime/logs` of Kubernetes.
//!
//! Memory: one line for each stream, at most a byte over the limit of a line, so that a longer one
//! is still counted as too long.

use std::io;

use memchr::{memchr, memrchr};
use weir_core::BlockLimits;

use super::decode::Decode;

/// The longest time at the start of a line, in bytes.
const TIME_BYTES_MAX: usize = 40;

/// The beginning of a line that a container runtime wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prefix {
    /// 0 for stdout, 1 for stderr.
    stream: usize,
    /// The offset of the tag.
    tag_at: usize,
    is_partial: bool,
    /// The offset of the line that the container wrote.
    text_at: usize,
}

impl Prefix {
    fn of(line: &[u8]) -> Option<Self> {
        let time_bytes = memchr(b' ', &line[..line.len().min(TIME_BYTES_MAX)])?;
        let time = &line[..time_bytes];
        let is_time = time.first()?.is_ascii_digit()
            && time.get(4) == Some(&b'-')
            && time.get(10) == Some(&b'T');
        let rest = &line[time_bytes + 1..];
        let stream = [&b"stdout "[..], b"stderr "].iter().position(|name| rest.starts_with(name));
        let stream = stream.filter(|_| is_time)?;
        let tag_at = time_bytes + 1 + b"stdout ".len();
        let is_partial = match line.get(tag_at)? {
            b'P' => true,
            b'F' => false,
            _ => return None,
        };
        // Other tags may follow after colons.
        let tags = &line[tag_at + 1..];
        let text_at = match tags.first()? {
            b' ' => tag_at + 2,
            b':' => tag_at + 1 + memchr(b' ', tags)? + 1,
            _ => return None,
        };
        Some(Self { stream, tag_at, is_partial, text_at })
    }
}

/// Whether a text with these first bytes was written by a container runtime.
pub(super) fn is_cri(first_bytes: &[u8]) -> bool {
    Prefix::of(first_bytes).is_some()
}

/// Joins the parts of split lines.
#[derive(Debug)]
pub(super) struct CriDecoder {
    /// The length of a line that is over the limit; no more of it is kept.
    line_bytes_max: usize,
    /// A line whose end has not arrived.
    line: Vec<u8>,
    /// Whether the input is inside a line over the limit, which is passed on as it arrives.
    is_inside_long_line: bool,
    /// The split line of each stream.
    open: [OpenLine; 2],
}

/// The parts of a split line so far.
#[derive(Debug, Default)]
struct OpenLine {
    /// The first part with its prefix, and the text of the others; empty if there is none.
    text: Vec<u8>,
    /// The offset of the tag of the first part.
    tag_at: usize,
}

impl OpenLine {
    fn push(&mut self, text: &[u8], line_bytes_max: usize) {
        let room = line_bytes_max.saturating_sub(self.text.len());
        self.text.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// Sets the tag, and moves the line to the output.
    fn end(&mut self, tag: u8, output: &mut Vec<u8>) {
        self.text[self.tag_at] = tag;
        self.text.push(b'\n');
        output.extend_from_slice(&std::mem::take(&mut self.text));
    }
}

impl Default for CriDecoder {
    fn default() -> Self {
        Self::new(BlockLimits::LINE_BYTES_MAX)
    }
}

impl CriDecoder {
    /// Creates a decoder for lines of up to `line_bytes_max` bytes.
    pub(super) fn new(line_bytes_max: usize) -> Self {
        let line_bytes_max = line_bytes_max.saturating_add(1);
        Self {
            line_bytes_max,
            line: Vec::new(),
            is_inside_long_line: false,
            open: Default::default(),
        }
    }

    /// The number of split lines whose last parts have not arrived.
    pub(super) fn open_lines(&self) -> u64 {
        self.open.iter().map(|open| u64::from(!open.text.is_empty())).sum()
    }

    /// The memory of the lines that have not ended, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let open: usize = self.open.iter().map(|open| open.text.capacity()).sum();
        open + self.line.capacity()
    }

    /// Takes whole lines.
    fn take_lines(&mut self, mut lines: &[u8], output: &mut Vec<u8>) {
        while let Some(end) = memchr(b'\n', lines) {
            let (line, rest) = lines.split_at(end + 1);
            self.take_line(line, output);
            lines = rest;
        }
    }

    /// Takes a line with its line feed.
    fn take_line(&mut self, line: &[u8], output: &mut Vec<u8>) {
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let Some(prefix) = Prefix::of(bare) else { return output.extend_from_slice(line) };
        let Prefix { stream, tag_at, is_partial, text_at } = prefix;
        let open = &mut self.open[stream];
        match (open.text.is_empty(), is_partial) {
            (true, false) => output.extend_from_slice(line),
            (true, true) => {
                open.tag_at = tag_at;
                open.push(bare, self.line_bytes_max);
            }
            (false, _) => {
                open.push(&bare[text_at..], self.line_bytes_max);
                if !is_partial {
                    open.end(b'F', output);
                }
            }
        }
    }

    /// Keeps the beginning of a line, or passes it on if it is over the limit.
    fn keep(&mut self, start: &[u8], output: &mut Vec<u8>) {
        self.line.extend_from_slice(start);
        if self.line.len() > self.line_bytes_max {
            self.is_inside_long_line = true;
            output.append(&mut self.line);
        }
    }
}

impl Decode for CriDecoder {
    fn push(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        let mut rest = input;
        if self.is_inside_long_line || !self.line.is_empty() {
            let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (first, after) = rest.split_at(end);
            rest = after;
            let has_ended = first.ends_with(b"\n");
            if self.is_inside_long_line {
                output.extend_from_slice(first);
                self.is_inside_long_line = !has_ended;
            } else if has_ended {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(first);
                self.take_line(&line, output);
            } else {
                self.keep(first, output);
            }
        }
        let lines = memrchr(b'\n', rest).map_or(0, |at| at + 1);
        self.take_lines(&rest[..lines], output);
        if lines < rest.len() {
            self.keep(&rest[lines..], output);
        }
        Ok(input.len())
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, output);
        }
        let is_within_line = match output.last() {
            Some(last) => *last != b'\n',
            None => self.is_inside_long_line,
        };
        if is_within_line && self.open.iter().any(|open| !open.text.is_empty()) {
            output.push(b'\n');
        }
        // Their last parts are missing, so the tag remains that of a part.
        for open in self.open.iter_mut().filter(|open| !open.text.is_empty()) {
            open.end(b'P', output);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CriDecoder, Prefix, is_cri};
    use crate::source::decode::Decode;

    fn join(log: &[u8], piece: usize) -> Vec<u8> {
        let (mut decoder, mut output) = (CriDecoder::default(), Vec::new());
        for piece in log.chunks(piece) {
            assert_eq!(decoder.push(piece, &mut output).expect("a text"), piece.len());
        }
        decoder.finish(&mut output).expect("a text");
        output
    }

    #[test]
    fn the_parts_of_each_stream_are_joined() {
        let log = b"2025-12-17T09:03:01.25Z stdout P one \n\
            2025-12-17T09:03:02Z stderr P:tag err\n\
            not of a runtime\n\
            2025-12-17T09:03:03Z stdout P two \n\
            2025-12-17T09:03:04Z stderr F:tag or\n\
            2025-12-17T09:03:05Z stdout F three\n\
            2025-12-17T09:03:06Z stdout F whole\n\
            2025-12-17T09:03:07Z stdout P never ended\n";
        let joined = b"not of a runtime\n\
            2025-12-17T09:03:02Z stderr F:tag error\n\
            2025-12-17T09:03:01.25Z stdout F one two three\n\
            2025-12-17T09:03:06Z stdout F whole\n\
            2025-12-17T09:03:07Z stdout P never ended\n";
        for piece in 1..log.len() {
            assert_eq!(
                join(log, piece).escape_ascii().to_string(),
                joined.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn a_line_over_the_limit_stays_over_it_in_bounded_memory() {
        let part = [b"2025-12-17T09:03:01Z stdout P ", &[b'x'; 16_000][..], b"\n"].concat();
        let last = b"2025-12-17T09:03:01Z stdout F y\n2025-12-17T09:03:01Z stdout F next\n";
        let joined = join(&[&part.repeat(200)[..], last].concat(), 5_000);
        let lines: Vec<&[u8]> = joined.split(|byte| *byte == b'\n').collect();
        assert_eq!(lines[0].len(), weir_core::BlockLimits::LINE_BYTES_MAX + 1);
        assert_eq!(lines[1], b"2025-12-17T09:03:01Z stdout F next");
        // A line without an end is passed on as it comes.
        let endless = [&vec![b'x'; 3 << 20][..], b"\n", last].concat();
        assert!(join(&endless, 5_000) == endless);
    }

    #[test]
    fn prefixes_are_recognised() {
        let prefix = Prefix { stream: 1, tag_at: 28, is_partial: true, text_at: 30 };
        assert_eq!(Prefix::of(b"2025-12-17T09:03:01Z stderr P text"), Some(prefix));
        for other in [
            &b"2025-12-17T09:03:01Z stdout X text"[..],
            b"2025-12-17T09:03:01Z stdlog F text",
            b"2025-12-17 stdout F text",
            b"192.0.2.1 - - [17/Dec/2025",
            b"",
        ] {
            assert!(!is_cri(other), "{other:?}");
        }
    }

    /// Joins by keeping all parts of each stream.
    fn oracle(lines: &[(usize, bool, String)]) -> String {
        let mut open: [Option<String>; 2] = [None, None];
        let mut joined = String::new();
        let prefix =
            |stream, tag| format!("2025-12-17T09:03:01Z {} {tag} ", ["stdout", "stderr"][stream]);
        for (stream, is_partial, text) in lines {
            let all = open[*stream].take().unwrap_or_default() + text;
            match is_partial {
                true => open[*stream] = Some(all),
                false => joined += &format!("{}{all}\n", prefix(*stream, 'F')),
            }
        }
        for (stream, text) in open.iter().enumerate() {
            let rest = text.iter().map(|text| format!("{}{text}\n", prefix(stream, 'P')));
            joined.extend(rest);
        }
        joined
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn joined_lines_agree_with_the_oracle(
            lines in prop::collection::vec((0_usize..2, any::<bool>(), "[a-z ]{0,20}"), 0..40),
            piece in 1_usize..100,
        ) {
            let log: String = lines.iter().map(|(stream, is_partial, text)| {
                let (stream, tag) = (["stdout", "stderr"][*stream], ["F", "P"][usize::from(*is_partial)]);
                format!("2025-12-17T09:03:01Z {stream} {tag} {text}\n")
            }).collect();
            let joined = String::from_utf8(join(log.as_bytes(), piece)).expect("UTF-8");
            prop_assert_eq!(joined, oracle(&lines));
        }
    }
}
