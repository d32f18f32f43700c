//! A definition for lines that no known format matches, made from what their values look like.
//!
//! A line is split at its blanks, quotes and brackets, which are text of the definition, and then at
//! the separator that its values may have instead. A value has
//! a name only if all lines have it in a form that tells: an address, a time, a request line, a
//! method, a status. All others are `$extra_1`, `$extra_2`, to be named by a person who knows the
//! log. Nothing is read with such a definition unless someone asks for it.

use std::sync::Arc;

use super::compiled::Format;
use super::program::sink::is_address;
use super::program::tail::{Quote, TailValue, TailValues};
use super::read::line_parser::LineParser;
use super::surroundings::{separator_of, split};
use crate::field::Field;
use crate::value::{
    CLF_LENGTH, Client, is_known_status, is_standard_method, parse_clf, parse_clf_variant,
    parse_rfc3339, second_of_day_at,
};

/// The most lines that are looked at, and the most values of one.
const LINES_MAX: usize = 64;
const VALUES_MAX: usize = 64;

/// A definition for lines that are in no known format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedFormat {
    /// The definition, in the notation of nginx.
    pub definition: String,
    /// The number of lines that were tried.
    pub lines: u64,
    /// The number of these lines that it fits, more than half.
    pub parsed_lines: u64,
}

/// Makes a definition that fits most of some lines, of which the first 64 are looked at.
///
/// `None` if they have no common form, no time, or nothing else that a log of requests has.
///
/// # Examples
///
/// ```
/// use weir_core::suggest_format;
///
/// let lines = [&b"2025-12-17T09:03:01Z 192.0.2.7 GET /a 200 0.012"[..]];
/// let suggested = suggest_format(lines).unwrap();
/// assert_eq!(
///     suggested.definition,
///     "$time_iso8601 $remote_addr $request_method $request_uri $status $extra_1"
/// );
/// assert!(suggest_format([&b"Lorem ipsum dolor sit amet"[..]]).is_none());
/// ```
pub fn suggest_format<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<SuggestedFormat> {
    let lines: Vec<&[u8]> = lines.into_iter().filter(|it| !it.is_empty()).take(LINES_MAX).collect();
    // The one that says most of most lines.
    let by_words = lines.iter().map(|line| pieces(line)).collect();
    let by_cells = separator_of(&lines)
        .map(|separator| lines.iter().map(|line| cells(line, separator)).collect());
    let found = [Some(by_words), by_cells].into_iter().flatten().flat_map(candidates);
    let fits = found.filter_map(|(definition, columns)| {
        let parsed = parsed_lines(&definition, &lines)?;
        (parsed * 2 > lines.len()).then_some((parsed * columns, parsed, definition))
    });
    let (_, parsed, definition) = fits.max_by_key(|(score, ..)| *score)?;
    Some(SuggestedFormat { definition, lines: lines.len() as u64, parsed_lines: parsed as u64 })
}

/// The number of lines that a definition fits; `None` if it does not say enough.
fn parsed_lines(definition: &str, lines: &[&[u8]]) -> Option<usize> {
    let format = Format::parse(definition).ok()?;
    let says_enough = format.fills(Field::Time)
        && [Field::Client, Field::Status, Field::Path].iter().any(|field| format.fills(*field));
    let mut parser = LineParser::new(Arc::new(format));
    let mut text = Vec::new();
    let parsed = || lines.iter().filter(|line| parser.matches(line, &mut text)).count();
    says_enough.then(parsed)
}

/// A value and the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece<'a> {
    /// The text before the value: blanks, a key, a quote.
    before: &'a [u8],
    quote: Quote,
    text: &'a [u8],
}

/// The pieces of a line, [`VALUES_MAX`] at most.
fn pieces(line: &[u8]) -> Vec<Piece<'_>> {
    let mut end = 0;
    let piece = |value: TailValue<'_>| {
        let key_bytes = value.key.map_or(0, |key| key.len() + 1);
        let quote_bytes = usize::from(value.quote != Quote::None);
        let from = value.start + key_bytes + quote_bytes;
        let to = from + value.text.len();
        let before = &line[end..from];
        end = to + quote_bytes;
        Piece { before, quote: value.quote, text: &line[from..to] }
    };
    TailValues::new(line, 0).into_iter().flatten().map(piece).take(VALUES_MAX).collect()
}

