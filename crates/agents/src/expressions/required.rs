//! The texts without which an expression cannot match.

use std::mem;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// The most texts of which an expression may need one.
const TEXTS_MAX: usize = 64;

/// The most texts that a part of an expression is spelled out to.
const SPELLED_MAX: usize = 16;

/// Shorter texts are in too many agents to be worth a search.
const TEXT_BYTES_MIN: usize = 2;

/// Texts that most agents have: an expression is better found by another of its texts.
const FREQUENT: [&str; 11] = [
    "Mozilla/",
    "AppleWebKit",
    "KHTML",
    "Gecko",
    "Chrome",
    "Safari/",
    "Windows NT",
    "Linux",
    "Android",
    "Version/",
    "Mobile",
];

/// What is known about the texts that a part of an expression matches.
#[derive(Debug, Default)]
struct Part {
    /// All texts that it matches, or more, if they are few.
    spelled: Option<Vec<Vec<u8>>>,
    /// Texts of which each match has one.
    required: Option<Vec<Vec<u8>>>,
}

/// Returns texts of which each match of the expression has one, or `None` if there are none that
/// are worth a search.
pub(super) fn required_texts(expression: &Hir) -> Option<Vec<Vec<u8>>> {
    part(expression).best()
}

/// Returns the text that an expression consists of, if it is no more than a text.
pub(super) fn plain_text(expression: &Hir) -> Option<&[u8]> {
    match expression.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        _ => None,
    }
}

fn part(expression: &Hir) -> Part {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Part::spelled(vec![Vec::new()]),
        HirKind::Literal(literal) => Part::spelled(vec![literal.0.to_vec()]),
        HirKind::Class(class) => class_texts(class).map_or_else(Part::default, Part::spelled),
        HirKind::Repetition(repetition) => repeated(repetition),
        HirKind::Capture(capture) => part(&capture.sub),
        HirKind::Concat(parts) => sequence(parts),
        HirKind::Alternation(parts) => alternatives(parts),
    }
}

/// Returns the characters of a class, if they are few.
fn class_texts(class: &Class) -> Option<Vec<Vec<u8>>> {
    let texts: Vec<Vec<u8>> = match class {
        Class::Bytes(class) => {
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            bytes.take(SPELLED_MAX + 1).map(|byte| vec![byte]).collect()
        }
        Class::Unicode(class) => {
            let characters = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let text = |character: char| character.to_string().into_bytes();
            characters.take(SPELLED_MAX + 1).map(text).collect()
        }
    };
    (texts.len() <= SPELLED_MAX).then_some(texts)
}

fn repeated(repetition: &Repetition) -> Part {
    let inside = part(&repetition.sub);
    match (repetition.min, repetition.max) {
        (0, Some(1)) => {
            let spelled = inside.spelled.map(|mut texts| {
                texts.push(Vec::new());
                texts
            });
            Part { spelled, required: None }
        }
        (0, _) => Part::default(),
        (1, Some(1)) => inside,
        _ => Part { spelled: None, required: inside.best() },
    }
}

/// Returns what is known about parts that follow each other: neighbours that are spelled out are
/// joined, and the best of all is required.
fn sequence(parts: &[Hir]) -> Part {
    let mut joined = vec![Vec::new()];
    let mut required = None;
    let mut is_spelled = true;
    for part in parts.iter().map(part) {
        required = better(required, part.required);
        match part.spelled.as_ref().and_then(|more| product(&joined, more)) {
            Some(product) => joined = product,
            None => {
                is_spelled = false;
                let rest = part.spelled.unwrap_or_else(|| vec![Vec::new()]);
                required = better(required, usable(mem::replace(&mut joined, rest)));
            }
        }
    }
    if is_spelled {
        return Part { spelled: Some(joined), required };
    }
    Part { spelled: None, required: better(required, usable(joined)) }
}

