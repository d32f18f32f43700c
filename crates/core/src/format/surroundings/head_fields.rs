//! The fields of the parts before a known line, from a sample of them.

use std::fmt;

use super::evidence::{FORWARDED_FOR, FirstValues};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::program::head::{
    ForwardedFields, Head, HeadKind, HeadSink, TIME, is_stream, part_at, pod_names, skip_blanks,
};
use crate::format::program::sink::is_address;

/// The parts before some lines, which are of the same kinds in all of them.
#[derive(Debug, Default)]
pub(super) struct HeadSample {
    parts: Vec<PartSample>,
}

/// The texts of one part.
#[derive(Debug)]
struct PartSample {
    kind: HeadKind,
    first_values: FirstValues,
    lines: u64,
    pods: u64,
    streams: u64,
    /// Words that may be the name of a host: they are no numbers.
    hosts: u64,
}

impl HeadSample {
    /// Adds the parts before a line, whose client is `client`.
    pub(super) fn add(&mut self, head: &[u8], line: &[u8], client: &[u8]) {
        let (mut at, mut index) = (skip_blanks(line, 0), 0);
        while at < head.len() {
            let Some(part) = part_at(line, at) else { break };
            if self.parts.len() == index {
                self.parts.push(PartSample::new(part.kind));
            }
            self.parts[index].add(part.text, client);
            (at, index) = (part.next, index + 1);
        }
    }

    /// Whether nothing stands before the lines.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The format of lines in `format` with these parts before them.
    pub(super) fn put_before(&self, mut format: Format) -> Format {
        let mut forwarded = None;
        let mut parts = Vec::new();
        let last = self.parts.len().saturating_sub(1);
        for (index, part) in self.parts.iter().enumerate() {
            let next = self.parts.get(index + 1).map(|part| part.kind);
            let is_client = format.fills(Field::Client) && index == last;
            let sink = match part.kind {
                HeadKind::Time => HeadSink::Skip,
                HeadKind::Name => HeadSink::Extra(format.add_extra_field("container")),
                HeadKind::Tag => HeadSink::Extra(format.add_extra_field("syslog_tag")),
                HeadKind::Bracket if part.pods == part.lines => HeadSink::Pod {
                    pod: format.add_extra_field("pod"),
                    container: format.add_extra_field("container"),
                },
                _ if is_client && part.first_values.are_forwarded() => {
                    let header = format.add_extra_field(FORWARDED_FOR);
                    forwarded =
                        Some(ForwardedFields { header, peer: format.add_extra_field("peer") });
                    HeadSink::Extra(header)
                }
                HeadKind::Word if next == Some(HeadKind::Tag) && part.hosts == part.lines => {
                    HeadSink::Extra(format.add_extra_field("syslog_host"))
                }
                HeadKind::Word if part.streams == part.lines => {
                    HeadSink::Extra(format.add_extra_field("stream"))
                }
                _ => {
                    HeadSink::Extra(format.add_extra_field(&format!("extra_before_{}", index + 1)))
                }
            };
            parts.push((part.kind, sink));
        }
        let names = PartNames::of(&parts, &format);
        let name = format!("{} after {names}", format.name());
        let head: Vec<String> = parts.iter().map(|part| part_text(part, &format)).collect();
        let line = format.suggested_definition().unwrap_or(format.name());
        let suggestion = format!("{line} after {}", head.join(" "));
        let mut format = format.with_name(&name);
        format.set_head(Head { parts, forwarded });
        format.set_suggestion(suggestion);
        format
    }
}

/// A part as it is written in a definition.
fn part_text(&(kind, sink): &(HeadKind, HeadSink), format: &Format) -> String {
    let variable = |index: usize| format!("${}", format.extra_fields()[index]);
    let text = match sink {
        HeadSink::Skip | HeadSink::Time => return TIME.to_owned(),
        HeadSink::Extra(index) => variable(index),
        HeadSink::Pod { pod, container } => {
            format!("pod/{}/{}", variable(pod), variable(container))
        }
    };
    match kind {
        HeadKind::Time | HeadKind::Word => text,
        HeadKind::Name => format!("{text} |"),
        HeadKind::Bracket => format!("[{text}]"),
        HeadKind::Quote => format!("\"{text}\""),
        HeadKind::Tag => format!("{text}:"),
    }
}

/// The names of parts in the name of a format: `time, host and program`, `time and 2 values`.
#[derive(Debug, Default)]
pub(super) struct PartNames {
    names: Vec<(&'static str, usize)>,
}

impl PartNames {
    /// The names of the parts before the lines of a format, which has their fields.
    pub(super) fn of(parts: &[(HeadKind, HeadSink)], format: &Format) -> Self {
        let mut names = Self::default();
        for (kind, sink) in parts {
            let field = match sink {
                HeadSink::Extra(index) => format.extra_fields()[*index].as_str(),
                _ => "",
            };
            names.add(match (kind, sink, field) {
                (HeadKind::Time, ..) => "time",
                (HeadKind::Name, ..) => "container",
                (HeadKind::Tag, ..) => "program",
                (_, HeadSink::Pod { .. }, _) => "pod",
                (.., FORWARDED_FOR) => "X-Forwarded-For",
                (.., "syslog_host") => "host",
                (.., "stream") => "stream",
                _ => "value",
            });
        }
        names
    }

    fn add(&mut self, name: &'static str) {
        match self.names.last_mut().filter(|(last, _)| *last == name) {
            Some((_, count)) => *count += 1,
            None => self.names.push((name, 1)),
        }
    }
}

impl fmt::Display for PartNames {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.names.len().saturating_sub(1);
        for (index, (name, count)) in self.names.iter().enumerate() {
            let separator = match index {
                0 => "",
                _ if index == last => " and ",
                _ => ", ",
            };
            match count {
                1 => write!(out, "{separator}{name}")?,
                _ => write!(out, "{separator}{count} {name}s")?,
            }
        }
        Ok(())
    }
}

impl PartSample {
    fn new(kind: HeadKind) -> Self {
        Self { kind, first_values: FirstValues::default(), lines: 0, pods: 0, streams: 0, hosts: 0 }
    }

    fn add(&mut self, text: &[u8], client: &[u8]) {
        self.lines += 1;
        self.first_values.add(text, client);
        self.pods += u64::from(pod_names(text).is_some());
        self.streams += u64::from(is_stream(text));
        self.hosts += u64::from(is_address(text) || text.iter().any(u8::is_ascii_alphabetic));
    }
}
