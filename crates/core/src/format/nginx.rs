//! nginx's `log_format`.
//!
//! Sources: the documentation of ngx_http_log_module, and `ngx_http_log_compile_format`
//! (variables are `[A-Za-z0-9_]+` behind `$`, or in braces) and `ngx_conf_read_token`
//! (quoting and escapes of the configuration file) in nginx's source.

use super::builder::{FormatBuilder, Variable};
use super::notation::Item;
use super::target::Target;
use super::{Format, FormatError, json};
use crate::field::Field;
use crate::value::TimeKind;

/// A character of the format and where it stands in the definition.
pub(super) type Positioned = (u8, usize);

/// Compiles the whole directive (`log_format main '...' '...';`), its quoted strings, or
/// the bare text of a format.
pub(super) fn compile(definition: &str) -> Result<Format, FormatError> {
    let (text, escape) = unquote(definition)?;
    let compiled = compile_text(definition, &text, escape);
    if compiled.is_err() && is_quoted(definition) {
        // `"$status" "$request"` may be strings of the configuration, which leave nothing
        // between the variables, or the bare text of a format.
        let bare: Vec<Positioned> = definition.trim().bytes().zip(start_of(definition)..).collect();
        return compile_text(definition, &bare, Escape::Default).or(compiled);
    }
    compiled
}

fn compile_text(
    definition: &str,
    text: &[Positioned],
    escape: Escape,
) -> Result<Format, FormatError> {
    if escape == Escape::Json
        && let Some(format) = json::compile_template(definition, text)?
    {
        return Ok(format);
    }
    let mut builder = FormatBuilder::new(definition, escape != Escape::None);
    add_pieces(definition, text, &mut builder)?;
    builder.finish()
}

/// Adds text and variables to a format.
pub(super) fn add_pieces(
    definition: &str,
    text: &[Positioned],
    builder: &mut FormatBuilder<'_>,
) -> Result<(), FormatError> {
    let mut at = 0;
    while at < text.len() {
        if text[at].0 == b'$' {
            at = variable(definition, text, at, builder)?;
        } else {
            builder.text(&[text[at].0]);
            at += 1;
        }
    }
    Ok(())
}

/// How nginx escapes the values: decides whether a quote can stand inside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Default,
    Json,
    None,
}

/// Adds the variable at `at` and returns where it ends.
fn variable(
    definition: &str,
    text: &[Positioned],
    at: usize,
    builder: &mut FormatBuilder<'_>,
) -> Result<usize, FormatError> {
    let position = text[at].1;
    let braced = text.get(at + 1).is_some_and(|(byte, _)| *byte == b'{');
    let start = at + 1 + usize::from(braced);
    if braced && let Some(end) = described(definition, text, start, builder)? {
        return Ok(end);
    }
    let is_name = |(byte, _): &&Positioned| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text[start..].iter().take_while(is_name).count();
    let end = start + length;
    if length == 0 {
        let message = "a variable's name must follow the `$`";
        return Err(FormatError::new(definition, position, message));
    }
    if braced && text.get(end).is_none_or(|(byte, _)| *byte != b'}') {
        return Err(FormatError::new(definition, position, "the `{` has no `}`"));
    }
    let name: String = text[start..end].iter().map(|(byte, _)| char::from(*byte)).collect();
    builder.value(Variable {
        target: target(&name),
        rank: rank(&name),
        name: format!("${name}"),
        field_name: name,
        at: position,
    });
    Ok(end + usize::from(braced))
}

/// Adds what stands in braces where that is more than a name, such as `request_time(ms)`: the
/// value is described then, not named. Returns where it ends.
fn described(
    definition: &str,
    text: &[Positioned],
    start: usize,
    builder: &mut FormatBuilder<'_>,
) -> Result<Option<usize>, FormatError> {
    let Some(length) = text[start..].iter().position(|(byte, _)| *byte == b'}') else {
        return Ok(None);
    };
    let inside: Vec<u8> = text[start..start + length].iter().map(|(byte, _)| *byte).collect();
    let Ok(inside) = String::from_utf8(inside) else { return Ok(None) };
    if !inside.contains(['(', '=']) {
        return Ok(None);
    }
    let item = Item { definition, text: &inside, at: text[start].1 };
    builder.value(item.variable()?);
    Ok(Some(start + length + 1))
}

/// Which of several variables for one field fills it: the lowest, then the first. The
/// request line is more than its parts, and the body's bytes are what `combined` logs.
fn rank(name: &str) -> u8 {
    match name {
        "request_uri" | "request_method" | "server_protocol" | "bytes_sent" => 1,
        "uri" | "document_uri" | "args" | "query_string" => 2,
        _ => 0,
    }
}

