//! JSON objects around the lines of another format.

use std::sync::Arc;

use super::MEMBERS_MAX;
use super::names::{make_unique, name_beside_line};
use super::sample::MemberSample;
use crate::format::compiled::Format;
use crate::format::program::json::EnvelopeShape;
use crate::format::program::keyed::MemberSyntax;

/// The most members in which a line is looked for.
const TRIED_MAX: usize = 4;

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

/// The texts of a member, as lines.
#[derive(Debug, Default)]
struct Texts {
    lines: u64,
    bytes: Vec<u8>,
}

/// The formats of lines that stand in a member of the objects in these lines. `detect` returns
/// the format of the lines inside and the number of fields that it reads, and `bytes_max` the most bytes for it.
pub(in crate::format) fn enveloped_formats<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    bytes_max: usize,
    detect: impl Fn(&[u8]) -> Option<(u64, Arc<Format>)>,
) -> Vec<Arc<Format>> {
    let (mut sample, mut texts) = (MemberSample::default(), Vec::<Texts>::new());
    for line in lines {
        sample.add(MemberSyntax::Json, line, |index, text| {
            texts.resize_with(texts.len().max(index + 1), Texts::default);
            texts[index].add(text, bytes_max);
        });
    }
    let mut indices: Vec<usize> =
        (0..texts.len()).filter(|index| texts[*index].lines > 0).collect();
    indices.sort_by_key(|index| std::cmp::Reverse(texts[*index].bytes.len()));
    let inside = |index: &usize| {
        let (fields, format) = detect(&texts[*index].bytes)?;
        Some((fields, *index, format))
    };
    let best = indices.iter().take(TRIED_MAX).filter_map(inside).max_by_key(|(fields, ..)| *fields);
    let format =
        best.and_then(|(_, index, format)| format.in_envelope(shape(&sample, index)).map(Arc::new));
    format.into_iter().collect()
}

impl Texts {
    /// Adds a text if it may be a line: several words, or an object.
    fn add(&mut self, text: &[u8], bytes_max: usize) {
        let text = text.trim_ascii_end();
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
    let others = sample.scalars().filter(|member| member.path != line).take(MEMBERS_MAX);
    let paths: Vec<String> = others.map(|member| member.path.clone()).collect();
    let mut names: Vec<String> = paths.iter().map(|path| name_beside_line(path)).collect();
    make_unique(&mut names, &[]);
    let time = TIMES.into_iter().find(|time| sample.get(time).is_some()).map(str::to_owned);
    EnvelopeShape { line, time, fields: names.into_iter().zip(paths).collect() }
}
