//! One directive of an Apache `LogFormat`: its syntax and its meaning.
//!
//! A directive is `%`, then modifiers in any order, then a letter, or `^` and two letters:
//!
//! | part | example | effect |
//! |---|---|---|
//! | `<` or `>` | `%>s` | the request before or after an internal redirect |
//! | statuses | `%!200,304s` | Apache writes `-` for other statuses |
//! | braces | `%{Referer}i` | the argument, whose meaning depends on the letter |
//!
//! A header, note, cookie or environment variable becomes an extra field with a name in the style
//! of nginx's variables, so that the same header has the same name in the logs of both servers.

use std::sync::Arc;

use crate::field::Field;
use crate::format::error::FormatError;
use crate::format::notation::positioned::Positioned;
use crate::format::program::sink::Sink;
use crate::value::{Strftime, TimeKind};

const MICROSECOND_NS: u64 = 1_000;
const MILLISECOND_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// The time of the common log format as a strftime pattern. [`TimeKind::Clf`] reads it faster.
const CLF_PATTERN: &str = "%d/%b/%Y:%H:%M:%S %z";

/// The meaning of a directive's value.
pub(super) struct Meaning {
    pub(super) sink: Sink,
    /// The name of the extra field if it becomes one.
    pub(super) field_name: String,
    /// Whether Apache puts brackets around the value, which it does only for `%t`.
    pub(super) has_brackets: bool,
}

/// A valid directive such as `%>s` or `%{Referer}i`.
#[derive(Debug)]
pub(super) struct Directive {
    /// `^` stands for `^FB`.
    letter: u8,
    /// Whether it is a trailer, `^ti` or `^to`.
    is_trailer: bool,
    argument: Option<String>,
    /// `<` or `>`.
    request: Option<u8>,
    /// The text of the directive in the definition.
    pub(super) source: String,
    /// The offset of its `%` in the definition.
    pub(super) at: usize,
    /// The sink of a `%t` with an argument.
    time: Option<Sink>,
}

impl Directive {
    /// Reads the directive at `start`. Returns it and the offset after it.
    pub(super) fn read(
        definition: &str,
        text: &[Positioned],
        start: usize,
    ) -> Result<(Self, usize), FormatError> {
        let mut reader = Reader {
            definition,
            text,
            at: start + 1,
            argument: None,
            request: None,
            is_trailer: false,
        };
        let letter = reader.letter()?;
        let letter = if letter == b'^' { reader.caret()? } else { letter };
        let is_trailer = reader.is_trailer;
        let source = text[start..reader.at].iter().map(|(byte, _)| *byte).collect();
        let mut directive = Self {
            letter,
            is_trailer,
            argument: reader.argument.as_ref().map(|(argument, _)| argument.clone()),
            request: reader.request,
            source: String::from_utf8(source).unwrap_or_default(),
            at: text[start].1,
            time: None,
        };
        directive.check(&reader)?;
        Ok((directive, reader.at))
    }

    /// Refuses a directive that Apache would refuse too.
    fn check(&mut self, reader: &Reader<'_>) -> Result<(), FormatError> {
        let letter_at = reader.text[reader.at - 1].1;
        let argument = self.argument.as_deref();
        let allowed: &[&str] = match self.letter {
            _ if self.is_trailer => return reader.check_name(),
            b'C' | b'e' | b'i' | b'n' | b'o' | b'x' | b'c' => return reader.check_name(),
            b't' => return self.check_time(reader),
            b'a' | b'h' | b'L' => &["c"],
            b'p' => &["canonical", "local", "remote"],
            b'P' => &["pid", "tid", "hextid"],
            b'T' => &["s", "ms", "us"],
            b'^' | b'A' | b'B' | b'b' | b'D' | b'f' | b'H' | b'k' | b'l' | b'm' | b'q' | b'R'
            | b'r' | b's' | b'u' | b'U' | b'v' | b'V' | b'X' | b'I' | b'O' | b'S' => &[],
            letter => {
                let letter = char::from(letter);
                let message = format!("`%{letter}` is not a directive of Apache's LogFormat");
                return Err(FormatError::new(reader.definition, letter_at, message));
            }
        };
        match (argument, &reader.argument) {
            (Some(name), Some((_, at))) if !allowed.is_empty() && !allowed.contains(&name) => {
                let message = format!(
                    "`%{}` takes {} in braces",
                    char::from(self.letter),
                    allowed.join(", ")
                );
                Err(FormatError::new(reader.definition, *at, message))
            }
            // Apache ignores a name in braces that a directive does not use.
            _ => Ok(()),
        }
    }

