//! Operators of ModSecurity.

use std::net::IpAddr;

use aho_corasick::AhoCorasick;
use memchr::memmem;
use weir_core::{AddressBlock, PatternBudget};

use super::expression::{Expression, Search};
use super::transaction::number;
use crate::error::Reason;
use crate::files::RuleFiles;

/// The most bytes of the texts that an operator searches for at once.
const WORDS_BYTES_MAX: usize = 4 << 20;

/// The memory of a byte of these texts in the automaton that finds them, about, in bytes.
const WORD_PROGRAM_BYTES: usize = 32;

/// How many times longer a search that backtracks takes.
const BACKTRACKING_WORK: usize = 16;

/// A test of a value.
#[derive(Debug, Clone)]
pub(super) enum Operator {
    Matches(Expression),
    /// The value has one of these texts, in upper or lower case.
    HasWord(AhoCorasick),
    Contains(Vec<u8>),
    Equals(Vec<u8>),
    BeginsWith(Vec<u8>),
    EndsWith(Vec<u8>),
    /// The value is a part of this text.
    Within(Vec<u8>),
    InNetworks(Vec<AddressBlock>),
    /// The value as a number lies between these.
    Between(i64, i64),
    /// The value has a byte that is not marked here.
    HasOtherByte(Box<[bool; 256]>),
    /// A `%` of the value is not followed by two hexadecimal digits.
    HasBrokenEscape,
    NotUtf8,
    Always,
    Never,
}

/// Makes an operator from its argument.
pub(super) type MakeOperator = fn(Vec<u8>) -> Operator;

impl Operator {
    /// An operator by its name without `@`. `captures` is whether its rule uses groups.
    ///
    /// # Errors
    /// With the reason if it is not known, or its argument is not valid.
    pub(super) fn new(
        name: &str,
        argument: &str,
        captures: bool,
        files: &RuleFiles,
    ) -> Result<Self, Reason> {
        let budget = files.budget();
        let bytes = || argument.as_bytes().to_vec();
        let number =
            || argument.trim().parse::<i64>().map_err(|_| format!("`{argument}` is not a number"));
        Ok(match name.to_ascii_lowercase().as_str() {
            "rx" => Self::Matches(Expression::new(argument, captures, budget)?),
            "pm" => words(argument.split_whitespace(), budget)?,
            "pmfromfile" | "pmf" => {
                let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
                let text = |name: String| {
                    files
                        .text(&name)
                        .ok_or_else(|| format!("the file `{name}` was not given with the rule"))
                };
                let texts = argument.split_whitespace().map(|path| text(name(path)));
                let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
                words(texts.iter().copied().flat_map(word_lines), budget)?
            }
            "contains" | "strmatch" => Self::Contains(bytes()),
            "containsword" => {
                let word = regex::escape(argument);
                let expression = format!("(?:^|\\W){word}(?:\\W|$)");
                Self::Matches(Expression::new(&expression, captures, budget)?)
            }
            "streq" => Self::Equals(bytes()),
            "beginswith" => Self::BeginsWith(bytes()),
            "endswith" => Self::EndsWith(bytes()),
            "within" => Self::Within(bytes()),
            "ipmatch" => Self::InNetworks(networks(argument)?),
            "eq" => Self::Between(number()?, number()?),
            "ge" => Self::Between(number()?, i64::MAX),
            "gt" => Self::Between(number()?.saturating_add(1), i64::MAX),
            "le" => Self::Between(i64::MIN, number()?),
            "lt" => Self::Between(i64::MIN, number()?.saturating_sub(1)),
            "validatebyterange" => Self::HasOtherByte(byte_ranges(argument)?),
            "validateurlencoding" => Self::HasBrokenEscape,
            "validateutf8encoding" => Self::NotUtf8,
            "unconditionalmatch" => Self::Always,
            "nomatch" => Self::Never,
            _ => return Err(format!("the operator @{name} is not supported").into()),
        })
    }

    /// The operator by its name whose argument has variables, made from the argument for a request; `None`
    /// if it is not known. As in ModSecurity, what is not a number is 0.
    pub(super) fn expanded(name: &str) -> Option<MakeOperator> {
        Some(match name.to_ascii_lowercase().as_str() {
            "contains" | "strmatch" => Self::Contains,
            "streq" => Self::Equals,
            "beginswith" => Self::BeginsWith,
            "endswith" => Self::EndsWith,
            "within" => Self::Within,
            "eq" => |text| Self::Between(number(&text), number(&text)),
            "ge" => |text| Self::Between(number(&text), i64::MAX),
            "gt" => |text| Self::Between(number(&text).saturating_add(1), i64::MAX),
            "le" => |text| Self::Between(i64::MIN, number(&text)),
            "lt" => |text| Self::Between(i64::MIN, number(&text).saturating_sub(1)),
            _ => return None,
        })
    }

    /// About how many bytes are looked at to test a value of some bytes.
    pub(super) fn work(&self, value_bytes: usize) -> usize {
        match self {
            Self::Within(text) => text.len(),
            Self::InNetworks(networks) => size_of_val(&networks[..]),
            operator if operator.backtracks() => value_bytes.saturating_mul(BACKTRACKING_WORK),
            _ => value_bytes,
        }
    }

    /// Whether a search may take many steps.
    pub(super) fn backtracks(&self) -> bool {
        matches!(self, Self::Matches(Expression::Backtracking(..)))
    }

