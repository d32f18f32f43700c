//! Expressions as a list, beside each of them alone.

use proptest::prelude::*;

use super::{Expressions, Origin, Written};
use crate::list::Problem;
use weir_core::{BoundedRegex, PatternBudget};

fn written(texts: &[String]) -> Vec<Written> {
    let numbered = texts.iter().zip(1..);
    numbered.map(|(text, line)| Written { line, text: text.clone() }).collect()
}

fn list(texts: &[&str]) -> Result<Expressions, crate::ListError> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    Expressions::new(written(&texts), Origin::User)
}

#[test]
fn the_first_expression_that_matches_wins_and_has_its_groups() {
    let list = list(&[r"(Foo)/(\d+)(x)?", "Foo", "(?:)", "Bar"]).expect("it is valid");
    let first = |text: &'static str| list.first(text.as_bytes());
    let groups = ["Foo/12", "Foo", "12", ""].map(str::as_bytes).to_vec();
    assert_eq!(first("a Foo/12"), Some((0, groups)));
    assert_eq!(first("a Foo"), Some((1, vec![&b"Foo"[..]])));
    assert_eq!(first("Bar").map(|it| it.0), Some(2), "an expression that requires no text");
    let all: Vec<usize> = list.all(b"Bar Foo/1").into_iter().map(|it| it.0).collect();
    assert_eq!(all, [0, 1, 2, 3]);
}

#[test]
fn a_wrong_expression_is_named_by_its_line() {
    let problem = |texts: &[&str]| {
        let error = list(texts).expect_err("it is wrong");
        (error.line(), error.to_string())
    };
    let (line, text) = problem(&["a", "(b"]);
    assert_eq!(line, 2);
    assert!(text.contains("line 2") && text.contains("unclosed group"), "{text}");
    let (line, text) = problem(&["a", "b", r"(\w{1000}){1000}"]);
    assert_eq!(line, 3);
    assert!(text.contains("too large"), "{text}");
    let (line, _) = problem(&["a", &"b".repeat(5000)]);
    assert_eq!(line, 2);
    let many = vec!["(a)"; super::EXPRESSIONS_MAX + 1];
    assert_eq!(problem(&many).0, super::EXPRESSIONS_MAX + 1);
}

#[test]
fn many_large_expressions_are_refused_together() {
    let large = format!("({})(?:x|y)", "[a-z]{90}".repeat(60));
    let error = list(&vec![&*large; 4000]).expect_err("they take too much memory");
    assert!(matches!(error.problem(), Problem::TooLarge), "{error}");
    assert!(error.line() > 2, "{error}");
}

#[test]
fn digits_decide_where_an_expression_says_so() {
    let texts = ["NT 6", r"Foo/[1-4]\b", r"(Foo)/(\d)", "Bar1|Bar2", "Bar(.)"];
    let list = list(&texts).expect("it is valid");
    for (text, number, groups) in [
        ("NT 6", 0, vec!["NT 6"]),
        ("Foo/3", 1, vec!["Foo/3"]),
        ("Foo/7", 2, vec!["Foo/7", "Foo", "7"]),
        ("NT 5 Foo/9", 2, vec!["Foo/9", "Foo", "9"]),
        ("Bar2", 3, vec!["Bar2"]),
        ("Bar3", 4, vec!["Bar3", "3"]),
    ] {
        let groups: Vec<&[u8]> = groups.into_iter().map(str::as_bytes).collect();
        // The second time, the outline is known.
        for _ in 0..2 {
            assert_eq!(list.first(text.as_bytes()), Some((number, groups.clone())));
            let all: Vec<usize> = list.all(text.as_bytes()).iter().map(|it| it.0).collect();
            assert!(all.contains(&number), "{text}: {all:?}");
        }
    }
    assert_eq!(list.first(b"NT 7"), None);
}

/// Expressions of few letters, so that they often match.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[ab12]{1,4}",
        Just("[ab]".to_owned()),
        Just("[1-3b]".to_owned()),
        Just(".".to_owned()),
        Just("^".to_owned()),
        Just("$".to_owned()),
        Just(r"\d".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(|it| it.concat()),
            proptest::collection::vec(inner.clone(), 1..4)
                .prop_map(|it| format!("({})", it.join("|"))),
            inner.clone().prop_map(|it| format!("(?:{it})?")),
            inner.clone().prop_map(|it| format!("(?:{it})*")),
            inner.clone().prop_map(|it| format!("(?:{it})+")),
            inner.prop_map(|it| format!("(?:{it}){{2,3}}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn matches_are_those_of_each_expression_alone(
        texts in proptest::collection::vec(expression(), 1..8),
        agents in proptest::collection::vec("[ab1-4]{0,8}", 1..16),
    ) {
        let list = Expressions::new(written(&texts), Origin::Embedded).expect("valid");
        let alone: Vec<BoundedRegex> = texts
            .iter()
            .map(|text| BoundedRegex::new(text, super::OPTIONS, &PatternBudget::default()))
            .collect::<Result<_, _>>()
            .expect("valid");
        for agent in &agents {
            let matches = alone.iter().enumerate().filter_map(|(number, regex)| {
                Some((number, regex.groups(agent.as_bytes())?))
            });
            let matches: Vec<(usize, Vec<Vec<u8>>)> = matches.collect();
            let owned = |groups: super::Groups| groups.into_iter().map(<[u8]>::to_vec).collect();
            let first = list.first(agent.as_bytes()).map(|it| (it.0, owned(it.1)));
            prop_assert_eq!(first.as_ref(), matches.first(), "{}", agent);
            let all = list.all(agent.as_bytes()).into_iter();
            let all: Vec<_> = all.map(|it| (it.0, it.1.to_vec())).collect();
            let whole = matches.into_iter().map(|it| (it.0, it.1[0].clone()));
            prop_assert_eq!(all, whole.collect::<Vec<_>>(), "{}", agent);
        }
    }
}
