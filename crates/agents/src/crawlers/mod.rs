//! Named crawlers, by the patterns of crawler-user-agents and a table of their operators.

mod kind;
mod unnamed;

pub use kind::CrawlerKind;

use std::collections::HashMap;

use memchr::memmem;

use self::unnamed::UnnamedBots;
use crate::expressions::{Expressions, Origin, TEXT_BYTES_MAX, Written};
use crate::list::{self, Entry, ListError, ListOrigin, Problem};

/// The patterns that the program contains.
const EMBEDDED: &[u8] = include_bytes!("../../lists/crawlers.txt");

/// Names, kinds and operators of patterns, where the pattern or its tags do not tell them.
const NOTES: &[u8] = include_bytes!("../../lists/crawler-notes.txt");

/// The name of a crawler that is not named.
const UNNAMED: &str = "unnamed bot";

/// The longest major version, in digits.
const MAJOR_DIGITS_MAX: usize = 8;

/// A crawler that an agent names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crawler<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is for.
    pub kind: CrawlerKind,
    /// Who runs it, if that is certain.
    pub operator: Option<&'a str>,
    /// The major version, if the agent tells one.
    pub major: Option<&'a [u8]>,
}

/// The patterns of crawlers.
#[derive(Debug)]
pub(crate) struct Crawlers {
    pub(crate) origin: ListOrigin,
    patterns: Expressions,
    about: Vec<About>,
    unnamed: UnnamedBots,
}

/// What is known about the crawler of a pattern.
#[derive(Debug)]
struct About {
    name: String,
    kind: CrawlerKind,
    operator: Option<String>,
}

impl Crawlers {
    pub(crate) fn embedded() -> Self {
        // A test reads the list.
        Self::read(EMBEDDED, Origin::Embedded).unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// Reads a list: a pattern, tags or a kind, and maybe a name and an operator.
    pub(crate) fn read(bytes: &[u8], origin: Origin) -> Result<Self, ListError> {
        let (source, entries) = list::read(bytes, &[("crawler", 4)])?;
        let (_, notes) = list::read(NOTES, &[("note", 4)])?;
        let notes: HashMap<&str, &Entry> =
            notes.iter().map(|note| (note.column(0), note)).collect();
        let about = |entry: &Entry| About::new(entry, notes.get(entry.column(0)).copied(), origin);
        let about = entries.iter().map(about).collect::<Result<_, _>>()?;
        let written =
            |entry: &Entry| Written { line: entry.line, text: entry.column(0).to_owned() };
        let patterns = Expressions::new(entries.iter().map(written).collect(), origin)?;
        Ok(Self { origin: source, patterns, about, unnamed: UnnamedBots::new() })
    }

    /// Returns the number of its patterns.
    pub(crate) fn patterns(&self) -> usize {
        self.about.len()
    }

    /// Returns the crawler of an agent.
    ///
    /// If several patterns match, a library or a tool is what the crawler was made with, and the
    /// longest match says most.
    pub(crate) fn find<'a>(&'a self, agent: &'a [u8]) -> Option<Crawler<'a>> {
        let agent = &agent[..agent.len().min(TEXT_BYTES_MAX)];
        let rank = |found: &(usize, &[u8])| {
            let is_tool = self.about[found.0].kind == CrawlerKind::Tool;
            (!is_tool, found.1.len(), std::cmp::Reverse(found.0))
        };
        let Some((number, matched)) = self.patterns.all(agent).into_iter().max_by_key(rank) else {
            let is_bot = self.unnamed.is_match(agent);
            let kind = CrawlerKind::Unnamed;
            return is_bot.then_some(Crawler { name: UNNAMED, kind, operator: None, major: None });
        };
        let about = &self.about[number];
        let end = memmem::find(agent, matched).map(|start| start + matched.len());
        Some(Crawler {
            name: &about.name,
            kind: about.kind,
            operator: about.operator.as_deref(),
            major: end.and_then(|end| major(&agent[end..])),
        })
    }
}

/// Returns the major version at the beginning of a text: `/2.1`, ` v3`, or `2.1` after a slash that
/// the pattern has.
fn major(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"/").or_else(|| text.strip_prefix(b" ")).unwrap_or(text);
    let text = text.strip_prefix(b"v").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=MAJOR_DIGITS_MAX).contains(&digits).then(|| &text[..digits])
}

