//! Tests of what the source of ModSecurity 2.9 decides, and of what a log lacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::PatternBudget;

use super::ModSecurity;
use super::tests::{evaluate, evaluate_line};
use crate::files::RuleFiles;
use crate::report::Exactness;
use crate::rule::Rule;

const COMMON: &str =
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#;

fn parse(text: &str) -> ModSecurity {
    ModSecurity::parse(text, "test", &RuleFiles::default()).expect(text)
}

fn is_denied(text: &str, request: &str) -> bool {
    evaluate(&parse(text), &format!("GET {request} HTTP/1.1"), "x").denied.is_some()
}

#[test]
fn only_the_variables_that_a_log_lacks_are_left_out() {
    let line = "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET /?q=evil HTTP/1.1\" 200 5";
    let no_agent = "the log has no field `user_agent`";
    for (rule, is_denied, left_out, is_partial) in [
        (r#"ARGS "@contains evil" "id:1,deny""#, true, None, false),
        (r#"REQUEST_HEADERS:User-Agent|ARGS "@contains evil" "id:1,deny""#, true, None, true),
        (r#"REQUEST_HEADERS|ARGS "@contains other" "id:1,deny""#, false, None, true),
        (r#"&REQUEST_HEADERS:User-Agent|&ARGS "@eq 0" "id:1,deny""#, false, None, true),
        (r#"&REQUEST_HEADERS:User-Agent "@eq 0" "id:1,deny""#, false, Some(no_agent), false),
        (r#"REQUEST_HEADERS "@contains x" "id:1,deny""#, false, Some(no_agent), false),
        (
            r#"ARGS "!@within %{REQUEST_HEADERS.User-Agent}" "id:1,deny""#,
            false,
            Some(no_agent),
            false,
        ),
        (
            "ARGS \"@contains evil\" \"id:1,deny,chain\"\nSecRule REQUEST_HEADERS:User-Agent \"!@rx x\"",
            false,
            Some(no_agent),
            false,
        ),
        (r#"REQUEST_HEADERS:X-Key|ARGS "@contains evil" "id:1,deny""#, true, None, true),
    ] {
        let text = format!("SecRule {rule}\nSecRule REQUEST_URI \"@contains none\" \"id:2,deny\"");
        let set = parse(&text);
        let evaluation = evaluate_line(&set, COMMON, line);
        assert_eq!(evaluation.denied.is_some(), is_denied, "{rule}");
        let reasons: Vec<String> = set.left_out().into_iter().map(|group| group.reason).collect();
        assert_eq!(reasons, left_out.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{rule}");
        assert_eq!(!set.partial().0.is_empty(), is_partial, "{rule}");
        let is_exact = left_out.is_none() && !is_partial;
        let exactness = || set.replay().finish(None).exactness;
        assert_eq!(exactness() == Exactness::Exact, is_exact, "{rule}");
        // A new replay begins without what the last one found.
        evaluate(&set, "GET / HTTP/1.1", "x");
        let lacks_agent = rule.contains("X-Key") || rule.starts_with("REQUEST_HEADERS");
        if !lacks_agent {
            assert_eq!(exactness(), Exactness::Exact, "{rule}");
        }
    }
    let set = parse("SecRule REQUEST_HEADERS:User-Agent|ARGS \"@rx evil\" \"id:1,deny\"");
    let replay = set.replay();
    evaluate_line(&set, COMMON, line);
    let report = replay.finish(None);
    assert_eq!(report.exactness, Exactness::Bounded);
    let note = "parts of a request that are not in this log (user_agent) are tested by 1 rule";
    assert!(report.notes[0].starts_with(note), "{:?}", report.notes);
    // A field that only a part of the log lacks.
    let set = parse("SecRule REQUEST_HEADERS:User-Agent \"@rx x\" \"id:1,deny\"");
    assert!(evaluate(&set, "GET / HTTP/1.1", "x").denied.is_some());
    assert_eq!(set.left_out(), []);
    let replay = set.replay();
    evaluate(&set, "GET / HTTP/1.1", "x");
    let fields = weir_core::Format::parse(COMMON).expect("a format").record_fields();
    let error = set.bind(&fields).err().expect("no rule can be evaluated");
    assert!(error.message.starts_with("rule 1: the log has no field `user_agent`"), "{error}");
    assert_eq!(set.left_out()[0].reason, "a part of the log has no field `user_agent`");
    assert_eq!(replay.finish(None).exactness, Exactness::Bounded);
}

#[test]
fn the_work_and_the_variables_of_a_request_are_bounded() {
    let end = "SecRule ARGS \"@contains evil\" \"id:9,phase:2,deny\"";
    let many =
        format!("SecRule {} \"@contains none\" \"id:1,deny\"\n{end}", ["ARGS"; 2_000].join("|"));
    let sets = (0..40_000)
        .map(|number| format!("SecAction \"phase:1,nolog,pass,setvar:tx.b{number}=%{{tx.a}}\"\n"));
    let doubled = "setvar:tx.a=%{tx.a}%{tx.a},".repeat(20);
    let sets: String = sets.collect();
    let sets = format!("SecAction \"phase:1,pass,setvar:tx.a=x,{doubled}\"\n{sets}{end}");
    let excluded = "|!ARGS:b".repeat(1_000);
    let excluded = format!("SecRule ARGS|ARGS|ARGS|ARGS{excluded} \"@rx no\" \"id:1,deny\"\n{end}");
    for (text, work_max, is_cut) in [
        (&many, 2_000 * 3_000, false),
        (&many, 2_000 * 2_000, true),
        (&sets, u64::MAX, true),
        (&excluded, 20_000_000, false),
        (&excluded, 1_000_000, true),
    ] {
        let mut set = parse(text);
        set.rules.work_max = work_max;
        let request = format!("GET /?{}q=evil HTTP/1.1", "a=b&".repeat(20));
        let replay = set.replay();
        let evaluation = evaluate(&set, &request, "x");
        assert_eq!(evaluation.denied.is_some(), !is_cut, "{work_max}");
        assert_eq!(set.rules.cut(), u64::from(is_cut), "{work_max}");
        let report = replay.finish(None);
        assert_eq!(report.exactness == Exactness::Bounded, is_cut);
        let is_noted = report.notes.iter().any(|note| note.starts_with("1 request took too much"));
        assert_eq!(is_noted, is_cut, "{:?}", report.notes);
    }
}

#[test]
fn an_evaluation_ends_when_the_replay_is_stopped() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut files = RuleFiles::default();
    files.limit_patterns(PatternBudget::new(Vec::new(), stop.clone()));
    let text = "SecRule ARGS \"@contains evil\" \"id:1,deny\"";
    let set = ModSecurity::parse(text, "test", &files).expect("it is valid");
    assert!(evaluate(&set, "GET /?a=evil HTTP/1.1", "x").denied.is_some());
    stop.store(true, Ordering::Relaxed);
    assert!(evaluate(&set, "GET /?a=evil HTTP/1.1", "x").denied.is_none());
}

#[test]
fn an_argument_that_is_not_a_number_is_zero() {
    for (operator, value, expected) in [
        ("gt %{tx.lim}", "-5", false),
        ("gt %{tx.lim}", "1", true),
        ("lt %{tx.lim}", "-5", true),
        ("eq %{tx.lim}", "x", true),
        ("ge %{tx.word}", "+7x", true),
        ("ge %{tx.word}", "4", false),
        ("le %{tx.word}x", "5", true),
        ("streq %{tx.lim}", "", true),
        ("within %{tx.bytes}", "%ff", true),
        ("within %{tx.bytes}", "%ef", false),
    ] {
        let text = format!(
            "SecRule ARGS:b \"@unconditionalMatch\" \"id:1,phase:1,pass,setvar:tx.word=+5,\
             setvar:tx.bytes=%{{ARGS.b}}\"\nSecRule ARGS:n \"@{operator}\" \"id:2,deny\""
        );
        assert_eq!(
            is_denied(&text, &format!("/?b=a%ff&n={value}")),
            expected,
            "{operator} {value}"
        );
    }
}

#[test]
fn matched_values_are_known_to_the_actions_and_to_later_links() {
    let user = "SecRule ARGS:user \"@rx .\" \"id:1,phase:1,pass,setvar:tx.user=%{MATCHED_VAR}\"\n\
                SecRule TX:user \"@streq admin\" \"id:2,phase:1,deny\"";
    assert!(is_denied(user, "/?user=admin"));
    assert!(!is_denied(user, "/?user=other"));
    let chain = |last: &str| {
        format!(
            "SecRule ARGS \"@contains e\" \"id:1,phase:2,deny,chain\"\n\
             SecRule MATCHED_VARS \"@contains /\" \"chain\"\nSecRule {last}"
        )
    };
    let request = "/?a=ex&b=e/&c=x";
    for (last, expected) in [
        ("MATCHED_VARS \"@contains x\"", true),
        ("MATCHED_VARS \"@streq x\"", false),
        // Two of the first link, and one of the second.
        ("&MATCHED_VARS \"@eq 3\"", true),
        ("MATCHED_VAR \"@streq e/\"", true),
        ("MATCHED_VAR \"@contains x\"", false),
    ] {
        assert_eq!(is_denied(&chain(last), request), expected, "{last}");
    }
    // Another rule begins without them, but with the last value.
    let other = "SecRule ARGS:a \"@rx .\" \"id:1,phase:2,pass\"\n";
    assert!(!is_denied(&format!("{other}SecRule MATCHED_VARS \"@rx .\" \"id:2,deny\""), "/?a=1"));
    assert!(is_denied(&format!("{other}SecRule MATCHED_VAR \"@streq 1\" \"id:2,deny\""), "/?a=1"));
    let action = "SecAction \"id:1,phase:1,pass,setvar:tx.client=%{MATCHED_VAR}\"\n\
                  SecRule TX:client \"@streq 192.0.2.7\" \"id:2,deny\"";
    assert!(is_denied(action, "/"));
}

#[test]
fn variables_have_the_values_from_before_the_link() {
    let text = "SecAction \"id:1,phase:1,pass,setvar:tx.a=evil,setvar:tx.b=evil\"\n\
                SecRule TX:a|TX:b \"@streq evil\" \"id:2,phase:1,pass,setvar:tx.b=0,setvar:tx.n=+1\"\n\
                SecRule TX:n \"@eq 2\" \"id:3,phase:1,deny\"";
    assert!(is_denied(text, "/"));
}

#[test]
fn counters_do_not_fall_below_zero() {
    for (sets, expected) in [
        ("setvar:tx.s=-5,setvar:tx.s=+5", 5),
        ("setvar:tx.s=7,setvar:tx.s=-5", 2),
        ("setvar:tx.s=-5", 0),
        ("setvar:tx.m=-3,setvar:tx.n=3,setvar:tx.s=+5,setvar:'tx.s=-%{tx.n}'", 2),
        ("setvar:tx.n=x-3,setvar:tx.s=+5,setvar:'tx.s=-%{tx.n}'", 5),
        ("setvar:tx.s=+x", 0),
    ] {
        let text = format!(
            "SecAction \"id:1,phase:1,pass,{sets}\"\nSecRule TX:s \"@eq {expected}\" \"id:2,deny\""
        );
        assert!(is_denied(&text, "/"), "{sets}");
    }
}

#[test]
fn quotation_marks_are_only_at_the_start_of_a_value() {
    for (actions, expected) in [
        (r"id:1,msg:'don\'t, do',deny", true),
        ("id:1,msg:don't,deny", true),
        ("id:1,msg:don't,tag:'a,deny',pass", false),
        (r"id:1,msg:'a\\\\',deny", true),
        (r"id:1,msg:'a\b, deny' ,pass", false),
        ("id:1, msg:'', deny ", true),
        ("id:1,pass,SkipAfter:X,Deny", true),
        ("", false),
    ] {
        let text = format!("SecRule ARGS \"@rx evil\" \"{actions}\"");
        assert_eq!(is_denied(&text, "/?a=evil"), expected, "{actions}");
    }
    let text = "SecRule ARGS \"@rx evil\" \"id:1,phase:1,pass,setvar:'tx.a=x\\'y'\"\n\
                SecRule TX:a \"@streq x'y\" \"id:2,deny\"";
    assert!(is_denied(text, "/?a=evil"));
}

#[test]
fn the_id_of_a_later_rule_is_a_marker_after_it() {
    let rules = "SecRule ARGS \"@contains evil\" \"id:1,phase:2,pass,skipAfter:3\"\n\
                 SecRule ARGS \"@contains 2\" \"id:2,phase:2,deny\"\n\
                 SecRule ARGS \"@contains 3\" \"id:3,phase:2,deny,chain\"\n\
                 SecRule REQUEST_METHOD \"@streq GET\"\n\
                 SecRule ARGS \"@contains 4\" \"id:4,phase:2,deny\"";
    for (request, expected) in [("2", true), ("evil2", false), ("evil3", false), ("evil4", true)] {
        assert_eq!(is_denied(rules, &format!("/?a={request}")), expected, "{request}");
    }
}

#[test]
fn controls_act_with_their_own_link() {
    let rule = "SecRule ARGS \"@contains evil\" \"id:9,phase:2,deny\"";
    let chain = "SecRule ARGS \"@rx .\" \"id:1,phase:1,pass,nolog,chain,ctl:ruleRemoveById=9\"\n\
                 SecRule REQUEST_METHOD \"@streq POST\"";
    assert!(!is_denied(&format!("{chain}\n{rule}"), "/?a=evil"));
    let off = chain.replace("ruleRemoveById=9", "ruleEngine=Off");
    assert!(!is_denied(&format!("{off}\n{rule}"), "/?a=evil"));
    let later = "SecRule ARGS \"@rx .\" \"id:1,phase:1,pass,nolog,chain\"\n\
                 SecRule REQUEST_METHOD \"@streq POST\" \"ctl:ruleRemoveById=9\"";
    assert!(is_denied(&format!("{later}\n{rule}"), "/?a=evil"));
    // A rule that only detects goes on with its other values.
    let detects = "SecRule ARGS \"@rx evil\" \"id:1,phase:2,deny,ctl:ruleEngine=DetectionOnly,setvar:tx.n=+1\"\n\
                   SecRule &ARGS \"@eq 2\" \"id:2,phase:2,pass,ctl:ruleEngine=On\"\n\
                   SecRule TX:n \"@eq 2\" \"id:3,phase:2,deny\"";
    let evaluation = evaluate(&parse(detects), "GET /?a=evil&b=evil HTTP/1.1", "x");
    assert_eq!((evaluation.denied, evaluation.matched), (Some(2), vec![0, 1, 2]));
}

#[test]
fn an_excluded_target_is_still_tested_by_later_links() {
    let exclude = "SecAction \"id:1,phase:1,pass,nolog,ctl:ruleRemoveTargetById=2;ARGS:a\"\n";
    let chain = "SecRule ARGS_NAMES \"@streq a\" \"id:2,phase:2,deny,chain\"\n\
                 SecRule ARGS:a \"@contains evil\"";
    assert!(is_denied(&format!("{exclude}{chain}"), "/?a=evil"));
    let first = "SecRule ARGS:a \"@contains evil\" \"id:2,phase:2,deny\"";
    assert!(!is_denied(&format!("{exclude}{first}"), "/?a=evil"));
}

#[test]
fn an_action_that_denies_is_logged() {
    let evaluation = evaluate(&parse("SecAction \"id:7,phase:2,deny\""), "GET / HTTP/1.1", "x");
    assert_eq!((evaluation.denied, evaluation.matched), (Some(0), vec![0]));
}
