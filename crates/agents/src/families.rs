//! Families and systems of agents, by the expressions of uap-core.
//!
//! [The specification](https://github.com/ua-parser/uap-core/blob/master/docs/specification.md) of
//! that list: the first expression that matches decides. The name is the first group, or a
//! replacement with the groups for `$1` to `$9`; the major version is the second group, or a
//! replacement. Versions below the major one are not read.

use std::borrow::Cow;

use crate::expressions::{Expressions, Groups, Origin, Written};
use crate::list::{self, Entry, ListError, ListOrigin, Problem};

/// The list that the program contains.
const EMBEDDED: &[u8] = include_bytes!("../lists/agents.txt");

/// The kinds of lines, and the columns that follow: the expression, and replacements of the name and
/// of the major version.
const KINDS: [(&str, usize); 2] = [("family", 3), ("system", 3)];

/// The longest name, in bytes. Some expressions take the whole agent as the name of an app.
const NAME_BYTES_MAX: usize = 64;

/// What an agent calls itself, or its system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name, as UTF-8 if the agent is.
    pub name: Vec<u8>,
    /// The major version, if it tells one.
    pub major: Option<Vec<u8>>,
}

/// The expressions of families and systems.
#[derive(Debug)]
pub(crate) struct Families {
    pub(crate) origin: ListOrigin,
    families: Names,
    systems: Names,
}

/// Expressions, and what each makes of its groups.
#[derive(Debug)]
struct Names {
    expressions: Expressions,
    /// The name and the major version of each expression.
    parts: Vec<[Part; 2]>,
}

/// A part of a name.
#[derive(Debug)]
enum Part {
    /// A group, by its number.
    Group(usize),
    /// A text with the groups that are named in it.
    Template(String),
}

impl Families {
    pub(crate) fn embedded() -> Self {
        // A test reads the list.
        Self::read(EMBEDDED, Origin::Embedded).unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// Reads a list.
    pub(crate) fn read(bytes: &[u8], origin: Origin) -> Result<Self, ListError> {
        let (about, entries) = list::read(bytes, &KINDS)?;
        let names =
            |kind: &str| Names::new(entries.iter().filter(|entry| entry.kind == kind), origin);
        Ok(Self { origin: about, families: names("family")?, systems: names("system")? })
    }

    /// Returns the number of its expressions.
    pub(crate) fn expressions(&self) -> usize {
        self.families.parts.len() + self.systems.parts.len()
    }

    pub(crate) fn family(&self, agent: &[u8]) -> Option<Name> {
        self.families.name(agent)
    }

    pub(crate) fn system(&self, agent: &[u8]) -> Option<Name> {
        self.systems.name(agent)
    }
}

impl Names {
    fn new<'a, 'b: 'a>(
        entries: impl Iterator<Item = &'a Entry<'b>> + Clone,
        origin: Origin,
    ) -> Result<Self, ListError> {
        let written =
            |entry: &Entry| Written { line: entry.line, text: entry.column(0).to_owned() };
        let expressions = Expressions::new(entries.clone().map(written).collect(), origin)?;
        let parts = entries.enumerate().map(|(number, entry)| {
            let groups = expressions.group_count(number);
            let part = |column: usize| Part::new(entry.column(column), column, groups);
            part(1).and_then(|name| Ok([name, part(2)?])).map_err(|problem| entry.error(problem))
        });
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(Self { expressions, parts })
    }

    fn name(&self, agent: &[u8]) -> Option<Name> {
        let (number, groups) = self.expressions.first(agent)?;
        let [name, major] = &self.parts[number];
        let name = name.text(&groups);
        let name = name.trim_ascii();
        if name.is_empty() {
            return None;
        }
        let major = major.text(&groups);
        let major = (!major.is_empty()).then(|| shortened(&major).to_vec());
        Some(Name { name: shortened(name).to_vec(), major })
    }
}

