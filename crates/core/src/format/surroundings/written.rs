//! A known format with what stands around its lines, as a person writes it.
//!
//! ```text
//! COMBINED and rt=$request_time "$tls" [$pool] after TIME $container |
//! `------' `-- values after the line --------'       `- parts before -'
//! ```
//!
//! Values and parts have the form that they have in the log, with a variable for their text. It is
//! read as a format that was found in a log: keyed values may be missing and in any order.

use super::evidence::FORWARDED_FOR;
use super::head_fields::PartNames;
use crate::field::Field;
use crate::format::catalog::format_by_name;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::notation::{Variable, variable_at};
use crate::format::program::Program;
use crate::format::program::head::{ForwardedFields, Head, HeadKind, HeadSink, PARTS_MAX, TIME};
use crate::format::program::sink::Sink;
use crate::format::program::tail::{MORE_VALUES, Tail, TailValues};

/// The most values after a line.
const VALUES_MAX: usize = 256;

/// Compiles a known format with what stands around its lines. `None` if the text is no such thing.
///
/// # Errors
/// If the text after the name has a mistake.
pub(in crate::format) fn written_surroundings(text: &str) -> Option<Result<Format, FormatError>> {
    let name = text.split_whitespace().next()?;
    let name_end = text.find(name)? + name.len();
    let rest = text[name_end..].trim_start();
    let rest_at = text.len() - rest.len();
    let is_known = rest.starts_with("and ") || rest.starts_with("after ");
    let format = format_by_name(name).filter(|_| is_known)?;
    Some(compile(text, rest_at, format.clone()))
}

/// Adds to a format what a definition has from `at` on.
fn compile(definition: &str, at: usize, mut format: Format) -> Result<Format, FormatError> {
    if !format.may_be_surrounded() {
        let message = format!("nothing may stand around the lines of {}", format.name());
        return Err(FormatError::new(definition, at, message));
    }
    // Before a first ` after ` there may be no values.
    let before = at.saturating_sub(1);
    let head = definition[before..].find(" after ").map(|found| before + found);
    if definition[at..].starts_with("and ") {
        let tail = at + "and ".len()..head.unwrap_or(definition.len()).max(at + "and ".len());
        format = with_tail(definition, tail, &format)?;
    }
    if let Some(head) = head {
        format = with_head(definition, head + " after ".len(), format)?;
    }
    format.set_suggestion(definition.trim().to_owned());
    Ok(format)
}

/// The format with the values after its lines that stand in a range of the definition.
fn with_tail(
    definition: &str,
    range: std::ops::Range<usize>,
    base: &Format,
) -> Result<Format, FormatError> {
    let Program::Line(program) = base.program() else {
        let message = format!("no values may follow the lines of {}", base.name());
        return Err(FormatError::new(definition, range.start, message));
    };
    let mut format = base.clone();
    let (mut keys, mut places) = (Vec::new(), Vec::new());
    let line = &definition.as_bytes()[..range.end];
    for value in TailValues::new(line, range.start).into_iter().flatten() {
        // The tokens of a line end at ASCII characters.
        let text = String::from_utf8_lossy(value.text);
        let at = definition[value.start..].find(&*text).map_or(value.start, |it| value.start + it);
        let sink = sink_in(&mut format, variable_at(definition, &text, at)?);
        match value.key {
            Some(key) => keys.push((key.to_vec(), sink)),
            None => places.push(sink),
        }
        if keys.len() + places.len() > VALUES_MAX {
            let message = format!("the format has more than {VALUES_MAX} values; remove some");
            return Err(FormatError::new(definition, at, message));
        }
    }
    let values = keys.len() + places.len();
    if values == 0 {
        let message = "write the values that follow the line, such as $extra_1 or rt=$request_time";
        return Err(FormatError::new(definition, range.start, message));
    }
    let more = format.add_extra_field(MORE_VALUES);
    let program = program.clone().with_tail(Tail { keys, places, more });
    format.set_tail(definition.trim().to_owned(), Program::Line(program));
    let plural = if values == 1 { "" } else { "s" };
    let name = format!("{} and {values} more value{plural}", base.name());
    Ok(format.with_name(&name))
}

/// The sink of a variable in a format, whose fields it gets unless one of them is taken.
fn sink_in(format: &mut Format, variable: Variable) -> Sink {
    let Variable { sink, field_name, .. } = variable;
    let fields = sink.fields().to_vec();
    let is_taken = !sink.is_part() && fields.iter().any(|field| format.fills(*field));
    match sink {
        Sink::Skip => Sink::Skip,
        Sink::Number(_) => Sink::Number(format.add_extra_field(&field_name)),
        sink if !is_taken && !fields.is_empty() && !matches!(sink, Sink::ForwardedFor { .. }) => {
            for field in fields {
                format.add_field(field);
            }
            match sink {
                Sink::HostAndPort { .. } => {
                    Sink::HostAndPort { port: format.add_extra_field("port") }
                }
                Sink::ClientAndPort { .. } => {
                    Sink::ClientAndPort { port: format.add_extra_field("client_port") }
                }
                sink => sink,
            }
        }
        _ => Sink::Extra(format.add_extra_field(&field_name)),
    }
}

