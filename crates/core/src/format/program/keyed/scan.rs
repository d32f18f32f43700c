//! A scanner of one JSON object that does not allocate.
//!
//! It is as strict as RFC 8259, with these exceptions: strings may have bytes that are not UTF-8,
//! because servers log the bytes of headers unchanged; `\\x22` is an escape, as nginx writes it in JSON
//! without `escape=json`; the object may be an element of a list, with the bracket or the comma of the
//! list beside it, or one of a sequence: after the byte 0x1E (RFC 7464), or `data:` (server-sent events);
//! and a member may have `-` or nothing for its value, which is `null`: servers write it where a definition
//! has a variable without quotes, `"time":$upstream_response_time`, that has no value.
//!
//! The whole object is checked, also the parts that no key of the format refers to. A line that was
//! cut off by a crash is therefore unparsed, and does not become a record with missing fields.
//!
//! The scanner moves an offset forward and never back, so it takes linear time. It recurses for
//! arrays and objects, up to [`DEPTH_MAX`] levels. A string is searched eight bytes at a time
//! (`string_end`).
//!
//! What it means if a key occurs twice is left to the sink.

use super::keys::Place;
use super::string_end::string_end;
use crate::format::program::span::Span;

/// The maximal depth of nested arrays and objects, which bounds the scanner's recursion. Access
/// logs are about four levels deep.
const DEPTH_MAX: u32 = 64;

/// The byte before each object of a sequence (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1E;

/// What stands before each object in server-sent events, as systemd-journal-gatewayd sends them.
const EVENT_START: &[u8] = b"data:";

/// Where and why a line is not a JSON object.
///
/// `at` is an offset in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct Fault {
    pub(in crate::format) at: usize,
    pub(in crate::format) message: &'static str,
}

/// An object that was scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct ScannedObject {
    /// The offset after the object.
    pub(in crate::format) end: usize,
    /// Whether a string in it has an escape.
    pub(in crate::format) has_escapes: bool,
}

/// What a scan tells the members of an object to.
pub(in crate::format) trait MemberSink {
    /// The place of the member `key` of an object. `key` is as it is in the line, with escapes.
    fn below(&mut self, object: Place, key: &[u8]) -> Place;

    /// The place of the next member of an object and the length of its key, if the sink expects a key
    /// with which `text`, all after its opening quote, begins. The closing quote must follow.
    fn expected(&mut self, _object: Place, _text: &[u8]) -> Option<(Place, usize)> {
        None
    }

    /// Takes a scalar: the text between its quotes, or a number, `true` or `false`. `member` is the
    /// offset of the last key before it.
    fn take(&mut self, place: Place, scalar: Span, member: usize);

    /// Takes a `null`.
    fn take_null(&mut self, place: Place);

    /// Takes the text of an object or an array, after what is inside of it.
    fn take_nested(&mut self, _place: Place, _text: Span) {}
}

/// Scans the object and passes its scalars to `sink`. The first element of an array stands for the
/// array.
///
/// # Errors
/// If the line is not one JSON object, with nothing but white space around it, or the brackets and
/// commas of the list that it stands in.
pub(in crate::format) fn scan(
    line: &[u8],
    sink: &mut impl MemberSink,
) -> Result<ScannedObject, Fault> {
    let at = object_start(line)?;
    let mut scanner = Scanner { line, at, member: 0, depth: 0, has_escapes: false, sink };
    scanner.value(Place::ROOT)?;
    let end = scanner.at;
    for byte in *b",]" {
        scanner.skip_space();
        scanner.at += usize::from(scanner.peek() == Some(byte));
    }
    scanner.skip_space();
    if scanner.at < line.len() {
        return Err(scanner.fault("expected the end of the line after the JSON object"));
    }
    Ok(ScannedObject { end, has_escapes: scanner.has_escapes })
}

/// The offset of the object: at the start of the line, or behind the bracket or the comma of the list
/// that it stands in, or behind what stands before each object of a sequence.
///
/// # Errors
/// If there is none.
pub(super) fn object_start(line: &[u8]) -> Result<usize, Fault> {
    let mut at = space_length(line);
    let before = match line.get(at).copied() {
        Some(b'[' | b',' | RECORD_SEPARATOR) => 1,
        Some(b'd') if line[at..].starts_with(EVENT_START) => EVENT_START.len(),
        _ => 0,
    };
    if before > 0 {
        at += before;
        at += space_length(&line[at..]);
    }
    match line.get(at) {
        Some(b'{') => Ok(at),
        _ => Err(Fault { at, message: "expected `{`, the start of a JSON object" }),
    }
}

/// The length of the white space at the start of a text that RFC 8259 allows between tokens.
#[inline]
fn space_length(text: &[u8]) -> usize {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    text.iter().take_while(is_space).count()
}

/// A scanner of one line. All its methods begin at `at` and move it.
struct Scanner<'a, S> {
    line: &'a [u8],
    at: usize,
    /// The offset of the last key, with its quote.
    member: usize,
    depth: u32,
    has_escapes: bool,
    sink: &'a mut S,
}