    /// Tests a value. With `captures`, the texts of an accepted value's groups are returned.
    pub(super) fn search(&self, value: &[u8], captures: bool) -> Search {
        match self {
            Self::Matches(expression) => expression.search(value, captures),
            Self::HasWord(words) => match words.find(value) {
                Some(found) => Search::Match(vec![value[found.range()].to_vec()]),
                None => Search::Nothing,
            },
            operator if operator.accepts(value) => Search::Match(vec![value.to_vec()]),
            _ => Search::Nothing,
        }
    }

    fn accepts(&self, value: &[u8]) -> bool {
        let contains = |whole: &[u8], part: &[u8]| memmem::find(whole, part).is_some();
        match self {
            Self::Matches(_) | Self::HasWord(_) => false,
            Self::Contains(text) => contains(value, text),
            Self::Equals(text) => value == text,
            Self::BeginsWith(text) => value.starts_with(text),
            Self::EndsWith(text) => value.ends_with(text),
            Self::Within(text) => contains(text, value),
            Self::InNetworks(networks) => AddressBlock::any_contains(networks, value),
            Self::Between(min, max) => (*min..=*max).contains(&number(value)),
            Self::HasOtherByte(known) => value.iter().any(|byte| !known[usize::from(*byte)]),
            Self::HasBrokenEscape => has_broken_escape(value),
            Self::NotUtf8 => std::str::from_utf8(value).is_err(),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// The words of a file: its lines without comments.
fn word_lines(text: &str) -> impl Iterator<Item = &str> + Clone {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// An operator that finds one of some texts, without regard to upper and lower case.
fn words<'t>(
    texts: impl Iterator<Item = &'t str> + Clone,
    budget: &PatternBudget,
) -> Result<Operator, Reason> {
    let bytes: usize = texts.clone().map(str::len).sum();
    if bytes == 0 {
        return Ok(Operator::Never);
    }
    let too_large = || Reason::from("the list has more than 4 MiB of words");
    let build = |_| {
        let built = AhoCorasick::builder().ascii_case_insensitive(true).build(texts.clone());
        let automaton = built.map_err(|_| too_large())?;
        Ok((automaton.memory_usage(), automaton))
    };
    if bytes > WORDS_BYTES_MAX {
        return Err(too_large());
    }
    let program_bytes = bytes * WORD_PROGRAM_BYTES;
    let words = budget.fit((1, bytes), program_bytes, |_| false, |_| too_large(), build)?;
    Ok(Operator::HasWord(words))
}

/// The bytes of `@validateByteRange`: numbers and ranges of them.
fn byte_ranges(text: &str) -> Result<Box<[bool; 256]>, Reason> {
    let mut known = Box::new([false; 256]);
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u8>().ok();
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(format!("`{part}` is not a range of bytes (0 to 255)").into());
        };
        (first..=last).for_each(|byte| known[usize::from(byte)] = true);
    }
    Ok(known)
}

fn has_broken_escape(value: &[u8]) -> bool {
    let is_broken = |at: usize| {
        let digits = value.get(at + 1..at + 3);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    value.iter().enumerate().any(|(at, byte)| *byte == b'%' && is_broken(at))
}

fn networks(text: &str) -> Result<Vec<AddressBlock>, Reason> {
    let network = |text: &str| {
        let address = || text.parse::<IpAddr>().ok().map(AddressBlock::of);
        AddressBlock::parse(text)
            .or_else(address)
            .ok_or_else(|| Reason::from(format!("`{text}` is not a network or an address")))
    };
    let pieces = text.split([',', ' ']).map(str::trim).filter(|piece| !piece.is_empty());
    pieces.map(network).collect()
}

#[cfg(test)]
mod tests {
    use super::{Operator, Search};
    use crate::files::RuleFiles;

    #[test]
    fn operators_are_those_of_the_manual() {
        let mut files = RuleFiles::default();
        files.add("bad.data".to_owned(), "# bad\nnikto\n\nsqlmap/1\n".to_owned());
        for (name, argument, accepted, refused) in [
            ("pmFromFile", "x/bad.data", "a SQLMAP/1.2", "# bad"),
            ("rx", "^/a.b$", "/a\nb", "/a.b/"),
            ("pm", "Nikto sqlmap", "x NIKTO/2", "nik to"),
            ("contains", "../", "/../x", "/..x"),
            ("containsWord", "union", "a union b", "reunions"),
            ("streq", "GET", "GET", "get"),
            ("beginsWith", "/admin", "/admin/x", "/x/admin"),
            ("endsWith", ".php", "/a.php", "/a.php5"),
            ("within", "GET POST", "POST", "PUT"),
            ("ipMatch", "192.0.2.0/24,2001:db8::1", "192.0.2.9", "192.0.3.9"),
            ("ge", "5", "5", "4"),
            ("lt", "5", "4", "5"),
            ("validateByteRange", "32-36,38-126", "a%", "a b"),
            ("validateUrlEncoding", "", "%4", "%41"),
            ("unconditionalMatch", "", "x", ""),
        ] {
            let operator = Operator::new(name, argument, false, &files).expect(name);
            let accepts = |text: &str| operator.search(text.as_bytes(), false) != Search::Nothing;
            assert!(accepts(accepted), "{name} {accepted}");
            assert!(name == "unconditionalMatch" || !accepts(refused), "{name} {refused}");
        }
        for (name, argument, reason) in [
            ("detectSQLi", "", "not supported"),
            ("rx", "(", "the syntax of the expression"),
            ("validateByteRange", "1-300", "not a range of bytes"),
            ("pmFromFile", "other.data", "the file `other.data` was not given"),
            ("ge", "x", "not a number"),
            ("ipMatch", "x", "not a network"),
        ] {
            let error = Operator::new(name, argument, false, &files).expect_err(name);
            assert!(error.to_string().contains(reason), "{name}: {error}");
        }
    }
}
