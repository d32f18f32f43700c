//! Which requests a limit of other software is about, as a condition over a log.
//!
//! A log does not have everything that such software compares. A part that cannot be followed is
//! left out so that more requests count, never fewer, and the reader notes it at its place.

use std::borrow::Cow;

use regex::escape;

/// The requests that a part of a text selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// Every request.
    Everything,
    /// No request.
    Nothing,
    /// Those that meet a condition.
    Those {
        /// The condition.
        condition: String,
        /// Whether no part of it was left out. Otherwise it selects more requests than the text.
        is_whole: bool,
    },
    /// It cannot be told from a log.
    Unknown,
}

/// A condition that no request meets.
const NO_REQUEST: &str = r"path~'[^\s\S]'";

impl Selection {
    /// The requests that meet a condition.
    pub(super) fn those(condition: String) -> Self {
        Self::Those { condition, is_whole: true }
    }

    /// The requests that all parts select. Parts that are not known are left out.
    pub(super) fn all(parts: Vec<Self>) -> Self {
        let (mut conditions, mut all_are_whole) = (Vec::new(), true);
        for part in parts {
            match part {
                Self::Nothing => return Self::Nothing,
                Self::Everything => {}
                Self::Unknown => all_are_whole = false,
                Self::Those { condition, is_whole } => {
                    conditions.push(condition);
                    all_are_whole &= is_whole;
                }
            }
        }
        match (conditions.is_empty(), all_are_whole) {
            (true, true) => Self::Everything,
            (true, false) => Self::Unknown,
            (false, is_whole) => Self::Those { condition: joined(conditions, " and "), is_whole },
        }
    }

    /// The requests that one of the parts selects. With a part that is not known, nothing is.
    pub(super) fn any(parts: Vec<Self>) -> Self {
        if parts.contains(&Self::Everything) {
            return Self::Everything;
        }
        let (mut conditions, mut all_are_whole) = (Vec::new(), true);
        for part in parts {
            match part {
                Self::Unknown => return Self::Unknown,
                Self::Everything | Self::Nothing => {}
                Self::Those { condition, is_whole } => {
                    conditions.push(condition);
                    all_are_whole &= is_whole;
                }
            }
        }
        match conditions.is_empty() {
            true => Self::Nothing,
            false => Self::Those { condition: joined(conditions, " or "), is_whole: all_are_whole },
        }
    }

    /// The other requests. Fewer would count without the parts that were left out, so then it is
    /// not known.
    pub(super) fn not(self) -> Self {
        match self {
            Self::Everything => Self::Nothing,
            Self::Nothing => Self::Everything,
            Self::Those { condition, is_whole: true } => Self::those(format!("not ({condition})")),
            Self::Those { .. } | Self::Unknown => Self::Unknown,
        }
    }

    /// The condition that selects the requests; `None` if all of them count.
    pub(super) fn condition(self) -> Option<String> {
        match self {
            Self::Those { condition, .. } => Some(condition),
            Self::Nothing => Some(NO_REQUEST.to_owned()),
            Self::Everything | Self::Unknown => None,
        }
    }
}

fn joined(conditions: Vec<String>, between: &str) -> String {
    match <[String; 1]>::try_from(conditions) {
        Ok([condition]) => condition,
        Err(conditions) => format!("({})", conditions.join(between)),
    }
}

/// What becomes of the case of a value before it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// It stays as it is.
    Kept,
    /// The value is in lower case, so a text with capitals is never equal to it.
    Lower,
    /// The value is in upper case.
    Upper,
    /// It does not matter.
    Ignored,
}

/// A text field of a log, as other software compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextField {
    /// The name of the field in the log.
    pub(super) name: &'static str,
    /// The case of its values.
    pub(super) case: Case,
}

