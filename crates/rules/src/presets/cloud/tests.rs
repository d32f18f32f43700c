use super::{looks_like, parse};
use weir_core::PatternBudget;

#[test]
fn the_services_are_recognised() {
    for (text, expected) in [
        (
            r#"{"RateBasedStatement": {"Limit": 2000, "AggregateKeyType": "IP"}}"#,
            "limit 2000 requests in 5m by client as unpublished",
        ),
        (
            "rate_based_statement {\n  limit = 100\n  evaluation_window_sec = 60\n}",
            "limit 100 requests in 1m by client as unpublished",
        ),
        (
            r#"{"ratelimit": {"period": 10, "requests_per_period": 20, "mitigation_timeout": 60}}"#,
            "limit 20 requests in 10s by client as unpublished",
        ),
        (
            r#"{"rateLimitDurationInMinutes": 5, "rateLimitThreshold": 100}"#,
            "limit 100 requests in 5m by client as unpublished",
        ),
    ] {
        assert!(looks_like(text), "{text}");
        assert_eq!(
            parse(text, &PatternBudget::default()).expect(text)[0].limit.to_string(),
            expected
        );
    }
}

#[test]
fn each_rate_has_its_own_expression() {
    let text = r#"[
        {"expression": "(http.request.uri.path contains \"/login\")",
         "ratelimit": {"period": 10, "requests_per_period": 20}},
        {"ratelimit": {"period": 60, "requests_per_period": 5, "counting_expression": "http.request.uri.path in {\"/a\" \"/b\"} and ip.geoip.country eq \"DE\""},
         "expression": "true"}
    ]"#;
    let presets = parse(text, &PatternBudget::default()).expect(text);
    let limits: Vec<String> = presets.iter().map(|it| it.limit.to_string()).collect();
    assert_eq!(
        limits,
        [
            "limit 20 requests in 10s by client where path~'/login' as unpublished",
            "limit 5 requests in 1m by client where path~'^/a$' or path~'^/b$' as unpublished",
        ]
    );
    let notes: Vec<&str> = presets[1].notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(
        notes,
        [
            "`ip.geoip.country eq \"DE\"` is not followed: requests count whether they meet it or not",
            "Cloudflare blocks all requests of the client once it is over the limit; here those that \
             count are rejected",
        ]
    );
    let terraform = "rules {\n  expression = \"http.host eq \\\"a.example\\\"\"\n  ratelimit {\n    \
                     period = 60\n    requests_per_period = 5\n  }\n}";
    let presets = parse(terraform, &PatternBudget::default()).expect(terraform);
    assert!(presets[0].limit.to_string().contains("host~"), "{}", presets[0].limit);
}

#[test]
fn each_rule_of_aws_has_its_name() {
    let text = r#"{"Limit": 1, "Rules": [
        {"Name": "a", "Statement": {"RateBasedStatement": {"Limit": 100, "AggregateKeyType": "IP"}}},
        {"Name": "b", "Statement": {"RateBasedStatement": {"Limit": 200, "EvaluationWindowSec": 60}}}
    ]}"#;
    let presets = parse(text, &PatternBudget::default()).expect(text);
    let limits: Vec<_> =
        presets.iter().map(|it| (it.limit.name.as_deref(), it.limit.to_string())).collect();
    assert_eq!(
        limits,
        [
            (Some("a"), "limit 100 requests in 5m by client as unpublished".to_owned()),
            (Some("b"), "limit 200 requests in 1m by client as unpublished".to_owned()),
        ]
    );
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for (text, place, message) in [
        ("RateBasedStatement", "", "there is no rate in it"),
        ("Limit: x", "x", "`x` is not a number"),
        ("Limit: 0", "0", "`0` is not a rate limit"),
        ("requests_per_period: 5, period: 0", "0", "`0` is not a rate limit"),
    ] {
        let error = parse(text, &PatternBudget::default()).err().expect(text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert_eq!(Some(error.range.start), text.find(place), "{text}");
    }
}

/// The limit without its count and algorithm, and the place and the note of what is left out.
fn read(text: &str) -> (String, Vec<(&str, String)>) {
    let presets = parse(text, &PatternBudget::default()).expect(text);
    assert_eq!(presets.len(), 1, "{text}");
    let limit = presets[0].limit.to_string().replace(" as unpublished", "");
    let (_, shown) = limit.split_once("5m").expect(&limit);
    let notes = presets[0].notes.iter();
    let notes = notes.map(|note| (&text[note.range.clone()], note.message.clone())).collect();
    (shown.trim_start().to_owned(), notes)
}

