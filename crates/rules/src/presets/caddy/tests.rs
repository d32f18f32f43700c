//! Tests of the zones of caddy-ratelimit.

use weir_core::PatternBudget;

use super::{looks_like, parse};

const TEXT: &str = "example.com {
    rate_limit {
        zone login {
            match {
                method POST
                path /login* /signin
                header X-A b
            }
            key    {remote_host}
            window 1m30s
            events 5
        }
        zone all {
            key    static
            events 100
            window 1s
        }
        sweep_interval 1m
    }
}";

#[test]
fn zones_are_limits() {
    assert!(looks_like(TEXT));
    let presets = parse(TEXT, &PatternBudget::default()).expect("it is valid");
    let texts: Vec<String> = presets.iter().map(|preset| preset.limit.to_string()).collect();
    let login = r#"limit 5 requests in 90s by client where method="POST" and (path~'(?i)^/login' or path~'(?i)^/signin$') as sliding"#;
    assert_eq!(texts, [login, "limit 100 requests in 1s as sliding"]);
    assert_eq!(presets[0].limit.name.as_deref(), Some("login"));
    let notes: Vec<usize> = presets[0].notes.iter().map(|note| note.line(TEXT)).collect();
    // The zone with 100 events in a second comes before it.
    assert_eq!(notes, [7, 3]);
    assert!(presets[1].notes.is_empty());
}

/// The condition of a zone with matchers, and the lines of its notes.
fn matched(matchers: &str) -> (String, Vec<usize>) {
    let text = format!("zone a {{\n{matchers}\nkey {{remote_host}}\nwindow 1m\nevents 2\n}}");
    let preset = parse(&text, &PatternBudget::default()).expect(&text).remove(0);
    let condition = preset.limit.condition.map(|it| it.text().to_owned()).unwrap_or_default();
    (condition, preset.notes.iter().map(|note| note.line(&text)).collect())
}

