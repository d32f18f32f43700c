use super::follow;
use crate::presets::selection::Selection;
use weir_core::Condition;

#[test]
fn expressions_are_conditions() {
    for (expression, condition) in [
        (r#"http.request.uri.path eq "/login""#, "path~'^/login$'"),
        (r#"(http.request.uri.path contains "/login")"#, "path~'/login'"),
        (r#"http.host eq "www.example.com""#, r"host~'(?i)^www\.example\.com$'"),
        (r#"starts_with(http.request.uri.path, "/api/")"#, "path~'^/api/'"),
        (r#"ends_with(lower(http.request.uri.path), ".php")"#, r"path~'(?i)\.php$'"),
        (r#"http.request.uri.path matches "^/wp-(admin|login)""#, "path~'^/wp-(admin|login)'"),
        (r##"http.user_agent matches r#"bot/\d"#"##, r"user_agent~'(?-u)bot/\d'"),
        (r#"http.request.uri.path wildcard "/a/*.js""#, r"path~'(?i)^/a/(?s-u:.*)\.js$'"),
        (r#"http.request.uri.path strict wildcard r"/a/*""#, "path~'^/a/(?s-u:.*)$'"),
        (r#"http.request.uri.path wildcard r"/a/\*""#, r"path~'(?i)^/a/\*$'"),
        (r#"http.request.method in {"POST" "PUT"}"#, "(method~'^POST$' or method~'^PUT$')"),
        ("ip.src in {192.0.2.0/24 2001:db8::1}", "(client=192.0.2.0/24 or client=2001:db8::1)"),
        ("http.response.code in {401 500..599}", "(status=401 or (status>=500 and status<=599))"),
        ("http.response.code ge 400", "status>=400"),
        (r#"http.referer eq """#, "(referer=(none) or referer=(empty))"),
        (
            r#"http.request.method eq "POST" and not http.request.uri.path eq "/a" or ip.src ne 192.0.2.1"#,
            "((method~'^POST$' and not (path~'^/a$')) or not (client=192.0.2.1))",
        ),
        (
            r#"http.request.uri.path.extension in {"css" "js"}"#,
            r"(path~'(?i)\.css$' or path~'(?i)\.js$')",
        ),
        (r#"http.request.uri contains "/x""#, "(path~'/x' or query~'/x')"),
        (r#"http.request.uri eq "/a?b=1""#, "(path~'^/a$' and query~'^b=1$')"),
        (r#"http.request.uri eq "/a""#, "(path~'^/a$' and (query=(none) or query=(empty)))"),
        (r#"starts_with(http.request.uri, "/a?b")"#, "(path~'^/a$' and query~'^b')"),
        (r#"true and http.request.uri.path eq "/a""#, "path~'^/a$'"),
        // A value in lower case never has capitals.
        (r#"lower(http.request.uri.path) eq "/A""#, r"path~'[^\s\S]'"),
        (r#"lower(http.request.uri.path) in {"/A" "/b"}"#, "path~'(?i)^/b$'"),
        (
            r#"lower(http.request.uri.path) contains "/A" or ip.src eq 192.0.2.1"#,
            "client=192.0.2.1",
        ),
        (r#"upper(http.request.method) eq "POST""#, "method~'(?i)^POST$'"),
        (r#"upper(http.request.method) eq "Post""#, r"path~'[^\s\S]'"),
        ("false", r"path~'[^\s\S]'"),
    ] {
        let followed = follow(expression);
        assert!(followed.left_out.is_empty(), "{expression}: {followed:?}");
        let found = followed.selection.condition();
        assert_eq!(found.as_deref(), Some(condition), "{expression}");
        Condition::parse(condition).expect(condition);
    }
}

#[test]
fn all_requests_may_meet_an_expression() {
    for expression in [
        "true",
        " (true) ",
        r#"lower(http.request.uri.path) ne "/A""#,
        r#"not lower(http.host) contains "A" or ssl"#,
        r#"http.user_agent contains """#,
    ] {
        let followed = follow(expression);
        // The values of a host are compared without their case.
        let is_host = expression.contains("http.host");
        assert_eq!(followed.selection == Selection::Everything, !is_host, "{expression}");
        assert_eq!(followed.left_out.is_empty(), !is_host, "{expression}: {followed:?}");
    }
}

#[test]
fn what_a_log_lacks_is_left_out_where_that_counts_more() {
    let path = r#"http.request.uri.path eq "/a""#;
    let country = r#"ip.geoip.country eq "DE""#;
    let header = r#"any(http.request.headers["x"][*] eq "b")"#;
    for (expression, condition, left_out) in [
        (format!("{path} and {country}"), Some("path~'^/a$'"), country.to_owned()),
        (format!("{country} and {path}"), Some("path~'^/a$'"), country.to_owned()),
        (format!("{path} or {country}"), None, format!("{path} or {country}")),
        (format!("not ({path} and {country})"), None, format!("not ({path} and {country})")),
        (format!("not {country}"), None, format!("not {country}")),
        (format!("{path} and !{country}"), Some("path~'^/a$'"), format!("!{country}")),
        (
            format!("{path} and ({path} or {country})"),
            Some("path~'^/a$'"),
            format!("{path} or {country}"),
        ),
        (format!("{path} and {header}"), Some("path~'^/a$'"), header.to_owned()),
        ("ssl".to_owned(), None, "ssl".to_owned()),
        (format!("{path} xor ssl"), None, format!("{path} xor ssl")),
        ("ip.src in $list".to_owned(), None, "ip.src in $list".to_owned()),
        (
            "ip.src in {192.0.2.1..192.0.2.9}".to_owned(),
            None,
            "ip.src in {192.0.2.1..192.0.2.9}".to_owned(),
        ),
        (r#"http.host matches "(""#.to_owned(), None, r#"http.host matches "(""#.to_owned()),
        (
            r#"lower(http.user_agent) matches "[A-Z]""#.to_owned(),
            None,
            r#"lower(http.user_agent) matches "[A-Z]""#.to_owned(),
        ),
        (
            r#"http.request.uri.path ends_with ".html""#.to_owned(),
            None,
            r#"http.request.uri.path ends_with ".html""#.to_owned(),
        ),
    ] {
        let followed = follow(&expression);
        let found = followed.selection.condition();
        assert_eq!(found.as_deref(), condition, "{expression}");
        assert_eq!(followed.left_out, [left_out], "{expression}");
    }
}

#[test]
fn no_text_breaks_it() {
    let deep = format!("{}ssl", "not (".repeat(100_000));
    for expression in [
        "",
        ")",
        "(",
        "\"",
        "r\"",
        "r##",
        "http.host eq",
        "in {",
        "a and",
        "ü \"\\",
        "\"\\x",
        &deep,
    ] {
        let followed = follow(expression);
        assert_eq!(followed.selection, Selection::Unknown, "{expression}");
    }
    // Quotation marks of conditions cannot be left.
    let quote = follow(r#"http.host contains "' or path~'""#).selection.condition();
    assert_eq!(quote.as_deref(), Some(r"host~'(?i)\x27 or path\~\x27'"));
    Condition::parse(&quote.expect("it is followed")).expect("it is a condition");
}