fn alternatives(parts: &[Hir]) -> Part {
    let parts: Vec<Part> = parts.iter().map(part).collect();
    let all_spelled: Option<Vec<_>> = parts.iter().map(|part| part.spelled.clone()).collect();
    let spelled = all_spelled.map(|texts| texts.concat()).filter(|it| it.len() <= SPELLED_MAX);
    let all_required: Option<Vec<_>> = parts.into_iter().map(Part::best).collect();
    let required = all_required.map(|texts| texts.concat()).filter(|it| it.len() <= TEXTS_MAX);
    Part { spelled, required }
}

/// Returns each text of the first followed by each of the second, if they are few.
fn product(texts: &[Vec<u8>], more: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let is_few = texts.len() * more.len() <= SPELLED_MAX;
    let joined = texts.iter().flat_map(|text| more.iter().map(|end| [&text[..], end].concat()));
    is_few.then(|| joined.collect())
}

/// Returns the texts if all of them are long enough to be searched.
fn usable(texts: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    let is_long = texts.iter().all(|text| text.len() >= TEXT_BYTES_MIN);
    (is_long && !texts.is_empty()).then_some(texts)
}

/// Returns the texts that fewer agents have.
fn better(one: Option<Vec<Vec<u8>>>, other: Option<Vec<Vec<u8>>>) -> Option<Vec<Vec<u8>>> {
    match (one, other) {
        (Some(one), Some(other)) if rarity(&other) > rarity(&one) => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

/// How rare the most frequent of some texts is: its length, unless most agents have it.
fn rarity(texts: &[Vec<u8>]) -> usize {
    let of_text = |text: &Vec<u8>| {
        let is_part = |other: &&str| other.as_bytes().windows(text.len()).any(|it| it == text);
        let is_frequent = FREQUENT.iter().any(|other| is_part(other) || text == other.as_bytes());
        if is_frequent { 0 } else { text.len() }
    };
    texts.iter().map(of_text).min().unwrap_or(0)
}

impl Part {
    fn spelled(texts: Vec<Vec<u8>>) -> Self {
        Self { spelled: Some(texts), required: None }
    }

    fn best(self) -> Option<Vec<Vec<u8>>> {
        better(self.spelled.and_then(usable), self.required)
    }
}

#[cfg(test)]
mod tests {
    use super::{plain_text, required_texts};
    use regex_syntax::ParserBuilder;

    fn parse(expression: &str) -> regex_syntax::hir::Hir {
        let mut parser = ParserBuilder::new().utf8(false).unicode(false).build();
        parser.parse(expression).expect("it is valid")
    }

    fn required(expression: &str) -> Option<Vec<String>> {
        let texts = required_texts(&parse(expression))?;
        Some(texts.into_iter().map(|text| String::from_utf8(text).expect("text")).collect())
    }

    #[test]
    fn the_best_texts_are_required() {
        for (expression, texts) in [
            (r"Firefox/(\d+)", Some(vec!["Firefox/"])),
            (r"^curl", Some(vec!["curl"])),
            (r"Mozilla/.{0,200}(Thing)/(\d+)", Some(vec!["Thing/"])),
            (r"(SMRT|MRT) Browser", Some(vec!["SMRT Browser", "MRT Browser"])),
            (r"[cC]laude[bB]ot", Some(vec!["claudebot", "claudeBot", "Claudebot", "ClaudeBot"])),
            (r"(Foo|Bar)\d+ (?:Baz)?", Some(vec!["Foo", "Bar"])),
            (r"(?:abc)+", Some(vec!["abc"])),
            (r"(?:abc)*", None),
            (r"\d+|Foo", None),
            (r".*", None),
            (r"a", None),
            (r"(?:Windows|Win)\d", Some(vec!["Windows", "Win"])),
        ] {
            let expected = texts.map(|it| it.into_iter().map(str::to_owned).collect::<Vec<_>>());
            let sorted = |texts: Option<Vec<String>>| {
                texts.map(|mut texts| {
                    texts.sort();
                    texts
                })
            };
            assert_eq!(sorted(required(expression)), sorted(expected), "{expression}");
        }
    }

    #[test]
    fn a_plain_text_is_known() {
        assert_eq!(plain_text(&parse(r"Googlebot\/")), Some(&b"Googlebot/"[..]));
        assert_eq!(plain_text(&parse("^curl")), None);
    }
}
