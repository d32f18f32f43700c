//! How far a pattern fits lines that it does not match.

use super::engine::Pattern;

/// The longest pattern that is examined, in bytes, because its beginnings are compiled.
const PATTERN_BYTES_MAX: usize = 4 << 10;

/// The least length of a beginning that tells something: a letter or two occur in any line.
const TELLING_BYTES: usize = 4;

/// The line that the longest beginning of a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::fail2ban) struct NearestMiss {
    /// The position of the line among those that were tried.
    pub(in crate::fail2ban) line: usize,
    /// The length of the beginning that matches, in bytes of the pattern.
    pub(in crate::fail2ban) length: usize,
}

impl NearestMiss {
    /// Finds it among lines that the pattern does not match. If a beginning of a pattern matches a
    /// line, so does every shorter one, so the longest is found by halving. Returns `None` if only a
    /// few characters match.
    pub(in crate::fail2ban) fn find(pattern: &Pattern, lines: &[String]) -> Option<Self> {
        let ends = pattern.ends();
        if pattern.text().len() > PATTERN_BYTES_MAX {
            return None;
        }
        let (mut nearest, mut fits, mut fails) = (None, 0, ends.len());
        while fits < fails {
            let middle = fits + (fails - fits) / 2;
            let length = ends[middle];
            match pattern.beginning(length).and_then(|part| first_match(&part, lines)) {
                Some(line) => {
                    nearest = Some(Self { line, length });
                    fits = middle + 1;
                }
                None => fails = middle,
            }
        }
        nearest.filter(|near: &Self| near.length >= TELLING_BYTES)
    }
}

fn first_match(pattern: &Pattern, lines: &[String]) -> Option<usize> {
    lines.iter().position(|line| pattern.is_match(line) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::NearestMiss;
    use crate::fail2ban::pattern::{Groups, Pattern};

    /// The beginning that fits, and the number of the line.
    fn nearest<'p>(text: &'p str, lines: &[&str]) -> Option<(&'p str, usize)> {
        let pattern = Pattern::new(text, Groups::Failure, true, &Default::default()).expect(text);
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        let found = NearestMiss::find(&pattern, &lines)?;
        Some((&text[..found.length], found.line))
    }

    #[test]
    fn the_longest_beginning_that_fits_is_found() {
        let lines = ["no address", "192.0.2.1 - - [] \"GET / HTTP/1.1\" 200 5"];
        for (pattern, expected) in [
            (r#"^<HOST> - - \[\] "POST"#, r#"^<HOST> - - \[\] ""#),
            (r#"^<HOST> - - \[\] "GET [^"]*" 404"#, r#"^<HOST> - - \[\] "GET [^"]*" "#),
            (r#"<HOST> (?:- -|x) \[\] <F-USER>"POST</F-USER>"#, r"<HOST> (?:- -|x) \[\] "),
            (r"(?i)^<HOST> - x", r"(?i)^<HOST> - "),
        ] {
            assert_eq!(nearest(pattern, &lines), Some((expected, 1)), "{pattern}");
        }
        assert_eq!(nearest(r"^Failed for <HOST>", &lines), None);
        assert_eq!(nearest(r"^no address|^b <HOST>", &["no addres"]), None);
        assert_eq!(nearest(r"^<HOST> x", &[]), None);
        // A few letters occur in any line.
        assert_eq!(nearest("addr of <HOST>", &lines), Some(("addr", 0)));
        assert_eq!(nearest("ada <HOST>", &lines), None);
    }
}
