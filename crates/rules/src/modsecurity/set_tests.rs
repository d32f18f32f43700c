//! Tests of whole sets of rules: scores, controls, and bounds.

#[cfg(target_os = "linux")]
use std::time::Duration;

use super::ModSecurity;
use super::tests::evaluate;
use crate::files::RuleFiles;
use crate::rule::Rule;

/// Rules with the variables of version 3 and of version 4 of the OWASP Core Rule Set: one at each
/// paranoia level, with another score, and the sum.
const LEVELS: &str = r#"
SecRule &TX:paranoia_level "@eq 0" "id:10,phase:1,pass,nolog,setvar:tx.paranoia_level=1"
SecRule &TX:threshold "@eq 0" "id:11,phase:1,pass,nolog,setvar:tx.threshold=5"
SecAction "id:12,phase:1,pass,nolog,setvar:tx.SUM=0,setvar:tx.critical=5,setvar:tx.notice=2"
SecRule ARGS "@contains evil" "id:101,phase:2,block,setvar:'tx.score_pl1=+%{tx.critical}'"
SecRule TX:PARANOIA_LEVEL "@lt 2" "id:20,phase:2,pass,nolog,skipAfter:END-LEVELS"
SecRule ARGS "@contains evil" "id:102,phase:2,block,setvar:'tx.score_pl2=+4'"
SecRule TX:PARANOIA_LEVEL "@lt 3" "id:30,phase:2,pass,nolog,skipAfter:END-LEVELS"
SecRule ARGS_NAMES|ARGS "@rx ." "id:103,phase:2,block,setvar:'tx.score_pl3=+3'"
SecRule TX:PARANOIA_LEVEL "@lt 4" "id:40,phase:2,pass,nolog,skipAfter:END-LEVELS"
SecRule REQUEST_METHOD "@streq GET" "id:104,phase:2,block,setvar:'tx.score_pl4=+%{tx.notice}'"
SecMarker END-LEVELS
SecRule TX:PARANOIA_LEVEL "@ge 1" "id:51,phase:2,pass,nolog,setvar:'tx.SUM=+%{tx.score_pl1}'"
SecRule TX:PARANOIA_LEVEL "@ge 2" "id:52,phase:2,pass,nolog,setvar:'tx.SUM=+%{tx.score_pl2}'"
SecRule TX:PARANOIA_LEVEL "@ge 3" "id:53,phase:2,pass,nolog,setvar:'tx.SUM=+%{tx.score_pl3}'"
SecRule TX:PARANOIA_LEVEL "@ge 4" "id:54,phase:2,pass,nolog,setvar:'tx.SUM=+%{tx.score_pl4}'"
SecRule TX:SUM "@ge %{tx.threshold}" "id:99,phase:2,deny"
"#;

fn parse(text: &str) -> ModSecurity {
    ModSecurity::parse(text, "test", &RuleFiles::default()).expect(text)
}

/// The ids of the rules that match a request and are logged, whether it is denied, and its score.
fn result(text: &str, request: &str) -> (Vec<String>, bool, Option<i64>) {
    let rule = parse(text);
    let evaluation = evaluate(&rule, request, "x");
    let ids: Vec<&str> = rule.rules.all().map(|links| &*links[0].id).collect();
    let ids = evaluation.matched.iter().map(|number| ids[*number as usize].to_owned());
    (ids.collect(), evaluation.denied.is_some(), evaluation.score)
}

#[test]
fn scores_are_added_up_at_each_paranoia_level() {
    for name in ["anomaly_score", "blocking_inbound_anomaly_score"] {
        let rules = LEVELS.replace("SUM", name);
        for (set_up, score, matched) in [
            ("", 5, &["101"][..]),
            ("setvar:tx.paranoia_level=1", 5, &["101"]),
            ("setvar:tx.paranoia_level=2", 9, &["101", "102"]),
            ("setvar:tx.paranoia_level=3", 15, &["101", "102", "103"]),
            ("setvar:tx.paranoia_level=4", 17, &["101", "102", "103", "104"]),
        ] {
            for (threshold, is_denied) in [(score, true), (score + 1, false)] {
                let action =
                    format!("id:1,phase:1,pass,nolog,setvar:tx.threshold={threshold},{set_up}");
                let text = format!("SecAction \"{action}\"\n{rules}");
                let (mut ids, denied, found) = result(&text, "GET /?q=evil HTTP/1.1");
                let last = ids.pop_if(|id| id == "99");
                assert_eq!((denied, last.is_some()), (is_denied, is_denied), "{set_up}");
                assert_eq!(found, Some(score), "{set_up}");
                assert_eq!(ids, matched, "{set_up}");
            }
        }
        assert_eq!(result(&rules, "GET /?q=good HTTP/1.1"), (vec![], false, Some(0)));
    }
}

