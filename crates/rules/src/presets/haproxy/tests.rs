use weir_core::PatternBudget;

use super::{looks_like, parse};

#[test]
fn a_rate_is_a_limit() {
    for (lines, expected) in [
        (
            "http-request track-sc0 src\nhttp-request deny deny_status 429 if { sc_http_req_rate(0) gt 20 }",
            "limit 20 requests in 10s by client as two-periods",
        ),
        (
            "http-request track-sc1 src,ipmask(24,64) if { path_beg /api }\nacl fast sc1_http_req_rate ge 21\nhttp-request deny if fast",
            "limit 20 requests in 10s by client/24/64 where path^=\"/api\" as two-periods",
        ),
        (
            "tcp-request content track-sc2 req.hdr(X-Key) table t\nhttp-request tarpit if { sc_http_req_rate(2,t) gt 5 }",
            "limit 5 requests in 10s by http_x_key as two-periods",
        ),
    ] {
        let text =
            format!("stick-table type ip size 1m expire 30s store http_req_rate(10s)\n{lines}");
        assert!(looks_like(&text));
        let presets = parse(&text, &PatternBudget::default()).expect(&text);
        assert_eq!(presets[0].limit.to_string(), expected);
        assert!(presets[0].notes.is_empty(), "{text}");
    }
}

const TABLE: &str = "stick-table type ip size 1m expire 30s store http_req_rate(10s)\n";

#[test]
fn conditions_of_a_denial_are_followed_or_named() {
    let rate = "sc_http_req_rate(0)";
    for (lines, count, notes) in [
        ("http-request deny if fast", 20, vec![]),
        ("http-request deny if !slow", 19, vec![]),
        ("http-request deny unless slow", 19, vec![]),
        ("http-request deny unless ! fast", 20, vec![]),
        ("http-request deny unless { RATE le 2 }", 2, vec![]),
        ("http-request deny if !{ RATE lt 2 }", 1, vec![]),
        ("http-request deny if ! { RATE le 2 }", 2, vec![]),
        ("http-request deny deny_status 429 if fast !trusted", 20, vec![]),
        ("http-request deny if trusted fast", 20, vec![]),
        ("http-request deny if { RATE gt 2 } !{ src -f list }", 2, vec!["!{"]),
        ("http-request deny if { RATE gt 2 } { path_beg /a } or fast", 2, vec![]),
        ("http-request deny if { path /a } || fast", 20, vec!["{"]),
        ("http-request deny if fast TRUE other", 20, vec!["other"]),
        ("http-request deny if fast { path_beg /a", 20, vec![]),
        ("http-request allow if trusted\nhttp-request deny if fast", 20, vec!["allow"]),
        ("http-request track-sc0 hdr(x)\nhttp-request deny if fast", 20, vec!["track-sc0"]),
        ("acl fast path /a\nhttp-request deny if fast", 20, vec!["fast"]),
        (
            "http-request deny if { path /a }\nhttp-request track-sc1 path\nhttp-request deny if fast",
            20,
            vec!["track-sc1"],
        ),
        ("http-request deny if fast\nfrontend b\nhttp-request track-sc1 path", 20, vec![]),
        (
            "http-request deny if fast\nhttp-request deny if { sc_http_req_rate(2) gt 1 }",
            20,
            vec!["sc_http_req_rate(2)"],
        ),
    ] {
        let text = format!(
            "{TABLE}http-request track-sc0 src\nacl trusted src 192.0.2.0/24\n\
             acl fast RATE gt 20\nacl slow RATE lt 20\n{lines}\n"
        );
        let text = text.replace("RATE", rate);
        let preset = parse(&text, &PatternBudget::default()).expect(lines).remove(0);
        assert_eq!(preset.limit.count, count, "{lines}");
        let places: Vec<&str> = preset.notes.iter().map(|note| &text[note.range.clone()]).collect();
        assert_eq!(places, notes, "{lines}");
    }
}

#[test]
fn each_denial_is_a_limit_with_its_own_notes() {
    let text = format!(
        "{TABLE}http-request track-sc0 src\nhttp-request track-sc1 path\n\
         http-request deny if {{ sc0_http_req_rate(st) gt 20 }} !trusted\n\
         http-request tarpit if {{ sc1_http_req_rate ge 6 }}\n\
         http-request deny if {{ path /a }}\n"
    );
    let presets = parse(&text, &PatternBudget::default()).expect("it is valid");
    let limits: Vec<(String, usize)> =
        presets.iter().map(|it| (it.limit.to_string(), it.notes.len())).collect();
    let expected = [
        ("limit 20 requests in 10s by client as two-periods".to_owned(), 1),
        ("limit 5 requests in 10s by path as two-periods".to_owned(), 0),
    ];
    assert_eq!(limits, expected);
}

