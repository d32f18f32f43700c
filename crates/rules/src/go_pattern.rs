//! Translates Go's regular expressions for the `regex` crate.
//!
//! Both use RE2's language and match in linear time. [`translated`] bridges a few differences of
//! syntax: Go takes `{` without a number literally, `[` and `&&` inside a class literally, and `\<`
//! as `<`, and it supports `\Q...\E`.

use weir_core::{BoundedRegex, PatternBudget, RegexOptions};

use crate::error::Reason;

/// The size limits that are tried in turn for a compiled pattern, in bytes.
const PATTERN_BYTES: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];

/// The size limit for the compiled patterns of a file, in bytes.
const SET_BYTES_MAX: usize = 256 << 20;

/// Compiles a pattern. Also returns the most memory that it may take, in bytes.
///
/// # Errors
/// If it is not a valid pattern or too large.
pub(crate) fn compile(
    pattern: &str,
    budget: &PatternBudget,
) -> Result<(BoundedRegex, usize), Reason> {
    let translated = translated(pattern);
    let is_unicode = needs_unicode(&translated);
    let mut compiled = Err(Reason::from(""));
    for bytes in PATTERN_BYTES {
        let options =
            RegexOptions { is_unicode, program_bytes_max: bytes, ..RegexOptions::default() };
        compiled = match BoundedRegex::new(&translated, options, budget) {
            Ok(regex) => return Ok((regex, bytes)),
            Err(error @ regex::Error::CompiledTooBig(_)) => Err(reason(&error)),
            Err(error) => return Err(reason(&error)),
        };
    }
    compiled
}

/// Why the patterns of a file cannot be used.
#[derive(Debug)]
pub(crate) struct SetError {
    /// The index of the invalid pattern; `None` if no single pattern is at fault.
    pub(crate) index: Option<usize>,
    pub(crate) reason: Reason,
}

/// Compiles the patterns of a file into a set.
///
/// # Errors
/// If a pattern is not valid, or all of them are too large.
pub(crate) fn compile_set(
    patterns: &[Vec<u8>],
    budget: &PatternBudget,
) -> Result<BoundedRegex, SetError> {
    // Each is compiled alone to find the one at fault; only the set is kept and counted.
    let uncounted = PatternBudget::default();
    let mut texts = Vec::new();
    for (number, pattern) in patterns.iter().enumerate() {
        let text = std::str::from_utf8(pattern);
        let wrong = |reason| SetError { index: Some(number), reason };
        let text = text.map_err(|_| wrong("it is not UTF-8".into()))?;
        if budget.is_stopped() {
            break;
        }
        compile(text, &uncounted).map_err(wrong)?;
        texts.push(translated(text));
    }
    let is_unicode = texts.iter().any(|text| needs_unicode(text));
    let options =
        RegexOptions { is_unicode, program_bytes_max: SET_BYTES_MAX, ..RegexOptions::default() };
    let set = BoundedRegex::any_of(&texts, options, budget);
    set.map_err(|error| SetError { index: None, reason: reason(&error) })
}

/// Whether a pattern contains characters beyond ASCII. Without them, a class such as `\d` has only
/// ASCII characters, as in Go, and `.` matches bytes that are not UTF-8.
fn needs_unicode(pattern: &str) -> bool {
    !pattern.is_ascii() || pattern.contains("\\p") || pattern.contains("\\P")
}

fn reason(error: &regex::Error) -> Reason {
    match error {
        regex::Error::CompiledTooBig(_) => "it takes too much memory".into(),
        // The last line is the reason; the lines before it show the position with a caret.
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned().into()
        }
    }
}

/// Translates a Go pattern to the syntax of the `regex` crate.
fn translated(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut is_in_class = false;
    // Whether the next character is the first of a class, at which `]` is literal.
    let mut is_first = false;
    while let Some(c) = rest.chars().next() {
        let was_first = std::mem::take(&mut is_first);
        let length = match c {
            '\\' if rest.starts_with("\\Q") => {
                let quoted = &rest[2..];
                let end = quoted.find("\\E").unwrap_or(quoted.len());
                text += &regex::escape(&quoted[..end]);
                (2 + end + 2).min(rest.len())
            }
            '\\' => {
                let escaped = rest[1..].chars().next();
                match escaped {
                    Some(angle @ ('<' | '>')) => text.push(angle),
                    Some(other) => text.extend(['\\', other]),
                    None => text.push('\\'),
                }
                1 + escaped.map_or(0, char::len_utf8)
            }
            '[' if is_in_class && rest.starts_with("[:") => {
                let end = rest.find(":]").map_or(1, |end| end + 2);
                text += if end == 1 { "\\[" } else { &rest[..end] };
                end
            }
            '[' if is_in_class => {
                text += "\\[";
                1
            }
            '[' => {
                is_in_class = true;
                is_first = true;
                text.push('[');
                let is_negated = rest[1..].starts_with('^');
                text += if is_negated { "^" } else { "" };
                1 + usize::from(is_negated)
            }
            ']' if is_in_class && was_first => {
                text += "\\]";
                1
            }
            ']' if is_in_class => {
                is_in_class = false;
                text.push(']');
                1
            }
            '&' | '~' if is_in_class => {
                text.extend(['\\', c]);
                1
            }
            '{' if !is_in_class && !is_repetition(rest) => {
                text += "\\{";
                1
            }
            other => {
                text.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    text
}

/// Whether a text begins with a repetition such as `{2}`, `{2,}` or `{2,3}`.
fn is_repetition(text: &str) -> bool {
    let Some((inside, _)) = text[1..].split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && are_digits(least) && are_digits(most)
}

#[cfg(test)]
mod tests {
    use weir_core::PatternBudget;

    use super::{compile, compile_set, translated};

    #[test]
    fn patterns_of_go_mean_the_same() {
        for (pattern, text, matches) in [
            (r"${jndi", "x", false),
            (r"\${jndi:(ldap|rmi)", "${jndi:ldap", true),
            (r"a{2,3}b{", "aab{", true),
            (r"[^[]x", "ax", true),
            (r"[^[]x", "[x", false),
            (r"[]a]", "]", true),
            (r"[a&&b]", "&", true),
            (r"[[:alpha:]]\<", "a<", true),
            (r"^\Qa.b\E+$", "a.bb", true),
            (r"^\Qa.b\E+$", "axb", false),
            (r"(?i)^get$", "GET", true),
            (r"(?P<a>x)", "x", true),
        ] {
            let (regex, _) = compile(pattern, &PatternBudget::default())
                .unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(regex.is_match(text.as_bytes()), matches, "{pattern} on {text}");
        }
        assert_eq!(translated(r"[\]a]"), r"[\]a]");
    }

    #[test]
    fn bytes_that_are_not_text_are_matched() {
        let (regex, _) = compile("^a.*b$", &PatternBudget::default()).expect("a pattern");
        assert!(regex.is_match(b"a\xff\xfeb"));
    }

    #[test]
    fn what_re2_has_not_is_refused() {
        for pattern in ["(?=a)", r"(a)\1", "(", "a{1000000}{1000000}"] {
            assert!(compile(pattern, &PatternBudget::default()).is_err(), "{pattern}");
        }
        let error = compile_set(&[b"ok".to_vec(), b"(".to_vec()], &PatternBudget::default())
            .expect_err("a wrong pattern");
        assert_eq!(error.index, Some(1));
    }
}