impl TextField {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, case: Case::Kept }
    }

    pub(super) fn with_case(self, case: Case) -> Self {
        Self { case, ..self }
    }

    pub(super) fn equals(self, value: &str) -> Selection {
        match value.is_empty() {
            true => self.is_empty(),
            false => self.literal("^", value, "$"),
        }
    }

    pub(super) fn begins_with(self, value: &str) -> Selection {
        self.literal("^", value, "")
    }

    pub(super) fn ends_with(self, value: &str) -> Selection {
        self.literal("", value, "$")
    }

    pub(super) fn contains(self, value: &str) -> Selection {
        self.literal("", value, "")
    }

    /// The requests that lack the field, or have an empty value of it.
    pub(super) fn is_empty(self) -> Selection {
        let name = self.name;
        Selection::those(format!("({name}=(none) or {name}=(empty))"))
    }

    /// A text without a meaning of its own, between two anchors.
    fn literal(self, before: &str, value: &str, after: &str) -> Selection {
        if value.is_empty() {
            return Selection::Everything;
        }
        let never = match self.case {
            Case::Lower => value.bytes().any(|byte| byte.is_ascii_uppercase()),
            Case::Upper => value.bytes().any(|byte| byte.is_ascii_lowercase()),
            Case::Kept | Case::Ignored => false,
        };
        match never {
            true => Selection::Nothing,
            false => self.expression(&format!("{before}{}{after}", escape(value))),
        }
    }

    /// The requests of which the value matches a regular expression of Rust's engine, as bytes.
    pub(super) fn matches(self, pattern: &str) -> Selection {
        if pattern.is_empty() {
            return Selection::Everything;
        }
        // Whether `[A-Z]` matches a value that has been put into lower case is not worked out.
        let has = |is_other: fn(&char) -> bool| plain_characters(pattern).any(|it| is_other(&it));
        let is_unclear = match self.case {
            Case::Lower => has(char::is_ascii_uppercase),
            Case::Upper => has(char::is_ascii_lowercase),
            Case::Kept | Case::Ignored => false,
        };
        if is_unclear || regex::bytes::Regex::new(pattern).is_err() {
            return Selection::Unknown;
        }
        self.expression(&bytewise(pattern))
    }

    /// A pattern in which `*` is any text, also one that is not UTF-8, and a backslash takes the meaning from the next
    /// character.
    pub(super) fn wildcard(self, pattern: &str) -> Selection {
        let (mut parts, mut part) = (Vec::new(), String::new());
        let mut characters = pattern.chars();
        while let Some(next) = characters.next() {
            match next {
                '*' => parts.push(std::mem::take(&mut part)),
                '\\' => part.extend(characters.next()),
                next => part.push(next),
            }
        }
        parts.push(part);
        let escaped: Vec<String> = parts.iter().map(|part| escape(part)).collect();
        self.expression(&format!("^{}$", escaped.join(ANY_BYTES)))
    }

    fn expression(self, pattern: &str) -> Selection {
        let flags = if self.case == Case::Kept { "" } else { "(?i)" };
        Selection::those(format!("{}~'{flags}{}'", self.name, without_quotes(pattern)))
    }
}

/// Returns a regular expression in which `.`, classes and word boundaries are about bytes, if it has any of
/// these. Software that limits requests does not decode values, which may not be UTF-8. An expression
/// that names characters beyond ASCII in a class stays as it is.
pub(super) fn bytewise(pattern: &str) -> Cow<'_, str> {
    if is_about_characters(pattern) {
        let of_bytes = format!("(?-u){pattern}");
        if regex::bytes::Regex::new(&of_bytes).is_ok() {
            return Cow::Owned(of_bytes);
        }
    }
    Cow::Borrowed(pattern)
}

/// Whether a regular expression matches other characters than those that it names.
fn is_about_characters(pattern: &str) -> bool {
    let (mut is_escaped, mut in_class, mut before) = (false, false, ' ');
    for next in pattern.chars() {
        let is_found = match (is_escaped, next) {
            (true, 'D' | 'W' | 'S' | 'd' | 'w' | 's' | 'B' | 'b') => true,
            (false, '.') => !in_class,
            (false, '^') => in_class && before == '[',
            _ => false,
        };
        if is_found {
            return true;
        }
        match next {
            '[' if !is_escaped => in_class = true,
            ']' if !is_escaped => in_class = false,
            _ => {}
        }
        is_escaped = next == '\\' && !is_escaped;
        before = next;
    }
    false
}

/// Any bytes, in a regular expression.
const ANY_BYTES: &str = "(?s-u:.*)";

/// The characters of a regular expression that do not follow a backslash.
fn plain_characters(pattern: &str) -> impl Iterator<Item = char> {
    let mut is_escaped = false;
    pattern.chars().filter(move |next| {
        let is_plain = !is_escaped && *next != '\\';
        is_escaped = !is_escaped && *next == '\\';
        is_plain
    })
}

/// The same regular expression without `'`, which would end its quotation in a condition.
fn without_quotes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(next) = characters.next() {
        match next {
            '\'' => written.push_str(r"\x27"),
            '\\' => match characters.next() {
                Some('\'') => written.push_str(r"\x27"),
                escaped => written.extend(['\\'].into_iter().chain(escaped)),
            },
            _ => written.push(next),
        }
    }
    written
}