#[test]
fn matchers_are_conditions() {
    for (matchers, condition, notes) in [
        ("match {\nnot {\npath /api/*\n}\n}", "", vec![3]),
        (
            "match {\nnot {\nnot {\npath /a\n}\npath /b\n}\nmethod GET\n}",
            r#"method="GET""#,
            vec![3],
        ),
        ("match {\nnot path /api/*\n}", "", vec![3]),
        ("match {\npath /API/*\n}", r#"path~'(?i)^/API/'"#, vec![]),
        ("match {\npath *.php\npath */x/*\n}", r#"path~'(?i)\.php$' or path~'(?i)/x/'"#, vec![]),
        ("match {\npath /a*b\n}", "", vec![3]),
        ("match {\npath {vars.x}\n}", "", vec![3]),
        (
            "match {\nhost A.example\nmethod GET POST\n}",
            r#"(method="GET" or method="POST") and host~'(?i)^A\.example$'"#,
            vec![],
        ),
        ("match {\nhost *.example\n}", "", vec![3]),
        ("match {\nremote_ip 192.0.2.0/24 ::1\n}", "client=192.0.2.0/24 or client=::1", vec![]),
        ("match {\nremote_ip forwarded 192.0.2.0/24\n}", "", vec![3]),
        (
            "match {\nclient_ip private_ranges\n}",
            "client=192.168.0.0/16,172.16.0.0/12,10.0.0.0/8,127.0.0.1/8,fd00::/8,::1",
            vec![],
        ),
        (
            "match {\nmethod GET\n}\nmatch {\npath /b\n}",
            r#"method="GET" or path~'(?i)^/b$'"#,
            vec![],
        ),
        ("match {\nmethod GET\n}\nmatch {\nprotocol https\n}", "", vec![6]),
        ("other {\nevents 7\n}", "", vec![2]),
    ] {
        assert_eq!(matched(matchers), (condition.to_owned(), notes), "{matchers}");
    }
}

#[test]
fn keys_have_several_placeholders() {
    for (key, by, notes) in [
        ("{remote_host}/api", " by client", 0),
        ("a-{client_ip}-{host}", " by client, host", 0),
        ("\"{http.request.remote.host}:{uri}\"", " by client, path, query", 0),
        ("{http.request.remote.host/24,64}", " by client/24/64", 0),
        ("{client_ip}{client_ip}", " by client", 0),
        ("{http.request.remote_ip}", "", 1),
        ("x{remote_ip}{method}", " by method", 1),
    ] {
        let text = format!("rate_limit {{\nzone a {{\nkey {key}\nwindow 1m\nevents 2\n");
        let preset = parse(&text, &PatternBudget::default()).expect(&text).remove(0);
        assert_eq!(preset.limit.to_string(), format!("limit 2 requests in 1m{by} as sliding"));
        // One more, because the text is cut off.
        assert_eq!(preset.notes.len(), notes + 1, "{text}");
    }
}

#[test]
fn a_match_outside_of_a_zone_is_named() {
    let text = "rate_limit {\nmatch {\npath /login\n}\nzone a {\nwindow 1m\nevents 2\n}\n}";
    let preset = parse(text, &PatternBudget::default()).expect("a zone").remove(0);
    assert_eq!(preset.notes.len(), 1);
    assert_eq!((preset.notes[0].line(text), preset.limit.condition.is_none()), (2, true));
}

#[test]
fn zones_after_others_are_named() {
    let zone =
        |name, events, window| format!("zone {name} {{\nevents {events}\nwindow {window}\n}}\n");
    let noted = |text: &str| {
        let presets = parse(text, &PatternBudget::default()).expect(text);
        presets.iter().map(|preset| preset.notes.len()).collect::<Vec<_>>()
    };
    let (fast, slow) = (zone("a", 1, "1s"), zone("b", 5, "10s"));
    for (text, expected) in [
        (format!("rate_limit {{\n{fast}}}"), vec![0]),
        (format!("rate_limit {{\n{fast}{slow}}}"), vec![0, 1]),
        (format!("rate_limit {{\n{slow}{fast}}}"), vec![1, 0]),
        (format!("rate_limit {{\n{fast}{fast}}}"), vec![1, 1]),
        (format!("rate_limit {{\n{fast}}}\nrate_limit {{\n{slow}}}"), vec![1, 1]),
        (format!("rate_limit @api {{\n{fast}}}"), vec![1]),
        (format!("a.example {{\nhandle /api/* {{\nrate_limit {{\n{fast}}}\n}}\n}}"), vec![0]),
        (format!("a.example {{\nhandle @api {{\nrate_limit {{\n{fast}}}\n}}\n}}"), vec![1]),
        (format!("handle /api/* {{\n}}\nhandle {{\nrate_limit {{\n{fast}}}\n}}"), vec![0]),
        (format!("rate_limit {{\n{fast}distributed {{\n}}\n}}"), vec![1]),
    ] {
        assert_eq!(noted(&text), expected, "{text}");
    }
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for (text, place, message) in [
        ("zone a {\nevents 5\n}", "a {", "no `window`"),
        ("zone a {\nwindow 1m\n}", "a {", "no `events`"),
        ("zone a {\nwindow 1y\n}", "1y", "`1y` is not a duration"),
        ("zone a {\nevents x\n}", "x\n", "`x` is not a number"),
        ("zone a {\nkey {nonsense}\n}", "{nonsense}", "`nonsense`"),
        ("zone a {\nevents 5", "", "that ends with"),
    ] {
        let error = parse(text, &PatternBudget::default()).err().expect(text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert_eq!(Some(error.range.start), text.find(place), "{text}");
    }
}

#[test]
fn the_paths_of_routes_are_followed() {
    let zone = "zone a {\nwindow 1m\nevents 2\nmatch {\nmethod POST\n}\n}";
    for (text, condition) in [
        (
            format!("route /api/* {{\nrate_limit {{\n{zone}\n}}\n}}"),
            "path~'(?i)^/api/' and method=\"POST\"",
        ),
        (format!("rate_limit /a {{\n{zone}\n}}"), "path~'(?i)^/a$' and method=\"POST\""),
        (
            format!("handle_path /a/* {{\nroute /b* {{\nrate_limit {{\n{zone}\n}}\n}}\n}}"),
            "path~'(?i)^/a/' and path~'(?i)^/b' and method=\"POST\"",
        ),
        (format!("route /b {{\n}}\nrate_limit {{\n{zone}\n}}"), "method=\"POST\""),
    ] {
        let preset = parse(&text, &PatternBudget::default()).expect(&text).remove(0);
        let found = preset.limit.condition.as_ref().map(|it| it.text().replace(['(', ')'], ""));
        let expected = condition.replace(['(', ')'], "");
        assert_eq!(found, Some(expected), "{text}");
        assert_eq!(preset.notes.len(), 0, "{text}");
    }
}

#[test]
fn variables_of_the_environment_have_their_defaults() {
    let text = "zone a {\nevents {$EVENTS:100}\nwindow {$WINDOW:10s}\n}";
    let preset = parse(text, &PatternBudget::default()).expect("a zone").remove(0);
    assert_eq!(preset.limit.to_string(), "limit 100 requests in 10s as sliding");
    let noted: Vec<&str> = preset.notes.iter().map(|note| &text[note.range.clone()]).collect();
    assert_eq!(noted, ["{$EVENTS:100}", "{$WINDOW:10s}"]);
    for value in ["{$EVENTS}", "{$EVENTS:}"] {
        let text = format!("zone a {{\nevents {value}\nwindow 1s\n}}");
        let error = parse(&text, &PatternBudget::default()).err().expect(&text);
        assert!(error.message.ends_with("write the value that it has"), "{error}");
    }
}
