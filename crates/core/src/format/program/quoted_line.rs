//! A fast path for the lines that most servers write: client, identity, user, time, request
//! line, status, bytes, and texts in quotes.
//!
//! The result is that of the [`LineProgram`], value by value. The code differs from it in two ways:
//!
//! 1. The positions of the quotes are known from the structural index of the block, so the ends of
//!    the request line and of the texts are not searched. The time, the status and the size have
//!    known places relative to the quotes.
//! 2. It reads only the usual form of each value. If a value differs, such as a text with an
//!    escaped quote, it returns `None`, and the program reads the line from its start.

use super::line_program::{End, LineProgram};
use super::sink::{LineState, Sink};
use super::tail::Tail;
use crate::field::Field;
use crate::line::short_memchr;
use crate::record::Record;
use crate::value::{CLF_LENGTH, TimeKind, usual_client_length};

/// Reads lines of the form `client - - [time] "request" status bytes "text" "text"`, with any
/// number of texts. These are COMMON, COMBINED, nginx's own formats, and others.
///
/// With the positions of the quotes, such a line is read by checking a few offsets. A line that
/// differs, by an unusual size or a quote inside a text, is left to the program. So the result
/// is that of the program, or none.
#[derive(Debug, Clone)]
pub(in crate::format) struct QuotedLine {
    /// The meanings of the texts after the size.
    texts: Vec<Text>,
    /// The values that may stand after the texts.
    tail: Option<Tail>,
}

/// A text in quotes.
#[derive(Debug, Clone, Copy)]
enum Text {
    Field(Field),
    Extra(usize),
}

impl QuotedLine {
    /// The fast path of a program, if its lines have this form.
    pub(in crate::format) fn of(program: &LineProgram) -> Option<Self> {
        let values = &program.values;
        // With an identity between client and user, or a dash.
        let after_client: &[u8] = match values.get(1)?.sink {
            Sink::Identity => b" ",
            _ => b" - ",
        };
        let is_client = values[0].sink == Sink::Client && ends_at(&values[0].end, after_client);
        let mut rest = &values[1..];
        if rest[0].sink == Sink::Identity {
            if !ends_at(&rest[0].end, b" ") {
                return None;
            }
            rest = &rest[1..];
        }
        let [user, time, request, status, bytes, texts @ ..] = rest else { return None };
        let is_head = program.prefix.is_empty()
            && is_client
            && user.sink == Sink::User
            && ends_at(&user.end, b" [")
            && time.sink == Sink::Time(TimeKind::Clf)
            && ends_at(&time.end, b"] \"")
            && request.sink == Sink::RequestLine
            && ends_at(&request.end, b"\" ")
            && status.sink == Sink::Status
            && ends_at(&status.end, b" ")
            && bytes.sink == Sink::Bytes
            && ends_at(&bytes.end, if texts.is_empty() { b"" } else { b" \"" });
        if !is_head {
            return None;
        }
        let last = texts.len().saturating_sub(1);
        let texts = texts.iter().enumerate().map(|(index, value)| {
            if !ends_at(&value.end, if index == last { b"\"" } else { b"\" \"" }) {
                return None;
            }
            match value.sink {
                Sink::Text(field) => Some(Text::Field(field)),
                Sink::Extra(index) => Some(Text::Extra(index)),
                _ => None,
            }
        });
        Some(Self { texts: texts.collect::<Option<_>>()?, tail: program.tail.clone() })
    }

    /// The number of quotes in a line.
    pub(in crate::format) fn quotes(&self) -> usize {
        2 + 2 * self.texts.len()
    }

    /// Reads a line whose quotes are at the offsets `quotes(0)`, `quotes(1)` and so on. Returns
    /// `None` if the program must read it; the content of `record` is then unspecified.
    #[inline]
    pub(in crate::format) fn parse<'a>(
        &self,
        line: &'a [u8],
        quotes: impl Fn(usize) -> usize,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Option<()> {
        let client = usual_client_length(line)?;
        if !starts_with(line, client, b" - ") {
            return None;
        }
        let user_start = client + 3;
        let user = user_start + short_memchr(b' ', line.get(user_start..)?)?;
        let time_start = user + 2;
        let time = line.get(time_start..)?.first_chunk::<CLF_LENGTH>()?;
        let request_start = time_start + CLF_LENGTH + 3;
        if !starts_with(line, user, b" [")
            || !starts_with(line, time_start + CLF_LENGTH, b"] \"")
            || quotes(0) + 1 != request_start
            // A bar may be what stands around a line, so the program decides about it.
            || line[user_start..user] == *b"|"
        {
            return None;
        }
        let request_end = quotes(1);
        let status_start = request_end + 2;
        let [a, b, c] = *line.get(status_start..)?.first_chunk()?;
        let is_status = a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit();
        if !is_status
            || !ends_text(line, request_end, b"\" ")
            || line.get(status_start + 3) != Some(&b' ')
        {
            return None;
        }
        let (bytes, bytes_end) = size(line, status_start + 4)?;
        let end = self.parse_texts(line, bytes_end, quotes, record)?;
        match &self.tail {
            None if end == line.len() => {}
            None => return None,
            Some(tail) => tail.read_again(line, end, record, state)?,
        }

        record.time = Some(state.clf_times.parse(time)?);
        record.set_text(Field::Client, &line[..client]);
        record.set_text(Field::User, &line[user_start..user]);
        record.set_request_line(&line[request_start..request_end], state.keeps_target);
        record.set_text(Field::Status, &line[status_start..status_start + 3]);
        record.set_number(Field::Bytes, bytes);
        Some(())
    }