/// The format with the parts before its lines that stand in a definition from `at` on.
fn with_head(definition: &str, at: usize, format: Format) -> Result<Format, FormatError> {
    let mut reader = HeadText { definition, format, forwarded: None };
    let (mut parts, mut from) = (Vec::new(), at);
    while let Some((start, word)) = word_at(definition, from) {
        from = start + word.len();
        let next = word_at(definition, from);
        let is_name = next.is_some_and(|(_, word)| word == "|");
        let is_last = !is_name && next.is_none();
        if let Some((bar, _)) = next.filter(|_| is_name) {
            from = bar + 1;
        }
        parts.push(reader.part(start, word, is_name, is_last)?);
    }
    if parts.is_empty() || parts.len() > PARTS_MAX {
        let message = format!(
            "write 1 to {PARTS_MAX} parts that stand before the line, such as TIME or $container |"
        );
        return Err(FormatError::new(definition, at.min(definition.len()), message));
    }
    let HeadText { mut format, forwarded, .. } = reader;
    let name = format!("{} after {}", format.name(), PartNames::of(&parts, &format));
    format.set_head(Head { parts, forwarded });
    Ok(format.with_name(&name))
}

/// The next word of a text from an offset on, and its offset.
fn word_at(text: &str, from: usize) -> Option<(usize, &str)> {
    let rest = text.get(from..)?;
    let word = rest.split_whitespace().next()?;
    Some((from + rest.find(word)?, word))
}

/// Reads the parts of a head, and adds their fields to the format.
struct HeadText<'a> {
    definition: &'a str,
    format: Format,
    forwarded: Option<ForwardedFields>,
}

impl HeadText<'_> {
    /// The part of a word at an offset: `is_name` if a bar follows it, `is_last` if nothing does.
    fn part(
        &mut self,
        at: usize,
        word: &str,
        is_name: bool,
        is_last: bool,
    ) -> Result<(HeadKind, HeadSink), FormatError> {
        if word == TIME {
            return Ok((HeadKind::Time, HeadSink::Skip));
        }
        let inside = |open, close| word.strip_prefix(open).and_then(|it| it.strip_suffix(close));
        if let Some((pod, container)) =
            inside("[pod/", "]").and_then(|names: &str| names.split_once('/'))
        {
            let pod = self.field(at, pod)?;
            return Ok((
                HeadKind::Bracket,
                HeadSink::Pod { pod, container: self.field(at, container)? },
            ));
        }
        let (kind, variable) = if is_name {
            (HeadKind::Name, word)
        } else if let Some(text) = inside("[", "]") {
            (HeadKind::Bracket, text)
        } else if let Some(text) = inside("\"", "\"") {
            (HeadKind::Quote, text)
        } else if let Some(tag) = word.strip_suffix(':') {
            (HeadKind::Tag, tag)
        } else {
            (HeadKind::Word, word)
        };
        if variable == "$_" {
            return Ok((kind, HeadSink::Skip));
        }
        let index = self.field(at, variable)?;
        let is_client = is_last && self.format.fills(Field::Client);
        if is_client && self.format.extra_fields()[index] == FORWARDED_FOR {
            let peer = self.format.add_extra_field("peer");
            self.forwarded = Some(ForwardedFields { header: index, peer });
        }
        Ok((kind, HeadSink::Extra(index)))
    }

    /// The index of the extra field of a variable.
    fn field(&mut self, at: usize, variable: &str) -> Result<usize, FormatError> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match variable.strip_prefix('$') {
            Some(name) if !name.is_empty() && name.bytes().all(is_name) => {
                Ok(self.format.add_extra_field(name))
            }
            _ => {
                let message =
                    "write TIME or a name here, such as $container |, [$pool], $tag: or $host";
                Err(FormatError::new(self.definition, at, message))
            }
        }
    }
}

impl Format {
    /// Whether the format is a known one with values after its lines or parts before them, which
    /// were found in the log.
    pub(in crate::format) fn is_surrounded(&self) -> bool {
        self.suggested_definition().is_some()
    }

    /// The names of the fields whose values have no name in the log: `extra_1`, `extra_before_1`.
    pub fn unnamed_fields(&self) -> Vec<&str> {
        let fields = self.extra_fields().iter().filter(|_| self.is_surrounded());
        let is_unnamed = |name: &&str| {
            let number = name.strip_prefix("extra_before_").or(name.strip_prefix("extra_"));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        fields.map(String::as_str).filter(is_unnamed).collect()
    }
}