#[test]
fn controls_change_verdicts() {
    let rules = "SecRule ARGS \"@contains evil\" \"id:100,phase:2,deny,tag:'attack-x'\"\n\
                 SecRule ARGS_NAMES \"@contains evil\" \"id:101,phase:2,deny,tag:other\"";
    let (value, name) = ("GET /?a=evil HTTP/1.1", "GET /?evil=1 HTTP/1.1");
    for (control, passes, is_denied) in [
        ("auditEngine=Off", None, true),
        ("ruleRemoveById=100", Some(value), true),
        ("ruleRemoveById=90-100", Some(value), true),
        ("ruleRemoveById=100-90", None, true),
        ("ruleRemoveById=101", Some(name), true),
        ("ruleRemoveByTag=attack", Some(value), true),
        ("ruleRemoveByTag=^x", None, true),
        ("ruleRemoveTargetById=100;ARGS:a", Some(value), true),
        ("ruleRemoveTargetById=100;ARGS:/^[ab]$/", Some(value), true),
        ("ruleRemoveTargetById=100;ARGS", Some(value), true),
        ("ruleRemoveTargetById=100;ARGS:b", None, true),
        ("ruleRemoveTargetById=100;REQUEST_COOKIES:a", None, true),
        ("ruleRemoveTargetByTag=other;ARGS_NAMES:evil", Some(name), true),
        ("ruleEngine=DetectionOnly", None, false),
        ("ruleEngine=Off", None, false),
    ] {
        for request in [value, name] {
            let action = format!("id:1,phase:1,nolog,pass,ctl:{control}");
            for text in [
                format!("SecAction \"{action}\"\n{rules}"),
                format!("SecRule REQUEST_URI \"@beginsWith /\" \"{action}\"\n{rules}"),
            ] {
                let expected = is_denied && passes != Some(request);
                assert_eq!(result(&text, request).1, expected, "{control} {request}");
            }
        }
        // One that does not match excludes nothing.
        let action = format!("id:1,phase:1,nolog,pass,ctl:{control}");
        let text = format!("SecRule REQUEST_URI \"@contains free\" \"{action}\"\n{rules}");
        assert!(result(&text, value).1 && result(&text, name).1, "{control}");
    }
    let detection =
        format!("SecAction \"id:1,phase:1,pass,ctl:ruleEngine=DetectionOnly\"\n{rules}");
    assert_eq!(result(&detection, value).0, ["1", "100"]);
}

#[test]
fn directives_exclude_from_the_rules_before_them() {
    let other = "SecRule ARGS \"@contains none\" \"id:50,phase:2,deny\"";
    let rule =
        "SecRule ARGS:a|ARGS_NAMES \"@contains evil\" \"id:100,phase:2,deny,tag:'attack-x'\"";
    let chain = "SecRule ARGS \"@contains evil\" \"id:100,phase:2,deny,chain\"\n\
                 SecRule REQUEST_METHOD \"@streq GET\"\n\
                 SecRule ARGS \"@contains none\" \"id:101,phase:2,deny\"";
    for (line, is_denied) in [
        ("SecRuleRemoveById 100", false),
        ("SecRuleRemoveById 5 \"90-110\"", false),
        ("SecRuleRemoveById 101", true),
        ("SecRuleRemoveByTag attack", false),
        ("SecRuleUpdateTargetById 100 \"!ARGS:a\"", false),
        ("SecRuleUpdateTargetById 100 \"!ARGS:b,!ARGS_NAMES\"", true),
        ("SecRuleUpdateTargetById 100 \"!ARGS:a,REQUEST_URI\"", true),
        ("SecRuleUpdateTargetByTag x \"!ARGS\"", false),
    ] {
        let request = "GET /?a=evil HTTP/1.1";
        assert_eq!(result(&format!("{other}\n{rule}\n{line}"), request).1, is_denied, "{line}");
        assert!(result(&format!("{line}\n{rule}"), request).1, "{line} before the rule");
    }
    let text = format!("{chain}\nSecRuleRemoveById 100");
    assert_eq!(result(&text, "GET /?a=evil HTTP/1.1"), (vec![], false, None));
    assert!(result(chain, "GET /?a=evil HTTP/1.1").1);
}

#[test]
fn a_set_without_its_set_up_gets_defaults_and_a_note() {
    let test = "SecRule &TX:crs_setup_version \"@eq 0\" \"id:901001,phase:1,deny\"";
    let set_up = "SecAction \"id:900990,phase:1,pass,setvar:tx.crs_setup_version=334\"";
    for (text, is_denied, note) in [
        (
            test.to_owned(),
            false,
            Some("the set-up file of the OWASP Core Rule Set, crs-setup.conf"),
        ),
        (format!("{set_up}\n{test}"), false, None),
        (
            format!("{test}\n{set_up}"),
            true,
            Some("the set-up file of the OWASP Core Rule Set comes"),
        ),
    ] {
        assert_eq!(result(&text, "GET / HTTP/1.1").1, is_denied, "{text}");
        let notes: Vec<String> = parse(&text).notes.iter().map(|it| it.message.clone()).collect();
        assert_eq!(notes.len(), usize::from(note.is_some()), "{notes:?}");
        assert!(notes.iter().all(|it| it.starts_with(note.unwrap_or_default())), "{notes:?}");
    }
}