    /// Reads the texts after the size. Returns the offset after the last one.
    #[inline]
    fn parse_texts<'a>(
        &self,
        line: &'a [u8],
        mut at: usize,
        quotes: impl Fn(usize) -> usize,
        record: &mut Record<'a>,
    ) -> Option<usize> {
        for (index, text) in self.texts.iter().enumerate() {
            let (open, close) = (quotes(2 * index + 2), quotes(2 * index + 3));
            if open != at + 1 || line.get(at) != Some(&b' ') || !ends_text(line, close, b"\"") {
                return None;
            }
            let value = line.get(open + 1..close)?;
            match *text {
                Text::Field(field) => record.set_text(field, value),
                Text::Extra(index) => record.set_extra(index, value),
            }
            at = close + 1;
        }
        Some(at)
    }
}

/// Whether a value ends at this text, however it is searched for.
fn ends_at(end: &End, text: &[u8]) -> bool {
    match end {
        End::Byte(byte) => text == [*byte],
        End::Text(end)
        | End::List(end)
        | End::Word(end)
        | End::TextBeforeTime(end)
        | End::Quote(end)
        | End::ClfTime(end) => **end == *text,
        End::Line | End::FirstWord => text.is_empty(),
        _ => false,
    }
}

#[inline]
fn starts_with(line: &[u8], at: usize, text: &[u8]) -> bool {
    line.get(at..at + text.len()).is_some_and(|part| part.iter().zip(text).all(|(a, b)| a == b))
}

/// The number at `start`, or none for `-`, and the offset after it.
#[inline]
fn size(line: &[u8], start: usize) -> Option<(Option<u64>, usize)> {
    // Any number of this many digits fits 64 bits.
    const DIGITS_MAX: usize = 19;
    let text = line.get(start..)?;
    if let Some(eight) = text.first_chunk()
        && let Some((number, digits)) = digits_of_eight(*eight)
    {
        return Some((Some(number), start + digits));
    }
    let mut number = 0;
    let mut digits = 0;
    for byte in text.iter().take(DIGITS_MAX + 1) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = u64::wrapping_add(u64::wrapping_mul(number, 10), u64::from(digit));
        digits += 1;
    }
    match digits {
        0 if text.first() == Some(&b'-') => Some((None, start + 1)),
        1..=DIGITS_MAX => Some((Some(number), start + digits)),
        _ => None,
    }
}

/// The number of one to seven digits at the start of eight bytes, and the number of its digits.
/// Returns `None` if there is no digit, or if all eight are digits. A loop over the digits would
/// be slower: the lengths of sizes vary, so its end is mispredicted.
#[inline]
fn digits_of_eight(bytes: [u8; 8]) -> Option<(u64, usize)> {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let values = u64::from_le_bytes(bytes) ^ each(b'0');
    // `others` has the high bit of each byte above nine (Warren, Hacker's Delight, 2-18).
    let others = (((values & each(0x7F)) + each(0x7F - 9)) | values) & each(0x80);
    let digits = others.trailing_zeros() as usize / 8;
    if digits == 0 || digits == 8 {
        return None;
    }
    // Shift the last digit to the highest byte, with zeros before the first digit. Then combine
    // neighbours: to two digits, four, eight.
    let ones = values << (64 - 8 * digits);
    let twos = ones.wrapping_mul(10 << 8 | 1) >> 8 & 0x00FF_00FF_00FF_00FF;
    let fours = twos.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_FFFF_0000_FFFF;
    let eights = fours.wrapping_mul(10_000 << 32 | 1) >> 32;
    Some((eights, digits))
}

/// Whether `text` is at `at`, without a backslash before it that could escape its quote.
#[inline]
fn ends_text(line: &[u8], at: usize, text: &[u8]) -> bool {
    starts_with(line, at, text) && at > 0 && line[at - 1] != b'\\'
}

#[cfg(test)]
mod tests {
    use super::{digits_of_eight, size};

    #[test]
    fn digits_of_eight_are_the_leading_ones() {
        let bytes = [b'/', b'0', b'1', b'9', b':', b' ', b'"', 0, 0x80, 0xB0, 0xFF];
        let texts = (0..200_000u32).map(|n| {
            let mut state = n.wrapping_mul(0x9E37_79B9);
            std::array::from_fn::<u8, 8, _>(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match state >> 24 {
                    digit @ 0..200 => b'0' + (digit % 10) as u8,
                    other => bytes[other as usize % bytes.len()],
                }
            })
        });
        for text in texts {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = std::str::from_utf8(&text[..digits]).unwrap().parse().ok();
            let expected = number.filter(|_| digits < 8).map(|number| (number, digits));
            assert_eq!(digits_of_eight(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sizes_of_all_lengths() {
        for digits in 1..=20 {
            let text = "12345678909876543210"[..digits].to_owned();
            let expected = (digits < 20).then(|| (text.parse().ok(), 2 + digits));
            for rest in ["", " ", " \"-\" \"-\""] {
                assert_eq!(size(format!("4 {text}{rest}").as_bytes(), 2), expected);
            }
        }
        assert_eq!(size(b"- \"a\" \"b\"", 0), Some((None, 1)));
        assert_eq!(size(b"x", 0), None);
        assert_eq!(size(b"", 0), None);
    }
}