/// The notes of a text, each of which has these words at this place.
fn assert_notes(text: &str, notes: &[(&str, String)], expected: &[(&str, &str)]) {
    assert_eq!(notes.len(), expected.len(), "{text}: {notes:?}");
    for ((place, message), (at, words)) in notes.iter().zip(expected) {
        assert!(place == at && message.contains(words), "{text}: {place}: {message}");
    }
}

#[test]
fn a_rule_of_aws_groups_by_its_key() {
    for (key, expected, notes) in [
        (r#""AggregateKeyType": "IP""#, "by client", &[][..]),
        (
            r#""AggregateKeyType": "FORWARDED_IP", "ForwardedIPConfig": {"HeaderName": "X-Real-IP", "FallbackBehavior": "MATCH"}"#,
            "by first(http_x_real_ip)",
            &[],
        ),
        (r#""AggregateKeyType": "CONSTANT""#, "", &[]),
        (
            r#""AggregateKeyType": "CUSTOM_KEYS", "CustomKeys": [{"IP": {}}, {"HTTPMethod": {}}, {"UriPath": {"TextTransformations": [{"Priority": 0, "Type": "NONE"}]}}, {"Header": {"Name": "X-Api-Key"}}, {"Cookie": {"Name": "sid"}}, {"QueryString": {}}, {"ForwardedIP": {}}]"#,
            "by client, method, path, http_x_api_key, cookie_sid, query, first(http_x_forwarded_for)",
            &[],
        ),
        (
            r#""AggregateKeyType": "CUSTOM_KEYS", "CustomKeys": [{"IP": {}}, {"JA3Fingerprint": {"FallbackBehavior": "MATCH"}}, {"Header": {"Name": "a", "TextTransformations": [{"Type": "LOWERCASE"}]}}]"#,
            "by client, http_a",
            &[("LOWERCASE", "make equal count apart"), ("\"JA3Fingerprint\"", "differ only in it")],
        ),
        (
            r#""AggregateKeyType": "CUSTOM_KEYS", "CustomKeys": [{"LabelNamespace": {"Namespace": "a:b"}}]"#,
            "",
            &[("\"LabelNamespace\"", "all requests count together")],
        ),
    ] {
        let text = format!(r#"{{"RateBasedStatement": {{"Limit": 100, {key}}}}}"#);
        let (shown, found) = read(&text);
        assert_eq!(shown, expected, "{text}");
        assert_notes(&text, &found, notes);
    }
    let terraform = "rate_based_statement {\n limit = 100\n aggregate_key_type = \"CUSTOM_KEYS\"\n \
                     custom_key {\n header {\n name = \"x-a\"\n }\n }\n custom_key {\n ip {}\n }\n}";
    assert_eq!(read(terraform), ("by http_x_a, client".to_owned(), vec![]));
    for (key, place, message) in [
        (r#""AggregateKeyType": "CUSTOM_KEYS""#, "CUSTOM_KEYS", "no `CustomKeys`"),
        (r#""AggregateKeyType": "ip""#, "ip", "`ip` is not a key type"),
    ] {
        let text = format!(r#"{{"RateBasedStatement": {{"Limit": 100, {key}}}}}"#);
        let error = parse(&text, &PatternBudget::default()).err().expect(&text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(&text[error.range], place);
    }
}

/// A comparison of the path.
fn byte_match(constraint: &str, value: &str) -> String {
    format!(
        r#""ByteMatchStatement": {{"SearchString": "{value}", "FieldToMatch": {{"UriPath": {{}}}}, "TextTransformations": [{{"Priority": 0, "Type": "NONE"}}], "PositionalConstraint": "{constraint}"}}"#
    )
}

#[test]
fn a_rule_of_aws_counts_what_its_scope_selects() {
    let login = byte_match("STARTS_WITH", "/login");
    let geo = r#""GeoMatchStatement": {"CountryCodes": ["DE"]}"#;
    let agent = r#""RegexMatchStatement": {"RegexString": "bot|spider", "FieldToMatch": {"SingleHeader": {"Name": "User-Agent"}}, "TextTransformations": [{"Type": "LOWERCASE"}]}"#;
    for (scope, expected, notes) in [
        (login.clone(), "path~'^/login'", &[][..]),
        (byte_match("EXACTLY", "/a"), "path~'^/a$'", &[]),
        (byte_match("ENDS_WITH", ".php"), r"path~'\.php$'", &[]),
        (byte_match("CONTAINS", "adm"), "path~'adm'", &[]),
        (
            byte_match("CONTAINS_WORD", "adm"),
            "path~'(?-u)(?:^|[^A-Za-z0-9_])adm(?:[^A-Za-z0-9_]|$)'",
            &[],
        ),
        (agent.to_owned(), "user_agent~'(?i)bot|spider'", &[]),
        (format!(r#""NotStatement": {{"Statement": {{{login}}}}}"#), "not path~'^/login'", &[]),
        (
            format!(r#""OrStatement": {{"Statements": [{{{login}}}, {{{agent}}}]}}"#),
            "path~'^/login' or user_agent~'(?i)bot|spider'",
            &[],
        ),
        (
            format!(r#""AndStatement": {{"Statements": [{{{login}}}, {{{geo}}}]}}"#),
            "path~'^/login'",
            &[("\"GeoMatchStatement\"", "whether they meet it or not")],
        ),
        (
            format!(r#""OrStatement": {{"Statements": [{{{login}}}, {{{geo}}}]}}"#),
            "",
            &[("\"OrStatement\"", "whether they meet it or not")],
        ),
        (
            format!(
                r#""NotStatement": {{"Statement": {{"AndStatement": {{"Statements": [{{{login}}}, {{{geo}}}]}}}}}}"#
            ),
            "",
            &[("\"NotStatement\"", "whether they meet it or not")],
        ),
        (
            byte_match("STARTS_WITH", "L2xvZ2lu"),
            "path~'^/login'",
            &[("L2xvZ2lu", "`/login` in Base64")],
        ),
        (
            byte_match("EXACTLY", "/A").replace("NONE", "LOWERCASE"),
            r"path~'[^\s\S]'",
            &[("\"ScopeDownStatement\"", "no request meets this")],
        ),
        (
            byte_match("EXACTLY", "/a").replace("NONE", "URL_DECODE"),
            "path~'^/a$'",
            &[("URL_DECODE", "as the log has it")],
        ),
        (
            byte_match("EXACTLY", "x").replace("UriPath", "Body"),
            "",
            &[("\"ByteMatchStatement\"", "whether they meet it or not")],
        ),
        (String::new(), "", &[("\"ScopeDownStatement\"", "whether they meet it or not")]),
    ] {
        let text = format!(
            r#"{{"RateBasedStatement": {{"Limit": 100, "ScopeDownStatement": {{{scope}}}}}}}"#
        );
        let (shown, found) = read(&text);
        let shown = shown.strip_prefix("by client").expect(&shown).trim_start();
        assert_eq!(shown.strip_prefix("where ").unwrap_or(shown), expected, "{text}");
        assert_notes(&text, &found, notes);
    }
}

#[test]
fn every_spelling_of_aws_is_read() {
    let expected = "by first(http_x_forwarded_for) where path~'^/a' and not method~'^GET$'";
    let yaml = "
Rules:
  - Name: one
    Action: {Block: {}}
    Statement:
      RateBasedStatement:
        Limit: 100
        AggregateKeyType: FORWARDED_IP
        ForwardedIPConfig:
          HeaderName: X-Forwarded-For
          FallbackBehavior: NO_MATCH
        ScopeDownStatement:
          AndStatement:
            Statements:
              - ByteMatchStatement:
                  SearchString: /a
                  FieldToMatch: {UriPath: {}}
                  TextTransformations: [{Priority: 0, Type: NONE}]
                  PositionalConstraint: STARTS_WITH
              - NotStatement:
                  Statement:
                    ByteMatchStatement:
                      SearchString: GET
                      FieldToMatch: {Method: {}}
                      TextTransformations: [{Priority: 0, Type: NONE}]
                      PositionalConstraint: EXACTLY
";
    let terraform = r#"
rule {
  name = "one"
  statement {
    rate_based_statement {
      limit              = 100
      aggregate_key_type = "FORWARDED_IP"
      forwarded_ip_config {
        header_name       = "X-Forwarded-For"
        fallback_behavior = "NO_MATCH"
      }
      scope_down_statement {
        and_statement {
          statement {
            byte_match_statement {
              search_string         = "/a"
              positional_constraint = "STARTS_WITH"
              field_to_match {
                uri_path {}
              }
              text_transformation {
                priority = 0
                type     = "NONE"
              }
            }
          }
          statement {
            not_statement {
              statement {
                byte_match_statement {
                  search_string         = "GET"
                  positional_constraint = "EXACTLY"
                  field_to_match {
                    method {}
                  }
                  text_transformation {
                    priority = 0
                    type     = "NONE"
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}
"#;
    let program = "{ name: 'one', statement: { rateBasedStatement: { limit: 100, aggregateKeyType: \
                   'FORWARDED_IP', forwardedIpConfig: { headerName: 'X-Forwarded-For' }, \
                   scopeDownStatement: { andStatement: { statements: [ { byteMatchStatement: { \
                   searchString: '/a', fieldToMatch: { uriPath: {} }, positionalConstraint: \
                   'STARTS_WITH' } }, { notStatement: { statement: { byteMatchStatement: { \
                   searchString: 'GET', fieldToMatch: { method: {} }, positionalConstraint: \
                   'EXACTLY' } } } } ] } } } } }";
    for text in [yaml, terraform, program] {
        assert!(looks_like(text), "{text}");
        assert_eq!(read(text), (expected.to_owned(), vec![]), "{text}");
    }
    // A text that is cut off.
    let cut = &terraform[..terraform.find("not_statement").expect("it is there")];
    let (shown, notes) = read(cut);
    assert_eq!(shown, "by first(http_x_forwarded_for) where path~'^/a'", "{notes:?}");
}

#[test]
fn a_rule_of_cloudflare_groups_by_its_characteristics() {
    for (characteristics, expected, notes) in [
        (r#""ip.src", "cf.colo.id""#, "by client", &[][..]),
        (r#""cf.colo.id", "http.request.headers[\"x-api-key\"]""#, "by http_x_api_key", &[]),
        (
            r#""ip.src", "http.host", "http.request.uri.path", "http.request.cookies[\"sid\"]""#,
            "by client, host, path, cookie_sid",
            &[],
        ),
        (r#""cf.unique_visitor_id""#, "by client", &[("cf.unique_visitor_id", "not told apart")]),
        (
            r#""ip.src", "ip.src.asnum""#,
            "by client",
            &[("ip.src.asnum", "differ only in it count together")],
        ),
        (
            r#""cf.colo.id", "cf.bot_management.ja3_hash""#,
            "",
            &[("cf.bot_management.ja3_hash", "all requests count together")],
        ),
    ] {
        let text = format!(
            r#"{{"ratelimit": {{"characteristics": [{characteristics}], "period": 300, "requests_per_period": 9}}, "expression": "true"}}"#
        );
        let (shown, found) = read(&text);
        assert_eq!(shown, expected, "{text}");
        assert_notes(&text, &found, notes);
    }
}

#[test]
fn settings_that_make_it_another_rule_are_noted() {
    let text = r#"{"ratelimit": {"period": 300, "requests_per_period": 9, "requests_to_origin": true, "counting_expression": "http.response.code eq 401"}, "expression": "http.request.uri.path eq \"/a\"", "action": "log", "enabled": false}"#;
    let (shown, notes) = read(text);
    assert_eq!(shown, "by client where status=401");
    let expected = [
        (r#"http.request.uri.path eq \"/a\""#, "blocks the requests that meet this"),
        ("log", "the action is `log`"),
        ("false", "switched off"),
        ("true", "only requests that the cache does not answer"),
    ];
    assert_notes(text, &notes, &expected);
    let text = r#"{"Name": "a", "Action": {"Count": {}}, "Statement": {"RateBasedStatement": {"Limit": 9}}}"#;
    assert_notes(text, &read(text).1, &[("\"Count\"", "only counts")]);
    let text = r#"{"rateLimitDuration": "FiveMins", "rateLimitThreshold": 9, "groupByUserSession": [{"groupByVariables": [{"variableName": "GeoLocation"}]}], "matchConditions": []}"#;
    let expected =
        [("\"matchConditions\"", "all of them do"), ("GeoLocation", "counted by client")];
    assert_notes(text, &read(text).1, &expected);
}

#[test]
fn rules_of_several_services_are_all_read() {
    let text = r#"[{"Name": "a", "Statement": {"RateBasedStatement": {"Limit": 100}}},
        {"ref": "b", "expression": "true", "ratelimit": {"requests_per_period": 5, "period": 10}}]"#;
    let presets = parse(text, &PatternBudget::default()).expect(text);
    let names: Vec<_> = presets.iter().map(|it| it.limit.name.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("b")]);
}
