//! Known lines with other text around them: values after the line, and parts before it.
//!
//! ```text
//! web-1  | 192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] "GET / HTTP/1.1" 200 5 rt=0.012
//! `- head -'-------------------- a known line --------------------------------'- tail -'
//! ```
//!
//! What people append, prefix or wrap differs from server to server, so it is in no catalogue. It is
//! found in the first lines that no known format matches: the parts before a line must be of the same
//! kinds in several lines, and the values after it become fields by their key or their place
//! (`tail_fields`). Names need evidence (`evidence`).

mod cells;
mod evidence;
mod head_fields;
mod labels;
mod outline;
mod parts;
mod tail_fields;
mod written;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

pub(super) use self::cells::{separator_of, split};
pub(super) use self::evidence::Evidence;
use self::evidence::FirstValues;
use self::head_fields::HeadSample;
pub(super) use self::labels::Labels;
use self::labels::{begins_with_host, has_urls};
pub(super) use self::outline::outline_format;
use self::tail_fields::TailSample;
pub(super) use self::written::written_surroundings;
use super::catalog::known_formats;
use super::compiled::Format;
use super::program::Program;
use super::program::head::{HeadKind, PARTS_MAX, is_stream, part_at, pod_names, skip_blanks};
use super::program::line_program::LineProgram;
use super::program::needs::{LineMarks, Needs};
use super::program::sink::{LineState, is_address};
use super::program::tail::{Quote, Tail, TailValue, TailValues};
use super::read::line_parser::LineParser;
use crate::field::Field;
use crate::record::Record;
use crate::value::TimeParts;

/// The most lines that are looked at.
pub(super) const SAMPLE_LINES_MAX: usize = 64;
/// The most formats that are found in them.
const FORMATS_MAX: usize = 2;
/// The most bytes before a line.
const HEAD_BYTES_MAX: usize = 512;
/// The most parts of a head of which nothing is known. More of them are rather the words of another
/// format, in which the known line means something else.
const UNKNOWN_PARTS_MAX: usize = 4;

/// Definitions in the notation of nginx of known formats in another notation.
const DEFINITIONS: [(&str, &str); 4] = [
    (
        "COMBINED",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
    ),
    ("COMMON", r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#),
    (
        "VCOMBINED",
        r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
    ),
    (
        "VCOMMON",
        r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#,
    ),
];

/// A known format whose lines may have something around them.
struct Base {
    format: Arc<Format>,
    /// The definition in the notation of nginx, if the line may have a tail.
    definition: Option<String>,
    /// The program of the line up to its tail.
    line: Option<LineProgram>,
}

/// Known formats that are another one and a value, whose name needs evidence.
const WITH_A_TAIL: [&str; 4] = ["MAIN", "VMAIN", "COMBINEDTIME", "ICECAST"];

/// A known format whose lines are the beginning of those of others, in which its last value means
/// something else.
const WITHOUT_A_TAIL: &str = "DJANGO";

static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let is_base =
        |format: &&Format| format.may_be_surrounded() && !WITH_A_TAIL.contains(&format.name());
    known_formats().iter().filter(is_base).map(Base::of).collect()
});

impl Base {
    fn of(format: &Format) -> Self {
        let table = DEFINITIONS.into_iter().find(|(name, _)| *name == format.name());
        let nginx = format.definition().starts_with('$').then(|| format.definition().to_owned());
        let definition = table.map(|(_, definition)| definition.to_owned()).or(nginx);
        let definition = definition.filter(|_| format.name() != WITHOUT_A_TAIL);
        let open = Tail { keys: Vec::new(), places: Vec::new(), more: usize::MAX };
        let line = match format.program() {
            Program::Line(program) if definition.is_some() => Some(program.clone().with_tail(open)),
            _ => None,
        };
        Self { format: Arc::new(format.clone()), definition, line }
    }

    /// What each line has.
    fn needs(&self) -> Needs<'_> {
        self.format.needs()
    }
}

/// A known line inside a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// The index of its format.
    base: usize,
    /// The kinds of the parts before it.
    head: Vec<HeadKind>,
    /// Its offset.
    start: usize,
    /// The offset of its tail, or the end of the line.
    tail: usize,
}