/// What a variable means; an unknown one is text under its own name.
fn target(name: &str) -> Target {
    match name {
        "remote_addr" => Target::Client,
        "remote_user" => Target::Text(Field::User),
        "host" | "http_host" | "server_name" => Target::Text(Field::Host),
        "time_local" => Target::Time(TimeKind::Clf),
        "time_iso8601" => Target::Time(TimeKind::Iso8601),
        "msec" => Target::Time(TimeKind::UnixSeconds),
        "request" => Target::RequestLine,
        "request_method" => Target::Text(Field::Method),
        "request_uri" => Target::PathAndQuery,
        "uri" | "document_uri" => Target::Text(Field::Path),
        "args" | "query_string" => Target::Text(Field::Query),
        "is_args" => Target::Skip,
        "server_protocol" => Target::Text(Field::Protocol),
        "status" => Target::Status,
        "body_bytes_sent" | "bytes_sent" => Target::Bytes,
        "http_referer" => Target::Text(Field::Referer),
        "http_user_agent" => Target::Text(Field::UserAgent),
        "request_time" => Target::RequestTime { unit_ns: 1_000_000_000 },
        "upstream_response_time" => Target::UpstreamTimes,
        _ => Target::Extra(0),
    }
}

/// Takes the text of the format out of the configuration's syntax.
fn unquote(definition: &str) -> Result<(Vec<Positioned>, Escape), FormatError> {
    let start = start_of(definition);
    let rest = &definition[start..];
    let is_directive =
        rest.strip_prefix("log_format").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    if !is_directive && !is_quoted(definition) {
        let bare = definition.trim_end();
        return Ok((bare.bytes().zip(0..).skip(start).collect(), Escape::Default));
    }
    let mut tokens = Tokens { definition, at: start };
    if is_directive {
        tokens.next()?;
        if tokens.next()?.is_none() {
            return Err(FormatError::new(definition, definition.len(), "the format has no name"));
        }
    }
    let mut text = Vec::new();
    let mut escape = Escape::Default;
    while let Some(token) = tokens.next()? {
        match token.strip_bare(definition) {
            Some("escape=default") => {}
            Some("escape=json") => escape = Escape::Json,
            Some("escape=none") => escape = Escape::None,
            Some(bare) if bare.starts_with("escape=") => {
                let message = "escape is one of default, json and none";
                return Err(FormatError::new(definition, token.start, message));
            }
            _ => text.extend(token.text),
        }
    }
    Ok((text, escape))
}

/// Where the definition starts, behind white space.
fn start_of(definition: &str) -> usize {
    definition.len() - definition.trim_start().len()
}

/// True for quoted strings alone, as they stand in nginx.conf.
fn is_quoted(definition: &str) -> bool {
    let rest = definition.trim_start();
    rest.starts_with(['\'', '"']) && closes_as_configuration(rest)
}

/// Bare formats can start with a quote too (`"$request" $status`). The configuration's
/// notation is strings and nothing else, up to a semicolon.
fn closes_as_configuration(text: &str) -> bool {
    let mut tokens = Tokens { definition: text, at: 0 };
    loop {
        match tokens.next() {
            Ok(Some(token)) if token.quoted => {}
            Ok(Some(_)) | Err(_) => return false,
            Ok(None) => return true,
        }
    }
}

/// Splits nginx.conf into words.
struct Tokens<'a> {
    definition: &'a str,
    at: usize,
}

struct Token {
    text: Vec<Positioned>,
    quoted: bool,
    start: usize,
}

impl Token {
    /// The word, where it is not quoted.
    fn strip_bare<'a>(&self, definition: &'a str) -> Option<&'a str> {
        let (_, last) = self.text.last()?;
        (!self.quoted).then(|| &definition[self.start..=*last])
    }
}

impl Tokens<'_> {
    /// The next word; `None` at a semicolon or the end.
    fn next(&mut self) -> Result<Option<Token>, FormatError> {
        let bytes = self.definition.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        match bytes.get(self.at) {
            None => Ok(None),
            Some(b';') => self.only_space_follows(),
            Some(quote @ (b'\'' | b'"')) => self.quoted(*quote).map(Some),
            Some(_) => Ok(Some(self.bare())),
        }
    }

    fn only_space_follows(&self) -> Result<Option<Token>, FormatError> {
        if self.definition[self.at + 1..].trim().is_empty() {
            return Ok(None);
        }
        let message = "the directive ends at this semicolon, but more follows; give one log_format";
        Err(FormatError::new(self.definition, self.at, message))
    }

    fn bare(&mut self) -> Token {
        let bytes = self.definition.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(|byte| !byte.is_ascii_whitespace() && *byte != b';') {
            self.at += 1;
        }
        let text = (start..self.at).map(|at| (bytes[at], at)).collect();
        Token { text, quoted: false, start }
    }

    fn quoted(&mut self, quote: u8) -> Result<Token, FormatError> {
        let bytes = self.definition.as_bytes();
        let start = self.at;
        let mut text = Vec::new();
        let mut at = start + 1;
        while let Some(byte) = bytes.get(at) {
            match (byte, bytes.get(at + 1)) {
                (b'\\', Some(escaped)) if escape_of(*escaped).is_some() => {
                    text.push((escape_of(*escaped).unwrap_or(*escaped), at));
                    at += 2;
                }
                (byte, _) if *byte == quote => {
                    self.at = at + 1;
                    return Ok(Token { text, quoted: true, start });
                }
                (byte, _) => {
                    text.push((*byte, at));
                    at += 1;
                }
            }
        }
        Err(FormatError::new(self.definition, start, "this quote is not closed"))
    }
}

/// What a backslash makes of the byte behind it, in a quoted string of nginx.conf.
fn escape_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\'' | b'\\' => byte,
        b't' => b'\t',
        b'r' => b'\r',
        b'n' => b'\n',
        _ => return None,
    })
}