    /// `%{...}t`: a keyword, or a pattern of strftime.
    fn check_time(&mut self, reader: &Reader<'_>) -> Result<(), FormatError> {
        let Some((argument, at)) = &reader.argument else { return Ok(()) };
        let skipped = ["begin:", "end:"].into_iter().find(|prefix| argument.starts_with(prefix));
        let skipped = skipped.map_or(0, str::len);
        self.time = match &argument[skipped..] {
            "" | CLF_PATTERN => Some(Sink::Time(TimeKind::Clf)),
            "sec" => Some(Sink::Time(TimeKind::UnixSeconds)),
            "msec" => Some(Sink::Time(TimeKind::UnixMilliseconds)),
            "usec" => Some(Sink::Time(TimeKind::UnixMicroseconds)),
            "msec_frac" => Some(Sink::Time(TimeKind::FractionMilliseconds)),
            "usec_frac" => Some(Sink::Time(TimeKind::FractionMicroseconds)),
            pattern => {
                let pattern = Strftime::parse(pattern).map_err(|error| {
                    let offset = skipped + error.at;
                    FormatError::new(reader.definition, at + offset, error.message)
                })?;
                Some(Sink::Strftime(Arc::new(pattern)))
            }
        };
        Ok(())
    }

    /// Whether the value is a time, or a part of one.
    pub(super) fn is_time(&self) -> bool {
        self.letter == b't' && !self.is_trailer
    }

    /// Whether the value is the time of the response, not that of the request.
    pub(super) fn is_time_of_end(&self) -> bool {
        self.is_time() && self.argument.as_deref().is_some_and(|text| text.starts_with("end:"))
    }

    /// Whether the value is the virtual host.
    pub(super) fn is_host(&self) -> bool {
        matches!(self.letter, b'v' | b'V') && !self.is_trailer
    }

    /// Whether the value is a port of the server.
    pub(super) fn is_server_port(&self) -> bool {
        self.letter == b'p' && self.argument.as_deref() != Some("remote")
    }

    /// The rank of the directive: of several for one field, the lowest rank fills it, then the
    /// first.
    pub(super) fn rank(&self) -> u8 {
        match (self.letter, self.argument.as_deref(), self.request) {
            // The status of the response is preferred to that before an internal redirect.
            (b's', _, Some(b'>')) => 0,
            (b's', ..) => 1,
            // The client is preferred to the proxy that mod_remoteip has replaced, and both to a
            // header, which a client can send.
            (b'a' | b'h', Some(_), _) => 1,
            (b'i', Some(name), _) if name.eq_ignore_ascii_case("x-forwarded-for") => 2,
            // The bytes of the body are preferred to those with headers.
            (b'O', ..) => 1,
            // The request line is preferred to its parts.
            (b'm' | b'U' | b'q' | b'H', ..) => 1,
            // The finer duration is preferred.
            (b'T', None | Some("s"), _) => 2,
            (b'T', Some("ms"), _) => 1,
            _ => 0,
        }
    }

