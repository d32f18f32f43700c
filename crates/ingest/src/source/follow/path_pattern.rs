//! Patterns of paths, such as `/var/log/nginx/*.log`.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// A pattern of paths: `*` stands for any bytes of a name, `?` for any byte, `[a-z]` for one of
/// these, and `[!a-z]` for any other. None of them stands for a slash, or for a dot at the start of
/// a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    /// The folder in which the search begins.
    pub(super) folder: PathBuf,
    /// The patterns of the names below it, one for each level; at least one.
    pub(super) names: Vec<NamePattern>,
}

/// A pattern of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamePattern(Vec<u8>);

impl PathPattern {
    /// Parses a path. `None` if nothing in it stands for more than one name.
    pub(super) fn parse(path: &Path) -> Option<Self> {
        let is_pattern = |part: &Component<'_>| {
            part.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
        };
        let parts: Vec<Component<'_>> = path.components().collect();
        let first = parts.iter().position(is_pattern)?;
        let folder = parts[..first].iter().collect();
        let names = parts[first..].iter().map(|part| NamePattern::new(part.as_os_str())).collect();
        Some(Self { folder, names })
    }
}

impl NamePattern {
    fn new(pattern: &OsStr) -> Self {
        Self(pattern.as_encoded_bytes().to_vec())
    }

    /// Whether the pattern matches a name.
    ///
    /// A star that is met later takes over from an earlier one: whatever the earlier one matched, it
    /// need not match more. So the time is bounded by the product of the two lengths.
    pub(super) fn matches(&self, name: &OsStr) -> bool {
        let (pattern, name) = (&self.0[..], name.as_encoded_bytes());
        if name.starts_with(b".") && !pattern.starts_with(b".") {
            return false;
        }
        let (mut at, mut read) = (0, 0);
        // Where the pattern goes on after the last star, and where in the name.
        let mut retry = None;
        loop {
            if pattern.get(at) == Some(&b'*') {
                at += 1;
                retry = Some((at, read));
                continue;
            }
            let step = name.get(read).map(|byte| step(&pattern[at..], *byte));
            match (step, retry) {
                (None, _) => return at == pattern.len(),
                (Some(Some(length)), _) if length > 0 => (at, read) = (at + length, read + 1),
                (_, Some((after_star, from))) => {
                    (at, read) = (after_star, from + 1);
                    retry = Some((after_star, from + 1));
                }
                (_, None) => return false,
            }
        }
    }
}

/// Returns the length of the start of a pattern that matches a byte; `None` if it does not.
fn step(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern.first()? {
        b'?' => Some(1),
        b'[' => match class(pattern) {
            Some((length, members, is_negated)) => {
                (is_member(members, byte) != is_negated).then_some(length)
            }
            // Without its end, a bracket stands for itself.
            None => (byte == b'[').then_some(1),
        },
        literal => (*literal == byte).then_some(1),
    }
}

/// Returns the length of the class at the start of a pattern, its members, and whether it stands for
/// all others.
fn class(pattern: &[u8]) -> Option<(usize, &[u8], bool)> {
    let is_negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = 1 + usize::from(is_negated);
    // A bracket that comes first is a member.
    let length = pattern.get(start + 1..)?.iter().position(|byte| *byte == b']')? + 1;
    Some((start + length + 1, &pattern[start..start + length], is_negated))
}

fn is_member(mut members: &[u8], byte: u8) -> bool {
    while let [first, rest @ ..] = members {
        if let [b'-', last, after @ ..] = rest {
            if (*first..=*last).contains(&byte) {
                return true;
            }
            members = after;
        } else {
            if *first == byte {
                return true;
            }
            members = rest;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use proptest::prelude::*;

    use super::{NamePattern, PathPattern, class, step};

    fn matches(pattern: &str, name: &str) -> bool {
        NamePattern::new(OsStr::new(pattern)).matches(OsStr::new(name))
    }

    #[test]
    fn names_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*.log", "access.log", true),
            ("*.log", "access.log.1", false),
            ("*", "access.log", true),
            ("*", ".hidden", false),
            (".*", ".hidden", true),
            ("?.log", "a.log", true),
            ("?.log", "ab.log", false),
            ("access*.log", "access.2026-11-26.log", true),
            ("site[0-9].log", "site7.log", true),
            ("site[0-9].log", "sitex.log", false),
            ("site[!0-9].log", "sitex.log", true),
            ("site[^0-9].log", "site7.log", false),
            ("[]a]", "]", true),
            ("[]a]", "a", true),
            ("[a-]", "-", true),
            ("a[b", "a[b", true),
            ("a[b", "ab", false),
            ("*a*b*c", "xxaxxbxxc", true),
            ("*a*b*c", "xxaxxcxxb", false),
            ("", "", true),
            ("a**", "a", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_begins_at_the_first_name_with_a_wildcard() {
        let pattern = PathPattern::parse(Path::new("/var/www/*/logs/access.log")).expect("one");
        assert_eq!(pattern.folder, Path::new("/var/www"));
        assert_eq!(pattern.names.len(), 3);
        assert_eq!(PathPattern::parse(Path::new("*.log")).expect("one").folder, Path::new(""));
        assert_eq!(PathPattern::parse(Path::new("/var/log/access.log")), None);
    }

    #[test]
    fn many_stars_take_no_long_time() {
        assert!(!matches(&"a*".repeat(100), &"a".repeat(99)));
        assert!(!matches(&format!("{}b", "*a".repeat(60)), &"a".repeat(250)));
    }

    /// Tries every number of bytes for each star.
    fn naive(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some(b'*'), _) => (0..=name.len()).any(|taken| naive(&pattern[1..], &name[taken..])),
            (Some(_), Some(byte)) => {
                step(pattern, *byte).is_some_and(|length| naive(&pattern[length..], &name[1..]))
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_match_is_that_of_the_naive_search(
            pattern in "[ab*?]{0,8}(\\[!?[ab-]{1,3}\\])?[ab*\\]]{0,4}",
            name in "[ab\\-\\[\\]]{0,10}",
        ) {
            prop_assert_eq!(matches(&pattern, &name), naive(pattern.as_bytes(), name.as_bytes()));
            if let Some((length, members, _)) = class(pattern.as_bytes()) {
                prop_assert!(length <= pattern.len() && !members.is_empty());
            }
        }
    }
}
