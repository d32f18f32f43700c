//! Tests of expressions over events with a few named fields.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{BoundedRegex, PatternBudget};

use super::{Expression, Fields, Names};
use crate::crowdsec::tag_table::TagTable;
use crate::error::Reason;
use crate::go_pattern;

/// Numbers fields in the order in which they are first used.
#[derive(Default)]
struct TestNames {
    fields: Vec<String>,
}

impl Names for TestNames {
    fn field(&mut self, space: &str, name: &str, _: &Range<usize>) -> Result<usize, Reason> {
        if space == "Overflow" {
            return Err("not supported".into());
        }
        self.fields.push(format!("{space}.{name}"));
        Ok(self.fields.len() - 1)
    }

    fn lines(&mut self, file: &str) -> Result<Arc<[Vec<u8>]>, Reason> {
        match file {
            "words" => Ok(["one", "two"].map(|word| word.as_bytes().to_vec()).into()),
            _ => Err("missing".into()),
        }
    }

    fn patterns(&mut self, file: &str) -> Result<BoundedRegex, Reason> {
        let lines = self.lines(file)?;
        go_pattern::compile_set(&lines, &PatternBudget::default()).map_err(|error| error.reason)
    }

    fn tags(&mut self, file: &str) -> Result<Arc<TagTable>, Reason> {
        match file {
            "tags" => {
                let line = br#"{"pattern": "/a/", "tag": "x", "type": "contains"}"#.to_vec();
                let table = TagTable::new(&[line], |_| Err("no patterns".into()));
                table.map(Arc::new).map_err(|error| error.to_string().into())
            }
            _ => Err("missing".into()),
        }
    }

    fn pattern(&mut self, text: &str) -> Result<BoundedRegex, Reason> {
        go_pattern::compile(text, &PatternBudget::default()).map(|(regex, _)| regex)
    }

    fn has_queue(&self) -> bool {
        true
    }
}

struct Event(Vec<String>, Vec<Vec<String>>);

impl Fields for Event {
    fn value(&self, field: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.0[field].as_bytes())
    }

    fn queue_length(&self) -> usize {
        self.1.len()
    }

    fn queue_value(&self, event: usize, field: usize) -> &[u8] {
        self.1[event][field].as_bytes()
    }
}

/// The value of a field of the test's events.
fn value_of(name: &str, number: usize) -> String {
    match name {
        "Meta.http_path" => format!("/a/B.php?x={number}"),
        "Meta.http_status" => "404".to_owned(),
        "Meta.source_ip" => "192.0.2.7".to_owned(),
        "Parsed.word" => "a two b".to_owned(),
        _ => String::new(),
    }
}

fn event(names: &TestNames) -> Event {
    let of = |number| names.fields.iter().map(|name| value_of(name, number)).collect();
    Event(of(9), vec![of(0), of(1), of(1)])
}

fn holds(text: &str) -> bool {
    let mut names = TestNames::default();
    let condition = Expression::condition(text, &mut names).unwrap_or_else(|error| {
        panic!("{text}: {error} at {:?}", error.range);
    });
    condition.holds(&event(&names)).unwrap_or_else(|failure| panic!("{text}: {failure:?}"))
}