/// The time that this thread has computed.
#[cfg(target_os = "linux")]
fn computed() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel's count");
    Duration::from_nanos(text.split(' ').next().and_then(|it| it.parse().ok()).expect("a number"))
}

/// The bounds are about ten times what a busy machine needs without optimization. Work that grows
/// with the square of the rules would take hours.
#[test]
#[cfg(target_os = "linux")]
fn a_hundred_thousand_rules_are_read_and_evaluated_in_linear_time() {
    let rules = (0..100_000).map(|number| {
        let id = 1_000 + number;
        let next = id + 1;
        match number % 5 {
            0 => format!("SecAction \"id:{id},phase:1,pass,nolog,tag:t{number},setvar:tx.a=+1\"\n"),
            1 => format!(
                "SecRule REQUEST_URI \"@contains /\" \"id:{id},phase:1,pass,nolog,\
                 ctl:ruleRemoveTargetById={next};ARGS:a{number}\"\n"
            ),
            2 => format!("SecRule ARGS \"@contains word{number}\" \"id:{id},phase:2,deny\"\n"),
            3 => format!(
                "SecRule REQUEST_URI \"@beginsWith /\" \"id:{id},phase:1,pass,nolog,\
                 ctl:ruleRemoveById={next}\"\n"
            ),
            _ => format!(
                "SecRule ARGS \"@contains evil\" \"id:{id},phase:2,deny\"\nSecRuleRemoveById {next}\n"
            ),
        }
    });
    let text: String = rules.collect();
    let start = computed();
    let rule = parse(&text);
    let parsed = computed();
    let evaluation = evaluate(&rule, "GET /?a=evil&b=word99997 HTTP/1.1", "x");
    let evaluated = computed();
    assert_eq!((evaluation.denied, evaluation.matched), (Some(99_997), vec![99_997]));
    assert!(parsed - start < Duration::from_secs(10), "{:?}", parsed - start);
    assert!(evaluated - parsed < Duration::from_secs(5), "{:?}", evaluated - parsed);
}

#[test]
fn exclusions_of_millions_of_rules_are_refused_at_their_place() {
    let rule =
        |number| format!("SecAction \"id:{number},phase:1,pass,ctl:ruleRemoveById=1-9999\"\n");
    let text: String = (1..5_000).map(rule).collect();
    let error = ModSecurity::parse(&text, "test", &RuleFiles::default()).expect_err("too many");
    assert!(error.message.starts_with("the rules exclude others millions of times"), "{error}");
    assert!(error.range.start > 0, "{error:?}");
}

#[test]
fn values_do_not_grow_without_end() {
    let hex = "t:hexEncode,".repeat(40);
    let text = format!(
        "SecRule ARGS \"@contains 3\" \"id:1,phase:1,pass,{hex}setvar:tx.a=x\"\n\
         SecAction \"id:2,phase:1,pass,{doubled}\"\n\
         SecRule TX:A \"@gt 65536\" \"id:3,phase:2,deny,t:length\"\n\
         SecRule TX:A \"@beginsWith xx\" \"id:4,phase:2,deny\"\n\
         SecRule ARGS \"@rx ^6\" \"id:5,phase:1,deny,t:none,{many}\"",
        doubled = "setvar:tx.a=%{tx.a}%{tx.a},".repeat(40),
        many = "t:hexEncode,".repeat(65),
    );
    let rule = parse(&text);
    let evaluation = evaluate(&rule, "GET /?a=evil HTTP/1.1", "x");
    assert_eq!(evaluation.denied, Some(3));
    let left_out = rule.left_out();
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0].reason, "more than 64 transformations");
}

#[test]
fn searches_that_take_too_many_steps_end_for_the_request() {
    let text = "SecRule ARGS \"@rx ^((a|aa)+)\\1b$\" \"id:1,phase:2,deny\"\n\
                SecRule ARGS \"@streq end\" \"id:2,phase:2,deny\"";
    let rule = parse(text);
    let query = format!("q={}&", "a".repeat(60)).repeat(500);
    let evaluation = evaluate(&rule, &format!("GET /?{query}z=end HTTP/1.1"), "x");
    assert_eq!(evaluation.denied, Some(1));
    // All count, but only the first eight were tried.
    assert_eq!(rule.rules.abandoned(), 501);
}