/// The known line in a line, and the values before clients that were seen on the way.
struct FoundIn {
    found: Option<Found>,
    first_values: FirstPairs,
}

/// Values before clients, and the clients.
type FirstPairs = Vec<(Vec<u8>, Vec<u8>)>;

impl Found {
    /// Whether two lines have the same known line inside and the same kinds of parts before it.
    fn has_shape_of(&self, other: &Self) -> bool {
        self.base == other.base && self.head == other.head
    }
}

/// Finds known lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Finder {
    /// The parsers of the formats that are read whole, by the numbers of the formats. Each is made when
    /// it is first needed.
    parsers: HashMap<usize, LineParser>,
    state: LineState,
    memory: Vec<u8>,
    /// The values before the clients that a format with virtual hosts would take for one.
    first_values: FirstValues,
    /// Whether those values are addresses of clients.
    are_forwarded: bool,
}

impl Finder {
    /// The formats of lines that are in no known format, but have a known line inside, the most
    /// frequent first.
    pub(super) fn formats<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>) -> Vec<Format> {
        let lines: Vec<&[u8]> = lines.take(SAMPLE_LINES_MAX).collect();
        (self.first_values, self.are_forwarded) = (FirstValues::default(), false);
        let mut found = self.find_all(&lines);
        // Whether the value before a client is a virtual host follows from all lines.
        self.are_forwarded = self.first_values.are_forwarded();
        if self.are_forwarded {
            found = self.find_all(&lines);
        }
        let mut shapes: Vec<Vec<(&[u8], Found)>> = Vec::new();
        for (line, found) in lines.into_iter().zip(found) {
            let Some(found) = found else { continue };
            match shapes.iter_mut().find(|lines| lines[0].1.has_shape_of(&found)) {
                Some(lines) => lines.push((line, found)),
                None => shapes.push(vec![(line, found)]),
            }
        }
        shapes.sort_by_key(|lines| std::cmp::Reverse(lines.len()));
        shapes.truncate(FORMATS_MAX);
        shapes.iter().map(|lines| format_of(&BASES[lines[0].1.base], lines)).collect()
    }

    /// The first known line in each of some lines. A line may be among them several times.
    fn find_all<'a>(&mut self, lines: &[&'a [u8]]) -> Vec<Option<Found>> {
        let mut known: HashMap<&'a [u8], FoundIn> = HashMap::new();
        let find = |line: &&'a [u8]| {
            let found = known.entry(line).or_insert_with(|| {
                let mut first_values = Vec::new();
                let found = self.find(line, &mut first_values);
                FoundIn { found, first_values }
            });
            for (host, client) in &found.first_values {
                self.first_values.add(host, client);
            }
            found.found.clone()
        };
        lines.iter().map(find).collect()
    }

    /// The first known line in a line, with something around it. Of several formats at one place,
    /// the one that reads the most fields. Values that may be virtual hosts, and the clients behind them,
    /// are added to `first_values`.
    fn find(&mut self, line: &[u8], first_values: &mut FirstPairs) -> Option<Found> {
        let marks = LineMarks::of(line);
        let may_have = |base: &Base| marks.have_bytes(&base.needs());
        let bases: Vec<usize> = (0..BASES.len()).filter(|base| may_have(&BASES[*base])).collect();
        let (mut start, mut head, mut unknown) = (skip_blanks(line, 0), Vec::new(), 0);
        while head.len() <= PARTS_MAX && start <= HEAD_BYTES_MAX && unknown <= UNKNOWN_PARTS_MAX {
            let best = bases.iter().filter_map(|&base| {
                // A line without a client has no proof that it begins after words.
                if unknown > 0 && !BASES[base].format.fills(Field::Client) {
                    return None;
                }
                let (fields, length) =
                    self.read(base, &line[start..], unknown > 0, first_values)?;
                Some((fields, std::cmp::Reverse(base), start + length))
            });
            if let Some((_, std::cmp::Reverse(base), tail)) = best.max() {
                let is_bare = head.is_empty() && tail == line.len();
                return (!is_bare).then_some(Found { base, head, start, tail });
            }
            let part = part_at(line, start)?;
            // Another line, which was torn.
            if part.kind == HeadKind::Bracket
                && matches!(part.text, [_, _, b'/', _, _, _, b'/', ..])
            {
                return None;
            }
            match part.kind {
                // The word before a program is its host.
                HeadKind::Tag if head.last() == Some(&HeadKind::Word) => {
                    unknown = unknown.saturating_sub(1);
                }
                HeadKind::Tag | HeadKind::Time | HeadKind::Name => {}
                _ if pod_names(part.text).is_some() || is_stream(part.text) => {}
                HeadKind::Bracket | HeadKind::Quote | HeadKind::Word => unknown += 1,
            }
            head.push(part.kind);
            start = part.next;
        }
        None
    }

    /// Reads a line in a known format. Returns the number of its fields and the offset of its tail.
    /// After words the client must be an address, or the `@` of a socket: a name may be one more of the
    /// words.
    fn read(
        &mut self,
        base: usize,
        line: &[u8],
        is_after_words: bool,
        first_values: &mut FirstPairs,
    ) -> Option<(usize, usize)> {
        let known = &BASES[base];
        let mut record = Record::with_extra_fields(known.format.extra_fields().len());
        let end = match &known.line {
            Some(program) => {
                self.state.time = TimeParts::default();
                let end = program.read_values(line, &mut record, &mut self.state).ok()?;
                self.state.time.finish()?;
                if end < line.len() && is_torn(line, end) {
                    return None;
                }
                end
            }
            None => {
                let new = || LineParser::new(known.format.clone());
                let parser = self.parsers.entry(base).or_insert_with(new);
                parser.parse_decoding(line, &mut self.memory, &mut record).ok()?;
                record.time?;
                line.len()
            }
        };
        let is_client = |client: &[u8]| !is_after_words || is_address(client) || client == b"@";
        if known.format.fills(Field::Client) && !record.text(Field::Client).is_some_and(is_client) {
            return None;
        }
        let host = record.text(Field::Host);
        let is_named = matches!(known.format.program(), Program::Line(_));
        if is_named && !host.is_none_or(evidence::is_virtual_host) {
            return None;
        }
        if host.is_none() && has_urls(&known.format) {
            return None;
        }
        let begins_with_host = begins_with_host(&known.format);
        // After words, a name of one label is one more of them.
        if begins_with_host && is_after_words && !host.is_some_and(|host| host.contains(&b'.')) {
            return None;
        }
        if let (true, Some(host), Some(client)) =
            (begins_with_host, host, record.text(Field::Client))
        {
            first_values.push((host.to_vec(), client.to_vec()));
            if self.are_forwarded && is_address(host) {
                return None;
            }
        }
        let fields = Field::TEXT.iter().filter(|field| record.text(**field).is_some()).count();
        let extra = (0..known.format.extra_fields().len())
            .filter(|index| record.extra(*index).is_some())
            .count();
        Some((fields + extra, end))
    }
}