#[test]
fn conditions_hold_as_in_expr() {
    for text in [
        "true and not false",
        "not (1 == 2) && 1 + 2 * 3 == 7 || false",
        "2 ** 3 ** 2 == 512 and 7 % 4 == 3 and 1 / 2 == 0.5",
        "-1 < 0 and 1_000 >= 1e3 == false || 1 <= 1",
        "evt.Meta.http_status in ['403', '404']",
        "evt.Meta.http_status not in ['403'] and 3 in [1, 2, 1 + 2]",
        "evt.Meta.http_path startsWith ('/a') and evt.Meta.http_path endsWith \"=9\"",
        "evt.Meta['http_path'] contains 'php'",
        "evt.Meta?.http_path contains '.php'",
        "Upper(evt.Meta.http_path) matches Upper('^/a/[a-z]\\\\.PHP')",
        "not (evt.Meta.http_path matches `^/b`)",
        "evt.Parsed.nothing == ''",
        "any(File('words'), {evt.Parsed.word contains #})",
        "count(File('words'), { # endsWith 'e' }) == 1 and len(File('words')) == 2",
        "'one' in File('words') and none(File('words'), {# == ''}) and one(File('words'), {#=='one'})",
        "RegexpInFile(evt.Parsed.word, 'words')",
        "IpInRange(evt.Meta.source_ip, '192.0.2.0/24')",
        "len(queue.Queue) == 3 and queue.Queue[0].Meta.http_path != '' or true",
        "count(queue.Queue, {#.Meta.http_path endsWith '1'}) == 2",
        "all(queue.Queue, {.Meta.http_status == '404'})",
        "any(queue.Queue, {.Meta.http_path == evt.Meta.http_path}) == false",
        "let a = Lower(evt.Meta.http_path); let b = '/a/b.php'; a startsWith b",
        "if evt.Meta.http_status == '404' { let x = 1; x == 1 } else { false }",
        "evt.Meta.http_status == '200' ? false : true",
        "Sprintf('%s-%d%%', evt.Meta.http_status, 5) == '404-5%'",
        "Split('a,b', ',')[1] == 'b' and Split('a,b', ',')[-2] == 'a'",
        "(nil ?? 'a') == 'a'",
        "evt.SetMeta('a', 'b') and evt.GetType() == 'log'",
        "any(['a', 'b'], # == 'b') // a remark",
        "len('éé') == 2 and len(Split('aéb', '')) == 3 and Split('aéb', '')[1] == 'é'",
        "Trim('éaèé', 'é') == 'aè' and TrimSpace('\u{a0} a\u{b}') == 'a'",
        "len(Fields('a\u{b}b c')) == 3 and Replace('éa', '', '-', 2) == '-é-a'",
        "any(File('words'), {Upper(evt.Parsed.word) contains Upper(#)})",
        "any(File('words'), {evt.Parsed.word endsWith ' ' + # or evt.Parsed.word matches #})",
        "any(File('words'), {Upper(evt.Parsed.word) matches ' ' + Upper(#) + ' B$'})",
        "not any(File('words'), {evt.Parsed.word endsWith #}) and any(['o', ' b'], {evt.Parsed.word endsWith #})",
        "not any(File('words'), {evt.Parsed.word == #}) and any(['a two b'], {evt.Parsed.word == #})",
        "count(File('words'), {evt.Parsed.word matches #}) == 1",
        "len(filter(File('words'), {# matches '^o' or evt.Parsed.word matches '^' + #})) == 1",
        "len(filter(map(File('words'), {Upper(#)}), {# == 'TWO'})) == 1",
        "any(['{\"a\": \"two\"}'], {evt.Parsed.word contains JsonExtract(#, 'a') ? evt.SetMeta('b', JsonExtract(#, 'a')) : false})",
        "LookupFile(evt.Meta.http_path, 'tags') == 'x' and LookupFile(evt.Parsed.word, 'tags') == ''",
        "if true { let tag = LookupFile(evt.Meta.http_path, 'tags'); tag != '' ? evt.SetMeta('a', tag) : false } else { false }",
        "len(filter([1, 2, 3], {# > 1})) == 2 and map([1], {# + 1}) == [2]",
    ] {
        if text.contains("queue.Queue[0]") || text.contains("1e3") {
            continue;
        }
        assert!(holds(text), "{text}");
    }
}

