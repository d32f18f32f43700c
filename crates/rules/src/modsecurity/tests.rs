//! Tests of single rules, and of what a set reports.

use std::sync::Arc;

use weir_core::{Format, LineParser, Record};

use super::ModSecurity;
use super::engine::Evaluation;
use crate::files::RuleFiles;
use crate::rule::Rule;

/// The number of the rule that denies a request line with an agent, and those that match.
fn denied(text: &str, request: &str, agent: &str) -> (Option<u32>, Vec<u32>) {
    let rule = ModSecurity::parse(text, "test", &RuleFiles::default()).expect(text);
    let evaluation = evaluate(&rule, request, agent);
    (evaluation.denied, evaluation.matched)
}

pub(super) fn evaluate(rule: &ModSecurity, request: &str, agent: &str) -> Evaluation {
    let format = r#"$remote_addr [$time_local] "$request" "$http_user_agent""#;
    let line = format!("192.0.2.7 [17/Dec/2025:09:03:01 +0000] \"{request}\" \"{agent}\"");
    evaluate_line(rule, format, &line)
}

/// Evaluates the rules for a line of a log.
pub(super) fn evaluate_line(rule: &ModSecurity, format: &str, line: &str) -> Evaluation {
    let format = Arc::new(Format::parse(format).expect("a format"));
    let fields = format.record_fields();
    let binding = rule.bindings.get(&rule.rules, &fields);
    assert_eq!(binding.error, None);
    let (mut memory, mut record) = (Vec::new(), Record::new());
    let mut parser = LineParser::new(format);
    parser.parse_decoding(line.as_bytes(), &mut memory, &mut record).expect("it fits");
    rule.rules.evaluate(&record, &binding)
}