/// The requests of a client: an address or a network.
pub(super) fn of_client(value: &str) -> Selection {
    let (address, bits) = value.split_once('/').map_or((value, None), |(a, b)| (a, Some(b)));
    let Ok(address) = address.parse::<std::net::IpAddr>() else { return Selection::Unknown };
    let bits_max = if address.is_ipv4() { 32 } else { 128 };
    match bits.map(str::parse::<u8>) {
        None => {}
        Some(Ok(bits)) if bits <= bits_max => {}
        Some(_) => return Selection::Unknown,
    }
    Selection::those(format!("client={value}"))
}

#[cfg(test)]
mod tests {
    use super::{Case, Selection, TextField, bytewise, of_client};
    use weir_core::Condition;

    const PATH: TextField = TextField { name: "path", case: Case::Kept };

    #[test]
    fn parts_that_are_not_known_let_more_requests_count() {
        use Selection::{Everything, Nothing, Unknown};
        let a = || Selection::those("a=1".to_owned());
        let part =
            |condition: &str| Selection::Those { condition: condition.to_owned(), is_whole: false };
        for (found, expected) in [
            (Selection::all(vec![]), Everything),
            (Selection::all(vec![a(), Everything]), a()),
            (Selection::all(vec![a(), Unknown]), part("a=1")),
            (Selection::all(vec![Unknown, Everything]), Unknown),
            (Selection::all(vec![Unknown, Nothing]), Nothing),
            (Selection::any(vec![]), Nothing),
            (Selection::any(vec![a(), Nothing]), a()),
            (Selection::any(vec![a(), Unknown]), Unknown),
            (Selection::any(vec![Unknown, Everything]), Everything),
            (Selection::any(vec![part("b=1"), a()]), part("(b=1 or a=1)")),
            (a().not(), Selection::those("not (a=1)".to_owned())),
            (part("a=1").not(), Unknown),
            (Unknown.not(), Unknown),
            (Nothing.not(), Everything),
            (Everything.not(), Nothing),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_value_in_one_case_never_has_the_other() {
        let lower = PATH.with_case(Case::Lower);
        assert_eq!(lower.equals("/A"), Selection::Nothing);
        assert_eq!(lower.contains("/a"), Selection::those("path~'(?i)/a'".to_owned()));
        assert_eq!(lower.matches("^/[A-Z]"), Selection::Unknown);
        assert_eq!(lower.matches(r"\D"), Selection::those(r"path~'(?i)(?-u)\D'".to_owned()));
        let upper = PATH.with_case(Case::Upper);
        assert_eq!(upper.begins_with("/a"), Selection::Nothing);
        assert_eq!(upper.ends_with("/A"), Selection::those("path~'(?i)/A$'".to_owned()));
        assert_eq!(PATH.matches("("), Selection::Unknown);
        assert_eq!(PATH.contains(""), Selection::Everything);
    }

    #[test]
    fn an_expression_matches_bytes_that_are_not_utf_8() {
        let value = b"/\xff/\xe9b";
        for (pattern, written) in [
            ("^/./", "(?-u)^/./"),
            ("^/[^a]/", "(?-u)^/[^a]/"),
            (r"^/\W/", r"(?-u)^/\W/"),
            (r"/\D\w", r"(?-u)/\D\w"),
            (r".\.|/", r"(?-u).\.|/"),
            // These match what they name.
            ("/[.a]|/", "/[.a]|/"),
            (r"/\.|[a^]|/", r"/\.|[a^]|/"),
            (r"\\.|/", r"(?-u)\\.|/"),
            // A class of bytes cannot have this character.
            ("[é].|/", "[é].|/"),
            ("é.|/", "(?-u)é.|/"),
        ] {
            let found = bytewise(pattern);
            assert_eq!(found, written);
            let regex = regex::bytes::Regex::new(&found).expect(written);
            assert!(regex.is_match(value), "{written}");
        }
    }

    #[test]
    fn every_selection_is_a_condition() {
        for selection in [
            PATH.equals("' or path~'"),
            PATH.matches(r"a\'b'\\'c"),
            PATH.wildcard(r"/a\*'*"),
            PATH.equals(""),
            of_client("192.0.2.0/24"),
            of_client("2001:db8::1"),
            Selection::Nothing,
        ] {
            let condition = selection.condition().expect("there is one");
            Condition::parse(&condition).expect(&condition);
        }
        assert_eq!(
            PATH.matches(r"a\'b'\\'c"),
            Selection::those(r"path~'a\x27b\x27\\\x27c'".to_owned())
        );
        assert_eq!(PATH.wildcard(r"/a\**"), Selection::those(r"path~'^/a\*(?s-u:.*)$'".to_owned()));
        for not_one in ["", "x", "192.0.2.0/33", "192.0.2.1..192.0.2.9", "192.0.2.0/24/1", "::/129"]
        {
            assert_eq!(of_client(not_one), Selection::Unknown, "{not_one}");
        }
    }
}
