use super::*;

fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

#[test]
fn fields_of_the_connection_and_of_others_identities_do_not_pass() {
    for (fields, expected) in [
        (&[("connection", "close, x-own"), ("x-own", "1"), ("x-other", "2")][..], &["x-other"][..]),
        (
            &[
                ("connection", "authorization, cookie, host"),
                ("authorization", "a"),
                ("cookie", "b"),
                ("host", "c"),
            ],
            &["authorization", "cookie", "host"],
        ),
        (&[("connection", "X-Forwarded-For"), ("x-forwarded-for", "127.0.0.1")], &[]),
        (&[("te", "gzip, trailers")], &["te"]),
        (&[("te", "gzip")], &[]),
        (
            &[
                ("upgrade", "h2c"),
                ("connection", "upgrade, http2-settings"),
                ("http2-settings", "x"),
            ],
            &[],
        ),
        (&[("x_forwarded_for", "1"), ("x-real-ip", "2"), ("remote-user", "root")], &[]),
        (
            &[("transfer-encoding", "chunked"), ("keep-alive", "5"), ("proxy-authorization", "x")],
            &[],
        ),
        (&[("content-length", "3"), ("connection", "content-length")], &["content-length"]),
    ] {
        let mut headers = headers(fields);
        clean_request(&mut headers, &ClientFields::default());
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{fields:?}");
    }
}

#[test]
fn a_configuration_keeps_and_removes_fields() {
    let of = |names: &[&'static str]| names.iter().map(|it| HeaderName::from_static(it)).collect();
    let fields = ClientFields { removed: of(&["x-tenant"]), kept: of(&["x-user-id"]) };
    let mut map = headers(&[("x-tenant", "a"), ("x-user-id", "b"), ("x-user", "c"), ("a", "d")]);
    clean_request(&mut map, &fields);
    let mut names: Vec<&str> = map.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "x-user-id"]);
}

#[test]
fn cookies_of_http2_are_joined() {
    let mut map = headers(&[("cookie", "a=1"), ("cookie", "b=2; c=3")]);
    clean_request(&mut map, &ClientFields::default());
    assert_eq!(map.get_all("cookie").iter().collect::<Vec<_>>(), ["a=1; b=2; c=3"]);
}

#[test]
fn a_chunked_answer_has_no_other_length() {
    let mut map = headers(&[("transfer-encoding", "chunked"), ("content-length", "3")]);
    assert_eq!(clean_response(&mut map), Ok(()));
    assert!(map.is_empty(), "{map:?}");
}

#[test]
fn an_answer_has_one_length_and_no_hidden_coding() {
    for (fields, expected) in [
        (&[("content-length", "5")][..], Ok(Some("5"))),
        (&[("content-length", "5, 5")], Ok(Some("5"))),
        (&[("content-length", "5"), ("content-length", "5")], Ok(Some("5"))),
        (&[("transfer-encoding", "Chunked")], Ok(None)),
        (&[("transfer-encoding", "gzip, chunked")], Err(AmbiguousAnswer)),
        (&[("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")], Err(AmbiguousAnswer)),
    ] {
        let mut map = headers(fields);
        let cleaned = clean_response(&mut map);
        let lengths = map.get_all("content-length").iter().count();
        assert!(cleaned.is_err() || lengths < 2, "{fields:?}");
        let length = map.get("content-length").map(|it| it.to_str().expect("text"));
        assert_eq!(cleaned.map(|()| length), expected, "{fields:?}");
    }
}

#[test]
fn trailers_of_an_answer_change_nothing() {
    let mut map = headers(&[
        ("content-length", "9"),
        ("transfer-encoding", "chunked"),
        ("set-cookie", "a=1"),
        ("grpc-status", "0"),
        ("server-timing", "db"),
    ]);
    clean_response_trailers(&mut map);
    let mut names: Vec<&str> = map.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["grpc-status", "server-timing"]);
}

#[test]
fn trailer_fields_claim_nothing() {
    let removed = vec![HeaderName::from_static("x-tenant")];
    let fields = ClientFields { removed, ..ClientFields::default() };
    let mut map = headers(&[
        ("x-forwarded-user", "root"),
        ("authorization", "x"),
        ("x-tenant", "a"),
        ("grpc-status", "0"),
    ]);
    clean_trailers(&mut map, &fields);
    assert_eq!(map.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["grpc-status"]);
}

#[test]
fn only_a_websocket_upgrades() {
    for (fields, expected) in [
        (&[("connection", "Upgrade"), ("upgrade", "WebSocket")][..], true),
        (&[("connection", "keep-alive, upgrade"), ("upgrade", "websocket")], true),
        (&[("connection", "upgrade"), ("upgrade", "h2c")], false),
        (&[("connection", "upgrade"), ("upgrade", "websocket, h2c")], false),
        (&[("connection", "upgrade"), ("upgrade", "websocket"), ("upgrade", "h2c")], false),
        (&[("upgrade", "websocket")], false),
        (&[("connection", "upgrade")], false),
    ] {
        assert_eq!(is_websocket_upgrade(&headers(fields)), expected, "{fields:?}");
    }
}

#[test]
fn a_backend_learns_the_client() {
    let mut map = headers(&[("host", "shop.example")]);
    let client = Some("::ffff:192.0.2.7".parse().expect("an address"));
    add_forwarded(&mut map, &RequestOrigin { client, is_tls: true, ..RequestOrigin::default() });
    assert_eq!(map["x-forwarded-for"], "192.0.2.7");
    assert_eq!(map["x-forwarded-proto"], "https");
    assert_eq!(map["x-forwarded-host"], "shop.example");
    assert_eq!(map["forwarded"], "for=192.0.2.7;proto=https");

    let way = HeaderValue::from_static("2001:db8::1, 198.51.100.1");
    let client = Some("2001:db8::1".parse().expect("an address"));
    let from = RequestOrigin { client, forwarded_for: Some(&way), ..RequestOrigin::default() };
    add_forwarded(&mut map, &from);
    assert_eq!(map["x-forwarded-for"], "2001:db8::1, 198.51.100.1");
    assert_eq!(map["forwarded"], "for=\"[2001:db8::1]\";proto=http");
}
