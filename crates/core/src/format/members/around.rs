//! JSON objects around the lines of another format.

use std::sync::Arc;

use super::MEMBERS_MAX;
use super::names::{make_unique, name_beside_line};
use super::sample::{MemberSample, MemberValue};
use crate::format::compiled::Format;
use crate::format::program::json::EnvelopeShape;
use crate::format::program::keyed::MemberSyntax;

/// The most members whose texts are tried as lines.
const TEXTS_TRIED_MAX: usize = 4;

/// The most members whose objects are tried.
const OBJECTS_TRIED_MAX: usize = 3;

/// The members in which collectors put lines, among other texts of the same machine. Of another member most
/// objects must hold a line: a client can send one as its user agent.
const LINE_MEMBERS: [&str; 12] = [
    "message",
    "msg",
    "log",
    "logs",
    "line",
    "text",
    "textPayload",
    "body",
    "original",
    "event",
    "data",
    "raw",
];

/// A shorter text is not a line.
const LINE_BYTES_MIN: usize = 16;

/// The members of an object that may have its time, in the order of preference. A line inside has its own.
const TIMES: [&str; 8] = [
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "_SOURCE_REALTIME_TIMESTAMP",
    "__REALTIME_TIMESTAMP",
    "date",
    "receiveTimestamp",
];

/// The format of the lines in a member.
pub(in crate::format) struct InsideFormat {
    pub(in crate::format) format: Arc<Format>,
    /// The number of fields that it reads.
    pub(in crate::format) fields: u64,
    /// The number of lines that it reads.
    pub(in crate::format) lines: u64,
}

/// The texts of a member, as lines.
#[derive(Debug, Default)]
struct Texts {
    lines: u64,
    bytes: Vec<u8>,
}

/// The formats of lines that stand in a member of the objects in these lines. `detect` returns the format of
/// lines, and `bytes_max` is the most bytes for it, for all members together.
pub(in crate::format) fn enveloped_formats<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    bytes_max: usize,
    detect: impl Fn(&[u8]) -> Option<InsideFormat>,
) -> Vec<Arc<Format>> {
    let mut sample = MemberSample::default();
    let (mut texts, mut objects) = (Vec::<Texts>::new(), Vec::<Texts>::new());
    for line in lines {
        sample.add(MemberSyntax::Json, line, |index, value| {
            let (values, text) = match value {
                MemberValue::Text(text) => (&mut texts, text.trim_ascii_end()),
                MemberValue::Object(object) => (&mut objects, object),
            };
            values.resize_with(values.len().max(index + 1), Texts::default);
            values[index].add(text, bytes_max);
        });
    }
    let best_of = |texts: &[Texts], tried_max| {
        let mut indices: Vec<usize> =
            (0..texts.len()).filter(|index| texts[*index].lines > 0).collect();
        indices.sort_by_key(|index| std::cmp::Reverse(texts[*index].bytes.len()));
        indices.truncate(tried_max);
        let share = bytes_max / indices.len().max(1);
        let inside = |index: &usize| {
            let inside = detect(texts[*index].first(share))?;
            let is_most = inside.lines * 2 > sample.lines;
            (is_most || holds_lines(&sample.members[*index].path)).then_some((*index, inside))
        };
        indices.iter().filter_map(inside).max_by_key(|(_, inside)| inside.fields)
    };
    // An object around the member is tried only if no text is a line.
    let best = best_of(&texts, TEXTS_TRIED_MAX).or_else(|| best_of(&objects, OBJECTS_TRIED_MAX));
    let format = best.and_then(|(index, inside)| inside.format.in_envelope(shape(&sample, index)));
    let format = format.map(Arc::new);
    format.into_iter().collect()
}

/// Whether collectors put lines in a member of this path.
fn holds_lines(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path).trim_start_matches('@');
    LINE_MEMBERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl Texts {
    /// The first lines, of at most so many bytes.
    fn first(&self, bytes_max: usize) -> &[u8] {
        let Some(first) = self.bytes.get(..bytes_max) else { return &self.bytes };
        &first[..memchr::memrchr(b'\n', first).map_or(0, |end| end + 1)]
    }

    /// Adds a text if it may be a line: several words, or an object.
    fn add(&mut self, text: &[u8], bytes_max: usize) {
        let has_form = text.contains(&b' ') || text.starts_with(b"{");
        let has_room = self.bytes.len() + text.len() < bytes_max;
        if text.len() >= LINE_BYTES_MIN && has_form && has_room && !text.contains(&b'\n') {
            self.bytes.extend_from_slice(text);
            self.bytes.push(b'\n');
            self.lines += 1;
        }
    }
}

/// The members of the objects, of which one holds the line.
fn shape(sample: &MemberSample, line: usize) -> EnvelopeShape {
    let line = sample.members[line].path.clone();
    let is_inside = |path: &str| {
        path.strip_prefix(&line).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let others = sample.scalars().filter(|member| !is_inside(&member.path)).take(MEMBERS_MAX);
    let paths: Vec<String> = others.map(|member| member.path.clone()).collect();
    let mut names: Vec<String> = paths.iter().map(|path| name_beside_line(path)).collect();
    make_unique(&mut names, &[]);
    let time = TIMES.into_iter().find(|time| sample.get(time).is_some()).map(str::to_owned);
    EnvelopeShape { line, time, fields: names.into_iter().zip(paths).collect() }
}
