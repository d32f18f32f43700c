//! Apache's `LogFormat`.
//!
//! ```text
//! LogFormat "%h %l %u %t \"%r\" %>s %b" common   the whole directive
//! "%h %l %u %t \"%r\" %>s %b"                    its quoted string
//! %h %l %u %t "%r" %>s %b                        the bare text
//! ```
//!
//! A directive is `%`, modifiers, an argument in braces and a letter: `%>s`, `%{Referer}i`,
//! `%!200,304s`. Modifiers that select statuses do not change how a value is read.
//!
//! Sources: the documentation of mod_log_config and mod_logio, and `parse_log_item` and
//! `parse_log_misc_string` in mod_log_config.c (modifiers and the name in braces come in
//! any order; a backslash stands for a control character before `n`, `r` and `t`).

mod directive;
mod text;

pub(super) use self::text::is_directive;

use self::directive::{Directive, Meaning};
use self::text::text_of;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::notation::builder::{FormatBuilder, Variable};
use crate::format::notation::positioned::Positioned;
use crate::format::notation::quotes::check_quotes;
use crate::format::program::sink::Sink;

/// Compiles the whole directive (`LogFormat "..." combined`), its quoted string, or the
/// bare text of a format.
pub(super) fn compile(definition: &str) -> Result<Format, FormatError> {
    let text = text_of(definition)?;
    check_quotes(definition, &text, b'%')?;
    let items = items(definition, &text)?;
    let mut builder = FormatBuilder::new(definition, true);
    let mut index = 0;
    while index < items.len() {
        index += match &items[index..] {
            [Item::Directive(host), Item::Text(colon), Item::Directive(port), ..]
                if host.is_host() && port.is_server_port() && colon == b":" =>
            {
                builder.value(Variable {
                    sink: Sink::HostAndPort { port: 0 },
                    rank: host.rank(),
                    name: "%v:%p".to_owned(),
                    field_name: "server_name".to_owned(),
                    at: host.at,
                });
                3
            }
            _ => {
                add(&items, index, &mut builder);
                1
            }
        };
    }
    builder.finish()
}

/// A piece of the format.
enum Item {
    Text(Vec<u8>),
    Directive(Directive),
}

/// Splits the format into text and directives.
fn items(definition: &str, text: &[Positioned]) -> Result<Vec<Item>, FormatError> {
    let mut items = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let literal = match (text[at].0, text.get(at + 1).map(|(byte, _)| *byte)) {
            (b'%', Some(b'%')) => b'%',
            (b'%', _) => {
                let (directive, end) = Directive::read(definition, text, at)?;
                items.push(Item::Directive(directive));
                at = end;
                continue;
            }
            (b'\\', Some(b'n')) => b'\n',
            (b'\\', Some(b'r')) => b'\r',
            (b'\\', Some(b't')) => b'\t',
            (byte, _) => {
                push_text(&mut items, byte);
                at += 1;
                continue;
            }
        };
        push_text(&mut items, literal);
        at += 2;
    }
    Ok(items)
}

/// Appends a byte to the last text, or begins a new one.
fn push_text(items: &mut Vec<Item>, byte: u8) {
    match items.last_mut() {
        Some(Item::Text(text)) => text.push(byte),
        _ => items.push(Item::Text(vec![byte])),
    }
}

/// Adds the item at `index`.
fn add(items: &[Item], index: usize, builder: &mut FormatBuilder<'_>) {
    let directive = match &items[index] {
        Item::Text(text) => return builder.text(text),
        Item::Directive(directive) => directive,
    };
    let Meaning { sink, field_name, has_brackets } = directive.meaning();
    let is_other_time = directive.is_time_of_end() && items.iter().any(Item::is_time_of_begin);
    if has_brackets {
        builder.text(b"[");
    }
    builder.value(Variable {
        // Parts of two different times must not be combined.
        sink: if is_other_time { Sink::Extra(0) } else { sink },
        rank: directive.rank(),
        name: directive.source.clone(),
        field_name,
        at: directive.at,
    });
    if has_brackets {
        builder.text(b"]");
    }
}

impl Item {
    /// Whether the item is the time of the request, not that of the response.
    fn is_time_of_begin(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Directive(directive) => directive.is_time() && !directive.is_time_of_end(),
        }
    }
}