/// The pieces between the separators of a line, [`VALUES_MAX`] at most.
fn cells(line: &[u8], separator: u8) -> Vec<Piece<'_>> {
    let (mut start, mut end) = (0, 0);
    let piece = |cell: &[u8]| {
        let text = cell.trim_ascii();
        let (quote, quote_bytes) = match text {
            [b'"', .., b'"'] => (Quote::Double, 1),
            [b'[', .., b']'] => (Quote::Bracket, 1),
            _ => (Quote::None, 0),
        };
        let from = start + (cell.len() - cell.trim_ascii_start().len()) + quote_bytes;
        let to = from + text.len() - 2 * quote_bytes;
        let piece = Piece { before: &line[end..from], quote, text: &line[from..to] };
        (start, end) = (start + cell.len() + 1, to + quote_bytes);
        piece
    };
    split(line, separator).map(piece).take(VALUES_MAX).collect()
}

/// Definitions of the form that most lines have, with the number of their columns: of whole lines,
/// and of their first columns with the rest of the line as one value.
fn candidates(mut kept: Vec<Vec<Piece<'_>>>) -> Vec<(String, usize)> {
    let enough = (kept.len() * 6).div_ceil(10).max(1);
    let (mut columns, mut found) = (Columns::default(), Vec::new());
    for index in 0..VALUES_MAX {
        let form = |pieces: &Vec<Piece<'_>>| {
            pieces.get(index).map(|piece| (piece.before.to_vec(), piece.quote))
        };
        let count = |one: &Option<_>| kept.iter().filter(|pieces| form(pieces) == *one).count();
        let Some(most) = kept.iter().map(form).max_by_key(count) else { break };
        if index > 0 {
            found.push((format!("{} $message", columns.text), index));
        }
        if count(&most) < enough {
            break;
        }
        let Some((before, quote)) = &most else {
            found.push((columns.text.clone(), index + 1));
            break;
        };
        let before = std::str::from_utf8(before).ok().filter(|it| !it.contains('$'));
        let Some(before) = before else { break };
        kept.retain(|pieces| form(pieces) == most);
        let values: Vec<&[u8]> = kept.iter().map(|pieces| pieces[index].text).collect();
        let has_form = columns.add(before, *quote, &values);
        // A few lines are of another kind.
        let odd = |piece: &Piece<'_>| {
            !has_form.is_none_or(|has| is_absent(piece.text) || has(piece.text))
        };
        kept.retain(|pieces| !odd(&pieces[index]));
    }
    found
}

/// The columns of a definition so far.
#[derive(Debug, Default)]
struct Columns {
    text: String,
    /// The variables that are used already.
    used: Vec<&'static str>,
    extra: usize,
    /// Whether the last column is the date of a time.
    is_after_date: bool,
}

impl Columns {
    /// Adds a column. Returns the form of its values, if they have one that tells what they are.
    fn add(&mut self, before: &str, quote: Quote, values: &[&[u8]]) -> Option<fn(&[u8]) -> bool> {
        self.text.push_str(before);
        let form = self.form(quote, values);
        match form {
            Some(form) => self.text.push_str(form.variable),
            None => {
                self.extra += 1;
                self.text.push_str(&format!("$extra_{}", self.extra));
            }
        }
        self.text.push_str(match quote {
            Quote::None => "",
            Quote::Double => "\"",
            Quote::Bracket => "]",
        });
        form.map(|form| form.matches)
    }

    /// The form of nine values in ten, or more, that tells what they are.
    fn form(&mut self, quote: Quote, values: &[&[u8]]) -> Option<&'static Form> {
        let follows_date = std::mem::take(&mut self.is_after_date);
        let used = &self.used;
        let known = FORMS.iter().filter(|form| match form.name {
            "date" | "clock" => true,
            _ => !used.contains(&form.name),
        });
        let form = known.filter(|form| form.quotes.contains(&quote)).find(|form| {
            let some = values.iter().filter(|value| !is_absent(value));
            let (all, fit) = some.fold((0, 0), |(all, fit), value| {
                (all + 1, fit + usize::from((form.matches)(value)))
            });
            all > 0 && fit * 10 >= all * 9
        })?;
        if form.name == "clock" && !follows_date {
            return None;
        }
        self.is_after_date = form.name == "date" && !used.contains(&"time");
        if form.name == "date" && used.contains(&"time") {
            return None;
        }
        self.used.push(form.name);
        Some(form)
    }
}

/// A form of values that tells what they are.
struct Form {
    /// A column that has this name is the only one.
    name: &'static str,
    variable: &'static str,
    quotes: &'static [Quote],
    matches: fn(&[u8]) -> bool,
}

