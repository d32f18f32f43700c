use super::{looks_like, parse};
use crate::error::RuleError;
use crate::presets::Preset;
use weir_core::PatternBudget;

fn read(text: &str) -> Result<Vec<Preset>, RuleError> {
    parse(text, &PatternBudget::default())
}

/// The condition of the only limit, with what is rejected, and the texts of its notes.
fn conditions(text: &str) -> (String, Vec<String>) {
    let presets = read(text).expect(text);
    assert_eq!(presets.len(), 1, "{text}");
    let limit = presets[0].limit.to_string();
    let shown = limit.strip_prefix("limit 15 requests in 10s by client").expect(text);
    let shown = shown.replace(" as whole-tokens", "").trim_start().to_owned();
    let notes = presets[0].notes.iter().map(|note| text[note.range.clone()].to_owned());
    (shown, notes.collect())
}

#[test]
fn calls_are_limits() {
    for (call, expected, notes) in [
        ("client.identity, 15, 10s", "limit 15 requests in 10s by client as whole-tokens", 0),
        (
            "\"rw\" + client.ip + req.http.host, 2, 1m, 30s",
            "limit 2 requests in 1m by client, host as whole-tokens; then rejected for 30s",
            0,
        ),
        ("\"all\", 1000, 1s", "limit 1000 requests in 1s as whole-tokens", 1),
    ] {
        let text =
            format!("sub vcl_recv {{\n  # {0}\n  if (vsthrottle.is_denied({call})) {{\n", "x");
        assert!(looks_like(&text), "{text}");
        let presets = read(&text).expect(&text);
        assert_eq!(presets[0].limit.to_string(), expected, "{text}");
        assert_eq!(presets[0].notes.len(), notes, "{text}");
    }
}

const CALL: &str = "vsthrottle.is_denied(client.identity, 15, 10s)";

#[test]
fn calls_in_comments_are_none() {
    for comment in ["/* x */", "/* \n x \n */", "# x\n", "// x\n", "set req.http.a = \"b\"; # x\n"]
    {
        let text = format!("{}\nif ({CALL}) {{}}", comment.replace('x', CALL));
        assert_eq!(conditions(&text), (String::new(), vec![]), "{text}");
        let error = read(&comment.replace('x', CALL)).err().expect(comment);
        assert!(error.message.contains("there is no"), "{error}");
    }
    // What looks like a comment in a text is none.
    let text = format!("set req.http.a = \"/*\"; set req.http.b = {{\"#\"}}; if ({CALL}) {{}}");
    assert_eq!(conditions(&text), (String::new(), vec![]));
}

#[test]
fn conditions_before_a_call_decide_which_requests_count() {
    for (text, expected) in [
        ("if (req.url ~ \"^/login\" && CALL) {", "where path~'^/login'"),
        (
            "if (req.method == \"POST\" && (req.url ~ \"^/a\") && CALL) {",
            "where method~'^POST$' and path~'^/a'",
        ),
        ("if (req.url ~ \"^/a\") { if (CALL) { return (synth(429)); } }", "where path~'^/a'"),
        (
            "if (client.ip !~ own && CALL) {} acl own { \"192.0.2.0\"/24; \"2001:db8::1\"; }",
            "where not (client=192.0.2.0/24 or client=2001:db8::1)",
        ),
        ("if (req.url ~ \"^/a\") { return (pass); } if (CALL) {", "where not path~'^/a'"),
        ("if (req.url ~ \"^/a\") { set req.http.x = \"1\"; } if (CALL) {", ""),
        (
            "if (req.url ~ \"^/a\") {} elsif (req.method == \"GET\") { if (CALL) {} }",
            "where not path~'^/a' and method~'^GET$'",
        ),
        ("if (req.url ~ \"^/a\") {} else { if (CALL) {} }", "where not path~'^/a'"),
        ("if (req.url ~ \"^/a\" || CALL) {", "where not path~'^/a'"),
        ("if (!(req.http.host == \"a\") && CALL) {", "where not host~'^a$'"),
        // What stands after the call counts, and is not rejected.
        ("if (CALL && req.url ~ \"^/a\") {", "; of these, path~'^/a' is rejected"),
        ("sub a { if (req.url ~ \"^/a\") { return (pass); } } sub b { if (CALL) {} }", ""),
    ] {
        let text = text.replace("CALL", CALL);
        assert_eq!(conditions(&text), (expected.to_owned(), vec![]), "{text}");
    }
}

#[test]
fn conditions_that_are_not_followed_are_noted() {
    for (text, expected, note) in [
        ("if (req.http.cookie ~ \"x\" && CALL) {", "", "req.http.cookie ~ \"x\""),
        ("if (req.url ~ \"^/a\" && !req.http.x && CALL) {", "where path~'^/a'", "req.http.x"),
        (
            "if (!(req.url ~ \"^/a\" && std.ip(req.http.x, \"::\") ~ b) && CALL) {",
            "",
            "req.url ~ \"^/a\" && std.ip(req.http.x, \"::\") ~ b",
        ),
        (
            "if (client.ip ~ own && CALL) {} acl own { \"192.0.2.0\"/24; ! \"192.0.2.1\"; }",
            "",
            "client.ip ~ own",
        ),
        ("if (CALL && req.restarts == 0) {", "", "req.restarts == 0"),
        ("if (req.url ~ \"^/a.*b\" && CALL) {", "where path~'(?-u)^/a.*b'", "req.url ~ \"^/a.*b\""),
        ("if (req.url ~ \"(?=a)\" && CALL) {", "", "req.url ~ \"(?=a)\""),
    ] {
        let text = text.replace("CALL", CALL);
        assert_eq!(conditions(&text), (expected.to_owned(), vec![note.to_owned()]), "{text}");
    }
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for call in ["", "client.ip", "client.ip, 5", "client.ip, x, 10s", "client.ip, 5, 10y"] {
        let text = format!("if (vsthrottle.is_denied({call})) {{}}");
        let error = read(&text).err().expect(&text);
        assert!(error.message.contains("write the key, the number"), "{text}: {error}");
        assert_eq!(error.range.start, 4, "{text}");
    }
    assert!(read("vsthrottle.is_denied(a, 5, 1s").is_err());
    for deep in ["{", "if (", "if ((", "if (!", "else", "if (a) {} else "] {
        let text = format!("{}{CALL}", deep.repeat(50_000));
        // It is read or refused, but ends.
        let _ = read(&text);
    }
}