#[test]
fn tables_and_keys_are_read() {
    let deny = "http-request deny if { sc0_http_req_rate gt 5 }";
    for (table, track, expected) in [
        ("store http_req_rate(500)", "src", "limit 5 requests in 500ms by client"),
        ("store gpc0,http_req_rate(1m),conn_cur", "src", "limit 5 requests in 1m by client"),
        ("store http_req_rate(1d)", "src,ipmask(24)", "limit 5 requests in 1d by client/24"),
        ("store http_req_rate(10s)", "hdr(User-Agent)", "limit 5 requests in 10s by user_agent"),
        ("store http_req_rate(10s)", "method", "limit 5 requests in 10s by method"),
        (
            "store http_req_rate(10s)",
            "src if { path_beg /a }",
            "limit 5 requests in 10s by client where path^=\"/a\"",
        ),
        (
            "store http_req_rate(10s)",
            "src if !{ path_beg /a }",
            "limit 5 requests in 10s by client where not path^=\"/a\"",
        ),
        (
            "store http_req_rate(10s)",
            "src if { path_beg /a /b }",
            "limit 5 requests in 10s by client where path~'^(?:/a|/b)'",
        ),
        (
            "store http_req_rate(10s)",
            "src if { path /a } { method GET }",
            "limit 5 requests in 10s by client where path=\"/a\" and method=GET",
        ),
    ] {
        let text = format!(
            "frontend a # one\n\tstick-table type ip size 1m expire 10d {table}\n\thttp-request track-sc0 {track}\n\t{deny}\n"
        );
        let preset = parse(&text, &PatternBudget::default()).expect(&text).remove(0);
        assert_eq!(preset.limit.to_string(), format!("{expected} as two-periods"), "{text}");
        assert!(preset.notes.is_empty(), "{text}");
    }
}

#[test]
fn words_in_any_order_are_read_or_refused() {
    let words = [
        "acl",
        "http-request",
        "tcp-request",
        "stick-table",
        "deny",
        "track-sc0",
        "if",
        "unless",
        "{",
        "}",
        "!",
        "!{",
        "fast",
        "sc_http_req_rate(0)",
        "http_req_rate(",
        "gt",
        "5",
        "\n",
    ];
    let mut state = 7_u32;
    for _ in 0..5_000 {
        let mut text = TABLE.to_owned();
        for _ in 0..40 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(words[(state >> 16) as usize % words.len()]);
            text.push(' ');
        }
        if let Err(error) = parse(&text, &PatternBudget::default()) {
            assert!(error.range.end <= text.len() && !error.message.is_empty(), "{text}");
        }
    }
}

#[test]
fn mistakes_are_refused_at_their_place() {
    let table = "stick-table type ip size 1m expire 5s store http_req_rate(10s)\n";
    for (lines, place, message) in [
        ("http-request track-sc0 src", "", "there is no `http-request deny"),
        ("", "", "track-sc0 src"),
        ("http-request track-sc0 dst", "dst", "cannot be told from a log"),
        ("http-request deny if { sc_http_req_rate(0) gt x }", "x }", "`x` is not a number"),
        ("http-request deny if { sc_http_req_rate(0) lt 5 }", "lt", "`lt` is not supported"),
        ("http-request deny unless { sc_http_req_rate(0) gt 5 }", "gt", "`gt` of a condition"),
        ("http-request deny if { sc_http_req_rate(0) gt", "sc_http", "the rate that is denied"),
        ("http-request track-sc0", "track-sc0", "what is tracked is missing"),
    ] {
        let text = format!("{table}{lines}");
        let error = parse(&text, &PatternBudget::default()).err().expect(lines);
        assert!(error.message.contains(message), "{lines}: {}", error.message);
        if !place.is_empty() {
            assert_eq!(Some(error.range.start), text.rfind(place), "{lines}");
        }
    }
    let text = format!(
        "{table}http-request track-sc0 src unless x\nhttp-request deny if {{ sc_http_req_rate(0) gt 5 }}"
    );
    let notes: Vec<usize> = parse(&text, &PatternBudget::default()).expect("it is valid")[0]
        .notes
        .iter()
        .map(|it| it.line(&text))
        .collect();
    assert_eq!(notes, [1, 2]);
}