impl<S: MemberSink> Scanner<'_, S> {
    /// The next byte; `None` at the end of the line.
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// A fault at the next byte.
    fn fault(&self, message: &'static str) -> Fault {
        Fault { at: self.at, message }
    }

    /// Skips the white space between tokens.
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Skips spaces and this byte. The fault is `message` if it is not next.
    fn expect(&mut self, byte: u8, message: &'static str) -> Result<(), Fault> {
        self.skip_space();
        if self.peek() != Some(byte) {
            return Err(self.fault(message));
        }
        self.at += 1;
        Ok(())
    }

    /// Scans any value, which belongs to `place`.
    fn value(&mut self, place: Place) -> Result<(), Fault> {
        self.skip_space();
        let start = self.at;
        let span = match self.peek() {
            Some(b'{') => return self.nested(place, |scanner| scanner.object(place)),
            Some(b'[') => return self.nested(place, |scanner| scanner.array(place)),
            Some(b'"') => self.string()?,
            Some(b'-') if !self.line.get(start + 1).is_some_and(u8::is_ascii_digit) => {
                self.at += 1;
                self.sink.take_null(place);
                return Ok(());
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Span::new(start, self.at)
            }
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'n') => {
                self.word(b"null")?;
                self.sink.take_null(place);
                return Ok(());
            }
            _ => return Err(self.fault("expected a JSON value")),
        };
        self.sink.take(place, span, self.member);
        Ok(())
    }

    /// Scans the rest of an array or object, one level deeper.
    fn nested(
        &mut self,
        place: Place,
        inner: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let start = self.at;
        if self.depth == DEPTH_MAX {
            return Err(self.fault("the JSON object has more than 64 nested levels"));
        }
        self.depth += 1;
        self.at += 1;
        inner(self)?;
        self.depth -= 1;
        self.sink.take_nested(place, Span::new(start, self.at));
        Ok(())
    }

    /// Scans the rest of an object.
    fn object(&mut self, place: Place) -> Result<(), Fault> {
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.fault("expected a key in quotes"));
            }
            let key_at = self.at;
            let expected = self.sink.expected(place, &self.line[key_at + 1..]);
            let member = match expected {
                Some((member, length)) => {
                    self.at += length + 2;
                    member
                }
                None => {
                    let key = self.string()?.of(self.line);
                    self.sink.below(place, key)
                }
            };
            self.expect(b':', "expected `:` after the key")?;
            self.member = key_at;
            self.skip_space();
            match self.peek() {
                Some(b',' | b'}') => self.sink.take_null(member),
                _ => self.value(member)?,
            }
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.fault("expected `,` or `}` after the value")),
            }
        }
    }

    /// Scans the rest of an array.
    fn array(&mut self, place: Place) -> Result<(), Fault> {
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        let mut place = place;
        loop {
            self.value(place)?;
            place = Place::Ignored;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.fault("expected `,` or `]` after the value")),
            }
        }
    }

    /// Scans a string and returns the range between its quotes.
    ///
    /// Escapes are checked, not removed.
    fn string(&mut self) -> Result<Span, Fault> {
        self.at += 1;
        let start = self.at;
        loop {
            self.at += string_end(&self.line[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Span::new(start, self.at - 1));
                }
                Some(b'\\') => self.escape()?,
                Some(_) => {
                    return Err(self.fault("a control character in a JSON string is not escaped"));
                }
                None => return Err(self.fault("expected the closing quote of a JSON string")),
            }
        }
    }

    /// Skips an escape that RFC 8259 section 7 allows, or one of nginx.
    fn escape(&mut self) -> Result<(), Fault> {
        let length = match self.line.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if self.has_digits(self.at + 2, 4) => 6,
            Some(b'x') if self.has_digits(self.at + 2, 2) => 4,
            _ => return Err(self.fault("this is not a valid escape of a JSON string")),
        };
        self.at += length;
        self.has_escapes = true;
        Ok(())
    }

    /// Whether so many hexadecimal digits are at `at`.
    fn has_digits(&self, at: usize, digits: usize) -> bool {
        let digits = self.line.get(at..at + digits);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }

    /// Skips a number (RFC 8259 section 6).
    fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Skips digits, at least one.
    fn digits(&mut self) -> Result<(), Fault> {
        let rest = &self.line[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return Err(self.fault("expected a digit"));
        }
        self.at += length;
        Ok(())
    }

    /// Scans `true`, `false` or `null`.
    fn word(&mut self, word: &[u8]) -> Result<Span, Fault> {
        let start = self.at;
        if !self.line[start..].starts_with(word) {
            return Err(self.fault("expected a JSON value"));
        }
        self.at += word.len();
        Ok(Span::new(start, self.at))
    }
}

#[cfg(test)]
mod tests {
    use crate::format::program::keyed::{FoundValues, Keys, MemberSyntax};