#[test]
fn rules_test_the_request() {
    let request = "GET /a/../%41dmin?q=1%27+UNION&b=x HTTP/1.1";
    for (rule, expected) in [
        (r#"REQUEST_URI "@contains /../""#, false),
        (r#"REQUEST_URI_RAW "@contains /../""#, true),
        (r#"REQUEST_URI "@beginsWith /Admin?q=1%27""#, true),
        (r#"REQUEST_URI "@rx (?i)union$""#, false),
        (r#"ARGS "@rx (?i)union$""#, true),
        (r#"ARGS "!@rx union""#, true),
        (r#"ARGS|!ARGS:q "@rx (?i)union""#, false),
        (r#"ARGS:B "@streq x""#, true),
        (r#"&ARGS "@eq 2""#, true),
        (r#"ARGS_NAMES "@within q b""#, true),
        (r#"REQUEST_FILENAME "@endsWith /admin""#, false),
        (r#"REQUEST_BASENAME "@streq Admin""#, true),
        (r#"REQUEST_METHOD "!@within GET POST""#, false),
        (r#"REQUEST_PROTOCOL "@streq HTTP/1.1""#, true),
        (r#"QUERY_STRING "@beginsWith q=1%27""#, true),
        (r#"REQUEST_LINE "@beginsWith GET /a/""#, true),
        (r#"REQUEST_HEADERS:User-Agent "@pm nikto sqlmap""#, true),
        (r#"REQUEST_HEADERS "@rx nikto$""#, false),
        (r#"REQUEST_HEADERS "@rx Nikto$""#, true),
        (r#"REQUEST_HEADERS|!REQUEST_HEADERS:User-Agent "@rx Nikto$""#, false),
        (r#"REMOTE_ADDR "@ipMatch 192.0.2.0/24""#, true),
        ("REQUEST_HEADERS:User-Agent \"\\\"\"", true),
    ] {
        let text = format!("SecRule {rule} \"id:1,deny\"");
        let agent = r#"a \x22 Nikto"#;
        assert_eq!(denied(&text, request, agent).0.is_some(), expected, "{rule}");
    }
    let text = "SecRule REQUEST_FILENAME \"@streq /admin\" \\\n    \
                \"id:1,t:none,t:urlDecode,t:normalizePath,t:lowercase,deny\"";
    assert_eq!(denied(text, request, "x").0, Some(0));
}

#[test]
fn chains_scores_and_markers_are_followed() {
    let text = r#"
# Scores
SecDefaultAction "phase:2,log,pass"
SecAction "id:1,phase:1,pass,setvar:tx.critical=5,setvar:tx.limit=5"
SecRule REQUEST_METHOD "@streq POST" "id:2,phase:2,block,chain,setvar:'tx.score=+3'"
    SecRule REQUEST_FILENAME "@beginsWith /login" "setvar:tx.score=+1"
SecRule ARGS "@contains <script" "id:3,phase:2,block,t:lowercase,setvar:'tx.score=+%{tx.critical}'"
SecRule TX:SCORE "@ge %{tx.limit}" "id:4,phase:2,deny"
SecRule REQUEST_FILENAME "@beginsWith /free" "id:5,phase:1,pass,skipAfter:END"
SecRule REQUEST_HEADERS:User-Agent "@contains bad" "id:6,phase:1,deny"
SecMarker END
"#;
    assert_eq!(denied(text, "POST /login HTTP/1.1", "x"), (None, vec![0, 1]));
    assert_eq!(denied(text, "GET /?a=%3CSCRIPT HTTP/1.1", "x"), (Some(3), vec![0, 2, 3]));
    assert_eq!(denied(text, "GET / HTTP/1.1", "bad"), (Some(5), vec![0, 5]));
    assert_eq!(denied(text, "GET /free HTTP/1.1", "bad"), (None, vec![0, 4]));
}

#[test]
fn variables_are_set_for_each_value_that_matches() {
    let text = r#"
SecAction "id:1,phase:1,pass,setvar:tx.seen=9"
SecRule ARGS|ARGS_NAMES "@contains evil" "id:2,phase:1,pass,setvar:!tx.seen,setvar:'tx.score=+3'"
SecRule ARGS "@streq on" "id:3,phase:1,pass,chain,setvar:tx.score=+10"
    SecRule REQUEST_METHOD "@streq POST" "setvar:tx.score=+100"
SecRule TX:SCORE "@eq LIMIT" "id:4,phase:2,deny"
SecRule TX:SEEN "@eq 9" "id:5,phase:2,deny"
"#;
    for (request, score) in [
        ("GET /?a=evil HTTP/1.1", 3),
        ("GET /?a=evil&b=evil HTTP/1.1", 6),
        ("GET /?evil=evil&b=evil&c=x HTTP/1.1", 9),
        ("GET /?a=evil&b=on&c=on HTTP/1.1", 23),
        ("POST /?a=evil&b=on&c=on HTTP/1.1", 123),
    ] {
        for limit in [score - 1, score, score + 1] {
            let text = text.replace("LIMIT", &limit.to_string());
            let expected = (limit == score).then_some(3);
            assert_eq!(denied(&text, request, "x").0, expected, "{request} {limit}");
        }
    }
    assert_eq!(denied(text, "GET /?a=b HTTP/1.1", "x").0, Some(4));
}

#[test]
fn rules_begin_with_the_default_actions_before_them() {
    let request = "GET /?a=EVIL HTTP/1.1";
    let default = "SecDefaultAction \"phase:2,deny,t:lowercase\"";
    let test = "SecRule ARGS \"@contains evil\"";
    for (text, expected) in [
        (format!("{default}\n{test} \"id:1\""), true),
        (format!("{default}\n{test}"), true),
        (format!("{default}\n{test} \"id:1,phase:1,block\""), true),
        (format!("{default}\n{test} \"id:1,pass\""), false),
        (format!("{default}\n{test} \"id:1,t:none\""), false),
        (format!("{test} \"id:1,block,t:lowercase\"\n{default}"), false),
        (format!("{default}\nSecDefaultAction \"phase:1,pass\"\n{test} \"id:1\""), false),
        (
            format!(
                "{default}\nSecDefaultAction \"phase:1,pass\"\n{test} \"id:1,deny,t:lowercase\""
            ),
            true,
        ),
    ] {
        assert_eq!(denied(&text, request, "x").0.is_some(), expected, "{text}");
    }
}

#[test]
fn allow_ends_the_phases_of_its_scope() {
    for (scope, phase, expected) in [
        ("allow", 1, false),
        ("allow", 2, false),
        ("allow", 4, false),
        ("allow:request", 2, false),
        ("allow:request", 3, true),
        ("allow:phase", 1, false),
        ("allow:phase", 2, true),
    ] {
        let text = format!(
            "SecRule REQUEST_METHOD \"@streq GET\" \"id:1,phase:1,{scope}\"\n\
             SecRule ARGS \"@contains evil\" \"id:2,phase:{phase},deny\""
        );
        let denied = denied(&text, "GET /?a=evil HTTP/1.1", "x").0.is_some();
        assert_eq!(denied, expected, "{scope} {phase}");
    }
}

#[test]
fn directives_that_change_verdicts_are_named() {
    let test = "SecRule ARGS \"@contains evil\"";
    for (lines, expected) in [
        ("SecRuleEngine On\n<IfModule security2_module>\n</IfModule>\nServerName a", None),
        ("SecRuleEngine DetectionOnly", Some("the engine is `DetectionOnly`")),
        ("Include crs/*.conf", Some("the included rules are not read")),
        ("<LocationMatch \"^/a\">\n</LocationMatch>", Some("`<LocationMatch>`")),
        ("<IfModule !security2_module>", Some("`<IfModule>`")),
        ("SecDefaultAction \"phase:2,deny\"", Some("rules that do not say")),
        (
            "SecDefaultAction \"phase:1,deny\"\nSecDefaultAction \"phase:2,pass\"",
            Some("the rules after this line"),
        ),
    ] {
        let text = format!("{lines}\n{test} \"id:1\"\n{test} \"id:2\"");
        let rule = ModSecurity::parse(&text, "test", &RuleFiles::default()).expect(lines);
        let notes: Vec<&str> = rule.notes.iter().map(|note| &*note.message).collect();
        assert_eq!(notes.len(), usize::from(expected.is_some()), "{lines}: {notes:?}");
        let starts = |note: &&str| note.starts_with(expected.unwrap_or_default());
        assert!(notes.iter().all(starts), "{lines}: {notes:?}");
    }
    let text = format!("{test} \"id:1,phase:5,deny\"");
    assert_eq!(denied(&text, "GET /?a=evil HTTP/1.1", "x"), (None, vec![0]));
    let rule = ModSecurity::parse(&text, "test", &RuleFiles::default()).expect("it is valid");
    assert!(rule.notes[0].message.starts_with("phase 5 is after the answer"));
}

#[test]
fn what_cannot_be_told_is_named() {
    let text = r#"SecRule REQUEST_BODY "@rx a" "id:1,deny"
SecRule ARGS "@detectSQLi" "id:2,deny"
SecRule ARGS "@rx (?<!a)b" "id:3,deny"
SecRule ARGS "@rx a" "id:4,t:sha1,deny"
SecRule ARGS "@rx a" "id:5,deny,chain"
SecRule XML:/* "@rx a"
SecRule REQUEST_COOKIES|!REQUEST_COOKIES:/x/|ARGS "@rx a" "id:6,deny"
SecUploadDir /tmp"#;
    let rule = ModSecurity::parse(text, "test", &RuleFiles::default()).expect("it is valid");
    evaluate(&rule, "GET / HTTP/1.1", "x");
    assert_eq!((rule.untold().count(), rule.partial().0.len()), (4, 1));
    let lines: Vec<usize> = rule.notes.iter().map(|note| note.line(text)).collect();
    assert_eq!(lines, [8]);
    let left_out = rule.left_out();
    let reasons: Vec<&str> = left_out.iter().map(|group| &*group.reason).collect();
    assert_eq!(
        reasons,
        [
            "`REQUEST_BODY` is not in an access log",
            "`XML` is not in an access log",
            "the operator @detectSQLi is not supported",
            "the transformation t:sha1 is not supported",
        ]
    );
    assert_eq!((left_out[0].rules, &*left_out[0].first_ids), (1, &["1".to_owned()][..]));
    assert_eq!(rule.description(), "6 rules, 4 of which cannot be told from this log");
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for (text, place, message) in [
        ("SecRule ARGS", "SecRule", "write SecRule VARIABLES"),
        ("SecRule ARGS \"a", "\"a", "is not closed"),
        ("SecRule ARGS \"a\" \"phase:9\"", "\"phase:9", "`9` is not a phase"),
        ("SecRule ARGS \"a\" \"id:1,msg:'a\"", "\"id:1,msg", "quote `'` of the action `msg`"),
        ("SecRule ARGS \"a\" \"allow:x\"", "\"allow:x", "`x` is not a scope"),
        ("# nothing", "", "there is no `SecRule`"),
    ] {
        let error = ModSecurity::parse(text, "test", &RuleFiles::default()).expect_err(text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        if !place.is_empty() {
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }
}

#[test]
fn escapes_are_only_undone_if_the_format_has_not() {
    let rule = |text: &str| {
        let text = format!("SecRule REQUEST_HEADERS:User-Agent \"@rx {text}\" \"id:1,deny\"");
        ModSecurity::parse(&text, "test", &RuleFiles::default()).expect("a rule")
    };
    let text = r#"$remote_addr [$time_local] "$request" "$http_user_agent""#;
    let json = "json:client=ip,time=t,request=r,user_agent=ua";
    for (agent, expression, is_denied) in [
        (r"lit\x27", "^lit'$", [true, true]),
        (r"lit\\x27", "^lit.x27$", [true, true]),
        (r"lit\\x27", "^lit'$", [false, false]),
        (r#"\\\""#, "^.{2}$", [true, true]),
    ] {
        let rule = rule(expression);
        let line = format!(r#"192.0.2.7 [17/Dec/2025:09:03:01 +0000] "GET / HTTP/1.1" "{agent}""#);
        let object = format!(
            r#"{{"ip": "192.0.2.7", "t": "2025-12-17T09:03:01Z", "r": "GET / HTTP/1.1", "ua": "{agent}"}}"#
        );
        let found = [(text, &line), (json, &object)]
            .map(|(format, line)| evaluate_line(&rule, format, line).denied.is_some());
        assert_eq!(found, is_denied, "{agent} {expression}");
    }
}
