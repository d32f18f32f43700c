//! The fields of the parts before a known line, from a sample of them.

use super::evidence::{FORWARDED_FOR, FirstValues};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::program::head::{
    ForwardedFields, Head, HeadKind, HeadSink, part_at, pod_names, skip_blanks,
};

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
                HeadKind::Word if next == Some(HeadKind::Tag) => {
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
        let mut kinds: Vec<&str> = self.parts.iter().map(|part| part.kind.name()).collect();
        if forwarded.is_some() {
            kinds[last] = "X-FORWARDED-FOR";
        }
        let name = format!("{} after {}", format.name(), kinds.join(" "));
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
        HeadSink::Skip => return kind.name().to_owned(),
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

impl PartSample {
    fn new(kind: HeadKind) -> Self {
        Self { kind, first_values: FirstValues::default(), lines: 0, pods: 0, streams: 0 }
    }

    fn add(&mut self, text: &[u8], client: &[u8]) {
        self.lines += 1;
        self.first_values.add(text, client);
        self.pods += u64::from(pod_names(text).is_some());
        self.streams += u64::from(matches!(text, b"stdout" | b"stderr"));
    }
}
