//! The part of a text that a rule of it needs.

use std::ops::Range;

use crate::fail2ban;
use crate::rule::Family;
use crate::windows;

/// The sections of a jail's text that are no jails.
const SHARED_SECTIONS: [&str; 4] = ["DEFAULT", "INCLUDES", "Definition", "Init"];

/// A part of a text.
#[derive(Debug)]
pub(crate) struct RuleExcerpt {
    /// The excerpt.
    pub(crate) text: String,
    /// The places in the whole text that it consists of.
    parts: Vec<Range<usize>>,
    /// The places in the excerpt that no other rule needs.
    own: Vec<Range<usize>>,
}

impl RuleExcerpt {
    /// All of a text.
    pub(crate) fn whole(text: &str) -> Self {
        let all = 0..text.len();
        Self { text: text.to_owned(), parts: vec![all.clone()], own: vec![all] }
    }

    /// Whether a text is one of fail2ban.
    pub(crate) fn is_of_jail(text: &str, family: Option<Family>) -> bool {
        family.map_or_else(|| fail2ban::looks_like(text), |family| family == Family::Fail2ban)
    }

    /// The section of a jail, and those that all jails have in common. Returns `None` if that is the
    /// whole text, or if the text is not one of fail2ban.
    pub(crate) fn of_jail(text: &str, name: &str, family: Option<Family>) -> Option<Self> {
        // Other jails may take options from this one.
        if !Self::is_of_jail(text, family) || text.contains(&format!("%({name}/")) {
            return None;
        }
        let mut found = Self { text: String::new(), parts: Vec::new(), own: Vec::new() };
        let (mut at, mut is_own, mut is_shared) = (0, false, true);
        for line in text.split_inclusive('\n') {
            let header = line.trim_end().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            if let Some(section) = header {
                is_own = section == name;
                is_shared = SHARED_SECTIONS.contains(&section);
            }
            if is_own {
                found.own.push(found.text.len()..found.text.len() + line.len());
            }
            if is_own || is_shared {
                found.parts.push(at..at + line.len());
                found.text.push_str(line);
            }
            at += line.len();
        }
        (found.text.len() < text.len()).then_some(found)
    }

    /// The line of one of several limits, each of which is a line. Returns `None` if that is the
    /// whole text, or if the text is in another language.
    pub(crate) fn of_line(text: &str, number: usize, family: Option<Family>) -> Option<Self> {
        let is_of_lines =
            family.map_or_else(|| windows::looks_like(text), |family| family == Family::Windows);
        if !is_of_lines {
            return None;
        }
        let lines = windows::lines(text).filter(|words| !words.is_empty());
        let start = lines.into_iter().nth(number)?.first()?.start;
        let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let mut found = Self::whole(&text[start..end]);
        let part = start..end;
        found.parts = vec![part];
        (found.text.len() < text.len()).then_some(found)
    }

    /// Whether a place in the excerpt belongs to the rule alone.
    pub(crate) fn is_own(&self, place: &Range<usize>) -> bool {
        self.own.iter().any(|own| own.start <= place.start && place.end <= own.end)
    }

    /// The place in the whole text of a place in the excerpt that lies within one line.
    pub(crate) fn place_in_text(&self, place: &Range<usize>) -> Range<usize> {
        let mut begin = 0;
        for part in &self.parts {
            if place.start < begin + part.len() {
                let start = part.start + place.start - begin;
                return start..start + place.len();
            }
            begin += part.len();
        }
        place.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::RuleExcerpt;

    #[test]
    fn places_of_an_excerpt_are_found_in_the_text() {
        let text =
            "[DEFAULT]\nmaxretry = 3\n[a]\nfailregex = ^<HOST> 1\n[b]\nfindtime = 22\n[c]\nx = 4";
        let excerpt = RuleExcerpt::of_jail(text, "b", None).expect("a part");
        assert_eq!(excerpt.text, "[DEFAULT]\nmaxretry = 3\n[b]\nfindtime = 22\n");
        let at = excerpt.text.find("22").expect("the number");
        assert_eq!(&text[excerpt.place_in_text(&(at..at + 2))], "22");
        assert!(excerpt.is_own(&(at..at + 2)), "its own section");
        let shared = excerpt.text.find('3').expect("the number");
        assert!(!excerpt.is_own(&(shared..shared + 1)), "a default of all jails");
        assert!(RuleExcerpt::of_jail("[a]\nfailregex = ^<HOST> 1", "a", None).is_none());
        assert!(RuleExcerpt::of_jail("limit 5 requests in 1m", "a", None).is_none());
        let lines = "# a\nlimit 5 in 1m\n\n  limit 22 in 2m # b\n";
        let excerpt = RuleExcerpt::of_line(lines, 1, None).expect("a line");
        assert_eq!(excerpt.text, "limit 22 in 2m # b");
        assert_eq!(&lines[excerpt.place_in_text(&(6..8))], "22");
        assert!(RuleExcerpt::of_line("limit 5 in 1m", 0, None).is_none());
        assert!(RuleExcerpt::of_line(text, 0, None).is_none());
    }
}