/// Whether what stands after a line is no tail: the rest of a torn line, with a quote that is not
/// closed, or another line.
fn is_torn(line: &[u8], at: usize) -> bool {
    let is_open = |value: TailValue<'_>| value.quote == Quote::None && value.text.contains(&b'"');
    memchr::memmem::find(&line[at..], b" HTTP/").is_some()
        || TailValues::new(line, at).is_none_or(|mut values| values.any(is_open))
}

/// The format of lines with the same known line inside and the same kinds of parts before it.
fn format_of(base: &Base, lines: &[(&[u8], Found)]) -> Format {
    let (mut tails, mut heads) = (TailSample::default(), HeadSample::default());
    for (line, found) in lines {
        tails.add(&line[found.start..], found.tail - found.start);
        // A format with virtual hosts has one before the client.
        let hosts = usize::from(begins_with_host(&base.format));
        let mut words = line[found.start..].split(|byte| *byte == b' ');
        let client = words.nth(hosts).unwrap_or_default();
        heads.add(&line[..found.start], line, client);
    }
    let definition = base.definition.as_ref();
    let tailed = definition.and_then(|text| tails.put_after(&base.format, text));
    let format = tailed.unwrap_or_else(|| Format::clone(&base.format));
    if heads.is_empty() { format } else { heads.put_before(format) }
}