impl Part {
    /// Returns the part with a replacement that may be empty, then the group of this number.
    fn new(replacement: &str, group: usize, groups: usize) -> Result<Self, Problem> {
        if replacement.trim().is_empty() {
            return Ok(Self::Group(group));
        }
        match named_groups(replacement).map(|(_, group)| group).find(|group| *group > groups) {
            Some(missing) => Err(Problem::Group(missing)),
            None => Ok(Self::Template(replacement.to_owned())),
        }
    }

    fn text<'a>(&'a self, groups: &Groups<'a>) -> Cow<'a, [u8]> {
        let group = |number: usize| groups.get(number).copied().unwrap_or_default();
        match self {
            Self::Group(number) => Cow::Borrowed(group(*number)),
            Self::Template(template) => {
                let (mut text, mut end) = (Vec::new(), 0);
                for (at, number) in named_groups(template) {
                    text.extend_from_slice(&template.as_bytes()[end..at]);
                    text.extend_from_slice(group(number));
                    end = at + 2;
                }
                text.extend_from_slice(&template.as_bytes()[end..]);
                Cow::Owned(text)
            }
        }
    }
}

/// Returns the places of `$1` to `$9` in a replacement, and the numbers.
fn named_groups(replacement: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    replacement.bytes().zip(replacement.bytes().skip(1)).enumerate().filter_map(|(at, pair)| {
        match pair {
            (b'$', digit @ b'1'..=b'9') => Some((at, usize::from(digit - b'0'))),
            _ => None,
        }
    })
}

/// Cuts a long name before a character.
fn shortened(name: &[u8]) -> &[u8] {
    let is_inside = |at: &usize| name[*at] & 0xC0 == 0x80;
    match name.len() {
        0..=NAME_BYTES_MAX => name,
        _ => &name[..(0..=NAME_BYTES_MAX).rev().find(|at| !is_inside(at)).unwrap_or(0)],
    }
}

#[cfg(test)]
mod tests {
    use super::{Families, Name};
    use crate::expressions::Origin;

    fn families(list: &str) -> Families {
        Families::read(list.as_bytes(), Origin::User).expect("it is valid")
    }

    fn name(name: &str, major: &str) -> Option<Name> {
        let major = (!major.is_empty()).then(|| major.as_bytes().to_vec());
        Some(Name { name: name.as_bytes().to_vec(), major })
    }

    #[test]
    fn names_are_groups_or_replacements() {
        let list = families(
            "family\t(Fire)(fox)?/(\\d+)\t$1 of $2 \t$3\nfamily\tOpera\tOld Opera\t12\n\
             family\t(Lynx)/(\\d+)\nfamily\t^(.{0,200})!\nsystem\tLinux\tLinux\n",
        );
        assert_eq!(list.family(b"Firefox/3"), name("Fire of fox", "3"));
        assert_eq!(list.family(b"Fire/3"), name("Fire of", "3"));
        assert_eq!(list.family(b"Opera"), name("Old Opera", "12"));
        assert_eq!(list.family(b"Lynx/2.8"), name("Lynx", "2"));
        assert_eq!(list.family(b"!"), None, "an empty name is none");
        assert_eq!(list.system(b"Linux"), name("Linux", ""));
        assert_eq!(list.system(b"Lynx/2.8"), None);
        let long = ["\u{e4}".repeat(90).as_bytes(), b"!"].concat();
        assert_eq!(list.family(&long), name(&"\u{e4}".repeat(32), ""));
        let family = list.family(b"\xff\xfe!").expect("bytes that are not UTF-8 are a name");
        assert_eq!(family.name, b"\xff\xfe");
    }

    #[test]
    fn a_replacement_with_an_unknown_group_is_refused() {
        let error = Families::read(b"family\t(a)\nfamily\t(a)\t$2\n", Origin::User);
        let error = error.expect_err("there is no group 2");
        assert_eq!(error.line(), 2);
        assert!(error.to_string().contains("group 2"), "{error}");
    }

    #[test]
    fn each_embedded_expression_can_be_compiled() {
        let list = Families::read(super::EMBEDDED, Origin::User).expect("they are valid");
        assert!(list.expressions() > 500, "{}", list.expressions());
    }
}