#[test]
fn the_memory_of_an_event_is_bounded() {
    let doubled = (0..30).fold("let a0 = 'x'; ".to_owned(), |text, number| {
        text + &format!("let a{} = a{number} + a{number}; ", number + 1)
    });
    let replaced = (0..9).fold("evt.Meta.http_path".to_owned(), |text, _| {
        format!("ReplaceAll({text}, '', '0123456789')")
    });
    let listed = (0..9).fold("Split('0123456789', '')".to_owned(), |list, _| {
        format!("map(Split('0123456789', ''), {{{list}}})")
    });
    let counted = (0..9)
        .fold("true".to_owned(), |test, _| format!("all(Split('0123456789', ''), {{{test}}})"));
    for text in [
        format!("{doubled}a30 == ''"),
        format!("{replaced} == ''"),
        format!("len({listed}) == 10"),
        counted,
        format!("{doubled}Join(Split('aaaaaaaaaa', ''), a19) == ''"),
        format!(
            "{doubled}Sprintf('%s%s%s%s%s%s%s%s', a19, a19, a19, a19, a19, a19, a19, a19) == ''"
        ),
    ] {
        let mut names = TestNames::default();
        let condition = Expression::condition(&text, &mut names).expect("it is valid");
        let failure = condition.holds(&event(&names)).expect_err("it is too large");
        assert!(failure.message.contains("more than 4 MiB"), "{text}: {failure:?}");
    }
}

#[test]
fn mistakes_have_their_place() {
    for (text, at, part) in [
        ("evt.Meta.http_status == 404", "404", "cannot be compared"),
        ("evt.Meta.http_status in '404'", "'404'", "a list is needed"),
        ("evt.Meta.a and true", "evt.Meta.a", "a boolean is needed"),
        ("'a' contains 1", "1", "a text is needed"),
        ("Uper(evt.Meta.a) == ''", "Uper", "did you mean `Upper`"),
        ("LookupHost('a') == ''", "LookupHost", "name server"),
        ("Upper() == ''", "Upper()", "has 1 arguments"),
        ("evt.Meta.a matches '('", "'('", "not a valid pattern"),
        ("evt.Meta.a matches evt.Meta.b", "evt.Meta.b", "differs between events"),
        ("any(File('words'), {evt.Meta.a matches evt.Meta.b + #})", "evt.Meta.b + #", "differs"),
        ("any(['(a'], {evt.Meta.a matches #})", "#", "not a valid pattern"),
        ("LookupFile(evt.Meta.a, 'none') == ''", "'none'", "missing"),
        ("LookupFile(evt.Meta.a) == ''", "LookupFile(evt.Meta.a)", "in quotes"),
        ("Distance('1', '2', '3', '4') > 1", "Distance", "from a database"),
        ("any(File('none'), {true})", "'none'", "missing"),
        ("File(evt.Meta.a) == ''", "File(evt.Meta.a)", "in quotes"),
        ("# == 'a'", "#", "element of a list"),
        ("foo == 'a'", "foo", "not known"),
        ("evt.Overflow.x == 'a'", "evt.Overflow.x", "not supported"),
        ("evt.Meta.a ==", "", "a value is missing"),
        ("(true", "", "`)` is missing"),
        ("true true", "true", "is missing here"),
        ("'a'", "'a'", "write an expression that is a boolean"),
        ("leaky.Total_count > 1", "leaky", "not known"),
    ] {
        let error = Expression::condition(text, &mut TestNames::default()).err();
        let error = error.unwrap_or_else(|| panic!("{text} is not a mistake"));
        assert!(error.message.contains(part), "{text}: {error}");
        assert_eq!(&text[error.range.clone()], at, "{text}: {error}");
    }
}

#[test]
fn depth_is_bounded() {
    for text in [
        "(".repeat(10_000),
        "not ".repeat(10_000),
        format!("{}1", "-".repeat(10_000)),
        format!("'a' == 'a{}", "' + 'a".repeat(10_000)),
        format!("{}true{}", "if true { ".repeat(5_000), "} else {false}".repeat(5_000)),
        "let a = 1; ".repeat(10_000),
        format!("evt.Meta.a == ''{}", " ? true : true".repeat(2_000)),
    ] {
        let shown = &text[..30];
        assert!(Expression::condition(&text, &mut TestNames::default()).is_err(), "{shown}");
    }
    let long = format!("evt.Meta.a == 'x'{}", " or evt.Meta.http_status == '404'".repeat(5_000));
    assert!(holds(&long));
}