const ANY: &[Quote] = &[Quote::None, Quote::Double, Quote::Bracket];
const BARE: &[Quote] = &[Quote::None];
const QUOTED: &[Quote] = &[Quote::Double];

/// The forms, the most telling first.
static FORMS: [Form; 17] = [
    Form::new("time", "$time_iso8601", ANY, |it| parse_rfc3339(it).is_some()),
    Form::new("time", "$time_local", ANY, is_clf_time),
    Form::new("time", "$msec", ANY, is_unix_seconds),
    Form::new("date", "${time(%Y-%m-%d)}", BARE, |it| is_date(it, b'-')),
    Form::new("date", "${time(%Y/%m/%d)}", BARE, |it| is_date(it, b'/')),
    Form::new("clock", "${time(%H:%M:%S)}", BARE, |it| clock(it) == Some(None)),
    Form::new("clock", "${time(%H:%M:%S)}.${_=fraction}", BARE, |it| clock(it) == Some(Some(b'.'))),
    Form::new("clock", "${time(%H:%M:%S)},${_=fraction}", BARE, |it| clock(it) == Some(Some(b','))),
    Form::new("client", "$remote_addr", ANY, is_address),
    Form::new("client", "${client(port)}", ANY, is_address_and_port),
    Form::new("request", "$request", ANY, is_request),
    Form::new("method", "$request_method", ANY, is_standard_method),
    Form::new("protocol", "$server_protocol", ANY, |it| it.starts_with(b"HTTP/")),
    Form::new("path", "$request_uri", ANY, |it| it.starts_with(b"/")),
    Form::new("status", "$status", BARE, is_known_status),
    Form::new("agent", "$http_user_agent", QUOTED, is_agent),
    // Between separators.
    Form::new("agent", "$http_user_agent", BARE, |it| it.contains(&b' ') && is_agent(it)),
];

impl Form {
    const fn new(
        name: &'static str,
        variable: &'static str,
        quotes: &'static [Quote],
        matches: fn(&[u8]) -> bool,
    ) -> Self {
        Self { name, variable, quotes, matches }
    }
}

/// Whether a value stands for none.
fn is_absent(value: &[u8]) -> bool {
    matches!(value, b"-" | b"")
}

fn is_clf_time(value: &[u8]) -> bool {
    let usual: Option<&[u8; CLF_LENGTH]> = value.try_into().ok();
    usual.is_some_and(|text| parse_clf(text).is_some()) || parse_clf_variant(value).is_some()
}

fn is_date(value: &[u8], sign: u8) -> bool {
    value.len() == 10
        && value.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == sign,
            _ => byte.is_ascii_digit(),
        })
}

/// A time of day, with the sign before its fraction if it has one.
fn clock(value: &[u8]) -> Option<Option<u8>> {
    second_of_day_at(value.get(..8)?)?;
    let rest = &value[8..];
    let is_fraction = |rest: &[u8]| rest.len() > 1 && rest[1..].iter().all(u8::is_ascii_digit);
    (rest.is_empty() || is_fraction(rest)).then(|| rest.first().copied())
}

/// Whether a value is seconds since 1970 with milliseconds, as nginx's `$msec`.
fn is_unix_seconds(value: &[u8]) -> bool {
    value.len() == 14
        && value.iter().enumerate().all(|(at, byte)| match at {
            10 => *byte == b'.',
            _ => byte.is_ascii_digit(),
        })
}

fn is_address_and_port(value: &[u8]) -> bool {
    let port = value.iter().rposition(|byte| *byte == b':').map(|at| &value[at + 1..]);
    port.is_some_and(|port| !port.is_empty() && port.iter().all(u8::is_ascii_digit))
        && Client::parse(value)
            .is_some_and(|client| is_address(client.host) && client.host.len() < value.len())
}

/// Whether a value is a request line: a method, a target and, since HTTP/1.0, the version.
fn is_request(value: &[u8]) -> bool {
    let mut words = value.split(|byte| *byte == b' ');
    words.next().is_some_and(is_standard_method)
        && words.next().is_some_and(|target| !target.is_empty())
}

/// Whether a value names a program and its version, as user agents do.
fn is_agent(value: &[u8]) -> bool {
    let first = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    let mut parts = first.splitn(2, |byte| *byte == b'/');
    let name = parts.next().unwrap_or_default();
    let version = parts.next().and_then(|version| version.first());
    name.first().is_some_and(u8::is_ascii_alphabetic) && version.is_some_and(u8::is_ascii_digit)
}