    fn values<'a>(line: &'a str, paths: &[&str]) -> Vec<Option<&'a str>> {
        let keys = Keys::new(paths.iter().copied());
        let mut found = FoundValues::default();
        found.scan(MemberSyntax::Json, line.as_bytes(), &keys, paths.len()).unwrap();
        let text = |entry| std::str::from_utf8(found.get(entry)?.of(line.as_bytes())).ok();
        (0..paths.len()).map(text).collect()
    }

    #[test]
    fn finds_scalars() {
        let line = r#" {"a":{"b":["x\"y","z"],"c":-1.5e3}, "d" : true ,"e":null,"a.f":""} "#;
        assert_eq!(
            values(line, &["a.b", "a.c", "d", "e", "a.f", "a", "g"]),
            [Some(r#"x\"y"#), Some("-1.5e3"), Some("true"), None, Some(""), None, None]
        );
        assert_eq!(values("{}", &["a"]), [None]);
        for line in
            [r#"[{"a":1},"#, r#",{"a":1}"#, r#" {"a":1} ] "#, r#"[ {"a":1} ]"#, r#"{"a":1},]"#]
        {
            assert_eq!(values(line, &["a"]), [Some("1")], "{line}");
        }
        for line in ["\u{1e}{\"a\":1}", "data: {\"a\":1}", "data:{\"a\":1}"] {
            assert_eq!(values(line, &["a"]), [Some("1")], "{line}");
        }
        assert_eq!(values(r#"{"a":[],"b":[[1]],"b":2}"#, &["a", "b"]), [None, Some("1")]);
    }

    #[test]
    fn a_variable_without_a_value_is_null() {
        for line in
            [r#"{"a":-,"b":1}"#, r#"{"a": - , "b":1}"#, r#"{"a":,"b":1}"#, r#"{"b":1,"a":}"#]
        {
            assert_eq!(values(line, &["a", "b"]), [None, Some("1")], "{line}");
        }
        assert_eq!(values(r#"{"a":[-,1],"b":-1}"#, &["a", "b"]), [None, Some("-1")]);
    }

    #[test]
    fn finds_a_whole_object() {
        let whole = |line: &'static str| {
            let keys = Keys::new(["a", "b"].into_iter()).taking_whole(0);
            let mut found = FoundValues::default();
            found.scan(MemberSyntax::Json, line.as_bytes(), &keys, 2).unwrap();
            let text = |entry| std::str::from_utf8(found.get(entry)?.of(line.as_bytes())).ok();
            (text(0), text(1), found.others(line.as_bytes()).map(<[u8]>::len))
        };
        assert_eq!(
            whole(r#"{"a":{"b":[{}],"c":1},"b":2}"#),
            (Some(r#"{"b":[{}],"c":1}"#), Some("2"), None)
        );
        assert_eq!(whole(r#"{"a":{},"b":{"c":1}}"#), (Some("{}"), None, Some(5)));
        assert_eq!(whole(r#"{"a":"{}"}"#), (Some("{}"), None, None));
        assert_eq!(whole(r#"{"a":[ 71, 69 ],"b":[1,2]}"#), (Some("[ 71, 69 ]"), Some("1"), None));
        assert_eq!(whole(r#"{"a":["x","y"]}"#), (Some("x"), None, None));
        assert_eq!(whole(r#"{"a":[{"c":1},{}]}"#), (Some(r#"{"c":1}"#), None, None));
        assert_eq!(whole(r#"{"a":[]}"#), (None, None, None));
    }

    #[test]
    fn refuses_invalid_json() {
        let keys = Keys::new(std::iter::empty());
        let deep = format!("{}1", r#"{"a":"#.repeat(100));
        for (line, at) in [
            ("", 0),
            ("[1]", 1),
            (r#"[[{"a":1}]]"#, 1),
            (r#"[{"a":1},{"a":2}]"#, 9),
            ("x {}", 0),
            ("{} x", 3),
            ("{", 1),
            (r#"{"a""#, 4),
            (r#"{"a":1,}"#, 7),
            (r#"{"a":1 "b":2}"#, 7),
            (r#"{"a":[1,]}"#, 8),
            (r#"{"a":01}"#, 6),
            (r#"{"a":1.}"#, 7),
            (r#"{"a":-b}"#, 6),
            (r#"{"a":--}"#, 6),
            (r#"{"a":"#, 5),
            (r#"{"a":-"#, 6),
            (r#"{"a":,"#, 6),
            (r#"{"a":1e}"#, 7),
            (r#"{"a":+1}"#, 5),
            (r#"{"a":tru}"#, 5),
            (r#"{"a":nul"#, 5),
            (r#"{"a":"\x2g"}"#, 6),
            (r#"{"a":"\u12g4"}"#, 6),
            (r#"{"a":"b"#, 7),
            ("{\"a\":\"\t\"}", 6),
            (r#"{a:1}"#, 1),
            (&deep, 320),
        ] {
            let mut found = FoundValues::default();
            let fault = found.scan(MemberSyntax::Json, line.as_bytes(), &keys, 0).unwrap_err();
            assert_eq!(fault.at, at, "{line}: {}", fault.message);
        }
    }
}