/// A configuration with two tables, and the acls of a usual one.
fn with_acls(lines: &str) -> String {
    format!(
        "frontend fe\n  acl is_login path_beg /login\n  acl is_api path_beg -i /api\n  acl is_api hdr(host) api.example\n\
         \u{20} acl abuse sc0_http_req_rate gt 20\n  acl flagged sc_get_gpc0(0) gt 0\n\
         \u{20} stick-table type ip size 1m expire 30s store gpc0,gpc0_rate(1m),http_req_rate(10s),http_err_rate(15s),conn_rate(3s),conn_cur\n\
         {lines}\nbackend logins\n  stick-table type ip size 1m expire 2m store http_req_rate(1m)\n\
         backend counts\n  stick-table type ip size 1m expire 1h store http_req_cnt,http_err_cnt\n"
    )
}

#[test]
fn acls_and_counters_are_followed() {
    let track = "http-request track-sc0 src\n";
    for (lines, expected, notes) in [
        (
            "http-request track-sc0 src if is_login\nhttp-request deny if is_login { sc_http_req_rate(0) gt 5 }",
            "limit 5 requests in 10s by client where path^=\"/login\" as two-periods",
            vec![],
        ),
        (
            "http-request track-sc0 src\nhttp-request deny if abuse !is_login",
            "limit 20 requests in 10s by client as two-periods; of these, not path^=\"/login\" is rejected",
            vec![],
        ),
        (
            "http-request track-sc0 src if is_api\nhttp-request deny if abuse",
            "limit 20 requests in 10s by client where path~'(?i)^(?:/api)' or host=\"api.example\" as two-periods",
            vec![],
        ),
        (
            "http-request track-sc0 src if !is_api\nhttp-request deny if abuse",
            "limit 20 requests in 10s by client where not path~'(?i)^(?:/api)' and not host=\"api.example\" as two-periods",
            vec![],
        ),
        (
            "http-request track-sc0 src unless is_login or METH_POST\nhttp-request deny if abuse",
            "limit 20 requests in 10s by client where not path^=\"/login\" and not method=POST as two-periods",
            vec![],
        ),
        (
            "TRACKhttp-request deny if { sc_http_err_rate(0) gt 10 }",
            "limit 10 requests in 15s by client where status=4xx as two-periods",
            vec!["sc_http_err_rate(0)"],
        ),
        (
            "tcp-request connection track-sc0 src\ntcp-request connection reject if { src_conn_rate gt 40 }",
            "limit 40 requests in 3s by client as two-periods",
            vec!["src_conn_rate"],
        ),
        (
            "tcp-request content track-sc0 src\ntcp-request content reject if { sc0_conn_cur ge 11 }",
            "limit 10 requests at once by client",
            vec!["sc0_conn_cur"],
        ),
        (
            "tcp-request connection track-sc0 src\ntcp-request connection reject if abuse",
            "limit 20 requests in 10s by client as two-periods",
            vec!["sc0_http_req_rate"],
        ),
        (
            "http-request track-sc1 src table logins if is_login\nhttp-request deny if { sc_http_req_rate(1) gt 5 }",
            "limit 5 requests in 1m by client where path^=\"/login\" as two-periods",
            vec![],
        ),
        (
            "http-request track-sc1 src table logins if is_login\nhttp-request deny if { src_http_req_rate(logins) gt 5 }",
            "limit 5 requests in 1m by client where path^=\"/login\" as two-periods",
            vec![],
        ),
        (
            "TRACKhttp-request deny if flagged\nhttp-request sc-inc-gpc0(0) if abuse",
            "limit 20 requests in 10s by client as two-periods; then rejected until a pause of 30s",
            vec![],
        ),
        (
            "TRACKacl mark sc0_inc_gpc0 ge 0\nhttp-request deny if abuse mark\nhttp-request deny if flagged",
            "limit 20 requests in 10s by client as two-periods",
            vec![],
        ),
        (
            "TRACKhttp-response sc-inc-gpc0(0) if { status 401 403 }\nhttp-request deny if { sc0_gpc0_rate gt 3 }",
            "limit 3 requests in 1m by client where status=401 or status=403 as two-periods",
            vec!["30s"],
        ),
        (
            "TRACKhttp-request deny if abuse\nhttp-request deny if { sc_http_req_cnt(0) gt 100 }\nhttp-request deny if { sc_trackers(0) gt 3 }\nuse_backend slow if abuse\nhttp-request deny if { sc1_http_req_rate gt 1 }",
            "limit 20 requests in 10s by client as two-periods",
            vec!["slow", "sc_http_req_cnt(0)", "sc_trackers(0)", "sc1_http_req_rate"],
        ),
        (
            "TRACKuse_backend slow if abuse",
            "limit 20 requests in 10s by client as two-periods",
            vec!["slow"],
        ),
        (
            "TRACKuse_backend static if { path_beg /static } or { path_end .css }\nuse_backend slow if abuse is_login",
            "limit 20 requests in 10s by client as two-periods; of these, path^=\"/login\" and not (path^=\"/static\" or path~'(?:\\.css)$') is rejected",
            vec!["slow"],
        ),
        (
            "TRACKuse_backend inner if { ssl_fc }\nuse_backend a if { path_beg /x }\nuse_backend slow if abuse\nuse_backend b",
            "limit 20 requests in 10s by client as two-periods; of these, not path^=\"/x\" is rejected",
            vec!["inner", "slow"],
        ),
        (
            "TRACKhttp-request deny if abuse\nuse_backend all\nuse_backend slow if { sc_http_req_rate(0) gt 2 }",
            "limit 20 requests in 10s by client as two-periods",
            vec!["slow", "{"],
        ),
        (
            "http-request track-sc1 src table counts if is_login\nhttp-request deny if { sc_http_req_cnt(1) ge 6 }",
            "limit 5 requests in 1h by client where path^=\"/login\" as since-pause",
            vec![],
        ),
        (
            "http-request track-sc1 src table counts\nhttp-request deny if { sc1_http_err_cnt gt 5 } is_login",
            "limit 5 requests in 1h by client where status=4xx as since-pause; of these, path^=\"/login\" is rejected",
            vec!["sc1_http_err_cnt", "sc1_http_err_cnt"],
        ),
        (
            "TRACKhttp-request deny if { sc_get_gpc0(0) gt 7 }\nhttp-request sc-inc-gpc0(0)",
            "limit 8 requests in 30s by client as since-pause",
            vec![],
        ),
        (
            "TRACKhttp-request sc-inc-gpc0(0) if is_login\nhttp-request deny if { sc_get_gpc0(0) gt 7 }",
            "limit 7 requests in 30s by client where path^=\"/login\" as since-pause",
            vec!["sc_get_gpc0(0)", "sc_get_gpc0(0)"],
        ),
        (
            "TRACKuse_backend fast if { sc_http_req_rate(0) lt 5 }\nhttp-request deny if abuse",
            "limit 20 requests in 10s by client as two-periods",
            vec!["{"],
        ),
    ] {
        let text = with_acls(&lines.replace("TRACK", track));
        let presets = parse(&text, &PatternBudget::default()).expect(&text);
        assert_eq!(presets[0].limit.to_string(), expected, "{text}");
        let places: Vec<&str> =
            presets[0].notes.iter().map(|note| &text[note.range.clone()]).collect();
        assert_eq!(places, notes, "{text}");
    }
    let text = with_acls(&format!(
        "{track}acl mark sc0_inc_gpc0 ge 0\nhttp-request deny if abuse mark\nhttp-request deny if flagged"
    ));
    let presets = parse(&text, &PatternBudget::default()).expect("two limits");
    let expected =
        "limit 20 requests in 10s by client as two-periods; then rejected until a pause of 30s";
    assert_eq!((presets.len(), &*presets[1].limit.to_string()), (2, expected));
}