    /// The meaning of the value.
    pub(super) fn meaning(&self) -> Meaning {
        if let Some(sink) = &self.time {
            let has_brackets = self.argument.as_deref().is_some_and(is_default_time);
            return Meaning { sink: sink.clone(), field_name: "time".to_owned(), has_brackets };
        }
        if self.is_trailer {
            let kind = if self.letter == b'i' { "request" } else { "sent" };
            return own(&format!("{kind}_trailer_{}", self.name()));
        }
        match self.argument.as_deref() {
            Some(argument) => self.named(argument),
            None => self.plain(),
        }
    }

    /// The meaning of a directive with an argument in braces.
    fn named(&self, argument: &str) -> Meaning {
        match (self.letter, argument) {
            (b'i', _) => header(&self.name()),
            (b'o', _) => own(&format!("sent_http_{}", self.name())),
            (b'C', _) => own(&format!("cookie_{}", self.name())),
            (b'e', _) => own(&format!("env_{}", self.name())),
            (b'n', _) => own(&format!("note_{}", self.name())),
            // Of mod_ssl, whose variables have its name: `SSL_PROTOCOL`.
            (b'x' | b'c', _) => own(&self.name()),
            (b'a', "c") => known(Sink::Client, "peer_addr"),
            (b'h', "c") => known(Sink::Client, "peer_host"),
            (b'L', "c") => own("connection_log_id"),
            (b'p', "local") => own("local_port"),
            (b'p', "remote") => own("remote_port"),
            (b'P', "tid") => own("tid"),
            (b'P', "hextid") => own("hextid"),
            (b'T', "ms") => duration(MILLISECOND_NS),
            (b'T', "us") => duration(MICROSECOND_NS),
            _ => self.plain(),
        }
    }

    /// The meaning of a directive without an argument, or with one that does not matter.
    fn plain(&self) -> Meaning {
        match self.letter {
            b'a' => known(Sink::Client, "remote_addr"),
            b'h' => known(Sink::Client, "remote_host"),
            b'^' => own("time_to_first_byte_us"),
            b'A' => own("server_addr"),
            b'B' | b'b' => known(Sink::Bytes, "body_bytes_sent"),
            b'O' => known(Sink::Bytes, "bytes_out"),
            b'D' => duration(MICROSECOND_NS),
            b'T' => duration(SECOND_NS),
            b'f' => own("request_filename"),
            b'H' => known(Sink::Text(Field::Protocol), "server_protocol"),
            b'I' => own("request_length"),
            b'k' => own("keepalive_requests"),
            b'l' => known(Sink::Identity, "identity"),
            b'L' => own("log_id"),
            b'm' => known(Sink::Text(Field::Method), "request_method"),
            b'p' => own("server_port"),
            b'P' => own("pid"),
            b'q' => known(Sink::QueryWithMark, "query_string"),
            b'r' => known(Sink::RequestLine, "request_line"),
            b'R' => own("handler"),
            b's' => known(Sink::Status, "original_status"),
            b'S' => own("bytes_transferred"),
            b't' => Meaning {
                sink: Sink::Time(TimeKind::Clf),
                field_name: "time".to_owned(),
                has_brackets: true,
            },
            b'u' => known(Sink::User, "remote_user"),
            b'U' => known(Sink::Text(Field::Path), "uri"),
            b'v' | b'V' => known(Sink::Text(Field::Host), "server_name"),
            b'X' => own("connection_status"),
            letter => own(&format!("directive_{}", char::from(letter).to_ascii_lowercase())),
        }
    }

    /// The name in braces as part of a field name, in lower case with `_` as in nginx's
    /// variables.
    fn name(&self) -> String {
        let name = self.argument.as_deref().unwrap_or_default();
        let word = |letter: char| if letter.is_alphanumeric() { letter } else { '_' };
        name.to_lowercase().chars().map(word).collect()
    }
}

/// Whether the argument of a `%t` changes nothing: `%{begin:}t` is `%t`.
fn is_default_time(argument: &str) -> bool {
    matches!(argument, "" | "begin:" | "end:")
}

/// The meaning of a value that fills a known field, without brackets.
fn known(sink: Sink, field_name: &str) -> Meaning {
    Meaning { sink, field_name: field_name.to_owned(), has_brackets: false }
}