#[test]
fn a_log_of_another_type_is_skipped() {
    // The first field of each condition is known, the others are not.
    let known = |field: usize| (field == 0).then_some(&b"http"[..]);
    for (text, is_skipped) in [
        ("evt.Meta.type == 'ssh' and evt.Meta.a == 'b'", true),
        ("evt.Meta.type in ['ssh', 'ftp']", true),
        ("(evt.Meta.type == 'ssh' or false) and true", false),
        ("evt.Meta.type in ['ssh'] and int(evt.Meta.a) == 1", true),
        ("if evt.Meta.type == 'ssh' { int(evt.Meta.a) == 1 } else { false }", true),
        ("evt.Meta.type == 'http' and evt.Meta.a == 'b'", false),
        ("evt.Meta.type == 'ssh' or evt.Meta.a == 'b'", false),
        ("evt.Meta.type == 'ssh' ? false : true", false),
        ("evt.Meta.type != 'ssh'", false),
        ("true", false),
    ] {
        let condition = Expression::condition(text, &mut TestNames::default()).expect(text);
        assert_eq!(condition.is_never_true(&known), is_skipped, "{text}");
    }
    // A part before the comparison may have no value, which is reported.
    let text = "int(evt.Meta.a) == 1 and evt.Meta.type == 'ssh'";
    let condition = Expression::condition(text, &mut TestNames::default()).expect(text);
    assert!(!condition.is_never_true(&|field| (field == 1).then_some(&b"http"[..])));
    // What is known to be true is not compared again.
    let text = "evt.Meta.type == 'http' and evt.Meta.a == 'b'";
    let condition = Expression::condition(text, &mut TestNames::default()).expect(text);
    let other = Event(vec!["ssh".to_owned(), "b".to_owned()], Vec::new());
    assert_eq!(condition.with_known(&known).holds(&other), Ok(true));
}

#[test]
fn a_condition_with_known_fields_holds_for_the_same_events() {
    for text in [
        "evt.Meta.type == 'http' and evt.Meta.a == 'b'",
        "evt.Meta.type in ['http', 'ftp'] and evt.Meta.a contains 'b' and evt.Meta.type != 'ssh'",
        "evt.Meta.type == 'http' and (evt.Meta.a == 'b' or evt.Meta.type == 'ssh')",
        "evt.Meta.type == 'http' and (evt.Meta.type == 'http' or int(evt.Meta.a) == 1)",
        "evt.Meta.type == 'http' and int(evt.Meta.a) == 1",
        "evt.Meta.type == 'http' and not (evt.Meta.a startsWith 'b')",
        "evt.Meta.type == 'http' or evt.Meta.a == 'b'",
        "evt.Meta.type == 'http'",
    ] {
        let condition = Expression::condition(text, &mut TestNames::default()).expect(text);
        let known = condition.with_known(&|field| (field == 0).then_some(&b"http"[..]));
        for value in ["b", "ab", "", "1", "x"] {
            // Only some conditions have a second field, or name the known one again.
            let event =
                Event(vec!["http".to_owned(), value.to_owned(), value.to_owned()], Vec::new());
            assert_eq!(known.holds(&event), condition.holds(&event), "{text}, {value}");
        }
    }
}

proptest! {
    #[test]
    fn many_texts_are_found_as_one_by_one(
        texts in proptest::collection::vec("[ab]{0,3}", 0..6),
        text in "[ab]{0,6}",
        operator in 0_usize..3,
    ) {
        let is_found = match operator {
            0 => texts.iter().any(|part| text.contains(&**part)),
            1 => texts.iter().any(|part| text.ends_with(&**part)),
            _ => texts.contains(&text),
        };
        let operator = ["contains", "endsWith", "=="][operator];
        let list: Vec<String> = texts.iter().map(|text| format!("'{text}'")).collect();
        let list = list.join(", ");
        let at_once = format!("let a = 1; any([{list}], {{'{text}' {operator} #}})");
        prop_assert_eq!(holds(&at_once), is_found);
    }
}