#[test]
fn conditions_of_many_alternatives_are_refused() {
    let acl = "acl a path /a\n".repeat(9);
    let text = format!("{TABLE}{acl}http-request track-sc0 src if a a a a a a a a a a a a\n");
    let error = parse(&text, &PatternBudget::default()).err().expect("too many");
    assert!(error.message.contains("more than 64 alternatives"), "{error}");
}

/// A page accepts half a megabyte of text.
#[test]
fn texts_that_multiply_are_refused() {
    let times = |text: &str, times: usize| text.repeat(times);
    let track = "http-request track-sc0 src\n";
    let rate = "{ sc_http_req_rate(0) gt 9 }";
    let denials = times(&format!("http-request deny if {rate}\n"), 300);
    let raises = times(&format!("http-request sc-inc-gpc0(0) if {rate}\n"), 300);
    for (lines, part) in [
        (
            format!(
                "{track}{}http-request deny if {}",
                times("acl a path x\n", 500),
                times("!a ", 500)
            ),
            "more than 64 tests",
        ),
        (
            format!("{track}acl a path x\nhttp-request deny if {rate} {}", times("a ", 4_000)),
            "more than 64 tests",
        ),
        (format!("{track}{denials}"), "more than 256 limits"),
        (
            format!(
                "{track}{raises}{}",
                times("http-request deny if { sc0_get_gpc0 gt 0 }\n", 300)
            ),
            "more than 256 limits",
        ),
        (
            format!("{track}http-request deny if {{ sc_http_req_rate(0) -m int gt 20 }}"),
            "only `-m found` and `-m bool` are read",
        ),
    ] {
        let text = format!("{TABLE}{lines}");
        let error = parse(&text, &PatternBudget::default()).err().map(|it| it.message);
        assert!(error.as_ref().is_some_and(|it| it.contains(part)), "{part}: {error:?}");
    }
}