impl About {
    /// What is known from an entry of a list and from a note about the same pattern. The kinds of a
    /// list that a user has named are those that it says.
    fn new(entry: &Entry, note: Option<&Entry>, origin: Origin) -> Result<Self, ListError> {
        let noted = |column: usize| note.map_or("", |note| note.column(column));
        let known = |own: usize, noted: &str| match entry.column(own) {
            "" => noted.to_owned(),
            own => own.to_owned(),
        };
        let tags = match noted(2) {
            kind if origin == Origin::Embedded && !kind.is_empty() => kind,
            _ => entry.column(1),
        };
        let kind = CrawlerKind::of_tags(tags).map_err(|tag| {
            let (found, expected) = (tag.chars().take(40).collect(), CrawlerKind::texts());
            entry.error(Problem::Word { found, expected })
        })?;
        let name = match known(2, noted(1)) {
            name if name.is_empty() => name_of(entry.column(0)),
            name => name,
        };
        let operator = Some(known(3, noted(3))).filter(|operator| !operator.is_empty());
        Ok(Self { name, kind, operator })
    }
}

/// Returns the name that a pattern spells: itself without the signs of expressions at its ends.
fn name_of(pattern: &str) -> String {
    let text = pattern.replace('\\', "");
    let name = text.trim_matches(|sign: char| "^$/(); ".contains(sign));
    if name.is_empty() { pattern.to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Crawlers, EMBEDDED, NOTES, name_of};
    use crate::expressions::Origin;
    use crate::list;

    fn read(text: &str) -> Result<Crawlers, crate::ListError> {
        Crawlers::read(text.as_bytes(), Origin::User)
    }

    #[test]
    fn a_tool_yields_and_the_longest_match_wins() {
        let list = read(
            "crawler\tlibrary-of-long-name\thttp-library\ncrawler\tbot\tseo\n\
             crawler\tfastbot\\/\tmonitoring\tFast Bot\tFast Inc.\n",
        )
        .expect("it is valid");
        let find = |agent: &'static str| list.find(agent.as_bytes()).expect("it is a crawler");
        let found = find("fastbot/12.1 (library-of-long-name/2)");
        assert_eq!(
            (found.name, found.kind.text(), found.operator),
            ("Fast Bot", "monitor", Some("Fast Inc."))
        );
        assert_eq!(found.major, Some(&b"12"[..]));
        assert_eq!(find("library-of-long-name v3 bot").name, "bot");
        let found = find("library-of-long-name v3");
        assert_eq!((found.name, found.major), ("library-of-long-name", Some(&b"3"[..])));
        assert_eq!(find("a crawler").name, "unnamed bot");
        assert_eq!(list.find(b"Firefox"), None);
    }

    #[test]
    fn the_kind_of_a_users_list_wins() {
        let list = read("crawler\tGPTBot\tmonitoring\n").expect("it is valid");
        let found = list.find(b"GPTBot/1.2").expect("it is a crawler");
        assert_eq!((found.kind.text(), found.operator), ("monitor", Some("OpenAI")));
        let embedded = Crawlers::embedded();
        let found = embedded.find(b"GPTBot/1.2").expect("it is a crawler");
        assert_eq!(found.kind.text(), "ai_training");
    }

    #[test]
    fn a_wrong_kind_is_named_with_its_line() {
        let error = read("crawler\ta\tseo\ncrawler\tb\tsearching\n").expect_err("it is wrong");
        assert_eq!(error.line(), 2);
        assert!(error.to_string().contains("`searching` is not known; use search, "), "{error}");
    }

    #[test]
    fn each_note_is_about_a_pattern_of_the_list() {
        let (_, entries) = list::read(EMBEDDED, &[("crawler", 4)]).expect("the list is valid");
        let (_, notes) = list::read(NOTES, &[("note", 4)]).expect("the notes are valid");
        let patterns: Vec<_> = entries.iter().map(|entry| entry.column(0)).collect();
        let mut seen = Vec::new();
        for note in &notes {
            assert!(patterns.contains(&note.column(0)), "line {}: {}", note.line, note.column(0));
            assert!(!seen.contains(&note.column(0)), "line {}: a second note", note.line);
            seen.push(note.column(0));
        }
        // A pattern that is more than a text has a name in the notes.
        for entry in &entries {
            let name = name_of(entry.column(0));
            let is_name = !name.contains(['[', ']', '*', '|', '+', '?']);
            assert!(is_name || seen.contains(&entry.column(0)), "{}", entry.column(0));
        }
    }

    #[test]
    fn each_embedded_pattern_can_be_compiled() {
        let list = Crawlers::read(EMBEDDED, Origin::User).expect("they are valid");
        assert!(list.patterns() >= 1500, "{}", list.patterns());
    }
}