/// The meaning of a value that becomes an extra field.
fn own(field_name: &str) -> Meaning {
    known(Sink::Extra(0), field_name)
}

/// The meaning of a request time in units of `unit_ns` nanoseconds.
fn duration(unit_ns: u64) -> Meaning {
    known(Sink::RequestTime { unit_ns }, "request_duration")
}

/// The meaning of a request header, whose name is in the form of nginx's variables.
fn header(name: &str) -> Meaning {
    let field_name = format!("http_{name}");
    match name {
        "referer" => known(Sink::Text(Field::Referer), &field_name),
        "user_agent" => known(Sink::Text(Field::UserAgent), &field_name),
        "host" => known(Sink::Text(Field::Host), &field_name),
        "x_forwarded_for" => known(Sink::ForwardedFor { extra: 0 }, &field_name),
        _ => own(&field_name),
    }
}

/// Reads one directive.
struct Reader<'a> {
    definition: &'a str,
    text: &'a [Positioned],
    at: usize,
    /// The text in braces and its offset in the definition.
    argument: Option<(String, usize)>,
    request: Option<u8>,
    is_trailer: bool,
}

impl Reader<'_> {
    /// Reads modifiers and braces, and returns the letter after them.
    fn letter(&mut self) -> Result<u8, FormatError> {
        let start = self.text[self.at - 1].1;
        while let Some((byte, at)) = self.text.get(self.at).copied() {
            self.at += 1;
            match byte {
                b'<' | b'>' => self.request = Some(byte),
                b'!' | b',' | b'0'..=b'9' => {}
                b'{' => self.braces(at)?,
                byte if byte.is_ascii_alphabetic() || byte == b'^' => return Ok(byte),
                _ => {
                    let message =
                        "a directive's letter must follow the `%`; a percent sign is `%%`";
                    return Err(FormatError::new(self.definition, at, message));
                }
            }
        }
        let message = "the format ends in the middle of this directive; a percent sign is `%%`";
        Err(FormatError::new(self.definition, start, message))
    }

    /// Reads the argument and the closing brace after an opening one.
    fn braces(&mut self, opened_at: usize) -> Result<(), FormatError> {
        let rest = &self.text[self.at..];
        let Some(length) = rest.iter().position(|(byte, _)| *byte == b'}') else {
            return Err(FormatError::new(self.definition, opened_at, "the `{` has no `}`"));
        };
        let name = rest[..length].iter().map(|(byte, _)| *byte).collect();
        let name = String::from_utf8(name).unwrap_or_default();
        self.argument = Some((name, rest.first().map_or(opened_at, |(_, at)| *at)));
        self.at += length + 1;
        Ok(())
    }

    /// Reads the letters of `^ti` or `^to` and returns the last one, or those of `^FB` and returns
    /// `^`.
    fn caret(&mut self) -> Result<u8, FormatError> {
        let letters = [self.at, self.at + 1].map(|at| self.text.get(at).map(|(byte, _)| *byte));
        self.at += 2;
        match letters {
            [Some(b't'), Some(letter @ (b'i' | b'o'))] => {
                self.is_trailer = true;
                Ok(letter)
            }
            [Some(b'F'), Some(b'B')] => Ok(b'^'),
            _ => {
                let at = self.text[self.at - 3].1;
                Err(FormatError::new(self.definition, at, "`^` must be `^ti`, `^to` or `^FB`"))
            }
        }
    }

    /// Checks that the directive has a name in braces.
    fn check_name(&self) -> Result<(), FormatError> {
        if self.argument.as_ref().is_some_and(|(name, _)| !name.is_empty()) {
            return Ok(());
        }
        let (letter, at) = self.text[self.at - 1];
        let message = format!("`%{0}` needs a name in braces: `%{{NAME}}{0}`", char::from(letter));
        Err(FormatError::new(self.definition, at, message))
    }
}
