//! Invalid and impossible conditions are refused with the place of the mistake; sizes are limited.

use crate::condition::clause;
use weir_core::Condition;

#[test]
fn what_cannot_hold_is_refused_at_its_place() {
    let cases = [
        ("client=10.0.0.0/40", "10.0.0.0/40", "`/40` is not a valid IPv4 prefix (0 to 32)"),
        ("client=2001:db8::/129", "2001:db8::/129", "`/129` is not a valid IPv6 prefix (0 to 128)"),
        ("client=foo/8", "foo/8", "`foo` is not a valid address; write a network as 192.0.2.0/24"),
        (
            "client=192.0.2/24",
            "192.0.2/24",
            "`192.0.2` is not a valid IPv4 address; write 192.0.2.0/24",
        ),
        (
            "client=66.249",
            "66.249",
            "`66.249` is not a valid IPv4 address; write 66.249.0.0/16 for a network",
        ),
        (
            "client=66.249.*",
            "66.249.*",
            "`*` stands for itself only in quotation marks: client=\"66.249.*\"; write client=66.249.0.0/16",
        ),
        (
            "path=/x*",
            "/x*",
            "`*` stands for itself only in quotation marks: path=\"/x*\"; write path^=/x",
        ),
        (
            "path=*.php",
            "*.php",
            "`*` stands for itself only in quotation marks: path=\"*.php\"; write path~'\\.php$'",
        ),
        ("status==404", "==", "`==` is not an operator; write `=`"),
        ("status=40x", "40x", "`40x` is not a valid status; write status=404 or status=4xx"),
        ("path=/ and method=get", "get", "methods are case-sensitive; write method=GET"),
        (
            "bytes>1parsec",
            "parsec",
            "`parsec` is not a unit of a size; write B, kB, KiB, MB, MiB, GB, GiB, TB or TiB",
        ),
        ("bytes>1.5", "1.5", "`1.5` is not a whole number of bytes; write 1 or 2"),
        ("request_time>5M", "M", "`M` is not a unit of a duration; write m"),
        ("request_time>'5 M'", "'5 M'", "`M` is not a unit of a duration; write m"),
        (
            "status>1k",
            "1k",
            "`1k` may count in thousands or in steps of 1024; write 1kB, 1KiB or all digits",
        ),
        (
            "bytes~1",
            "~",
            "`bytes` is a number, so `~` does not compare with it; use =, !=, <, <=, > or >=",
        ),
        (
            "path~a\\",
            "a\\",
            "the regular expression ends with a backslash; write `\\\\` for the character itself",
        ),
        ("time>=soonish", "soonish", "`soonish` is not a valid time"),
        ("a && b", "&&", "`&&` is not an operator; write `and`"),
        ("a b", "b", "`and` or `or` is missing here"),
        (
            "user_agent~Mobile Safari",
            "Safari",
            "`and` or `or` is missing here; a value with a space needs quotation marks: user_agent~\"Mobile Safari\"",
        ),
        ("-bot", "-bot", "`-` does not negate; write not bot, or \"-bot\" to search for the text"),
        (
            "a or goog*",
            "goog*",
            "`*` stands for itself only in quotation marks; goog is found anywhere without it",
        ),
        ("!a", "!", "`!` is not an operator here; write `not`"),
        (
            "status",
            "status",
            "`status` is a field; write status=404, or \"status\" to search for the text",
        ),
        ("(a or b", "(", "this bracket is not closed"),
        ("a) or b", ")", "no bracket is open here"),
        ("path='a", "'", "the closing `'` of this text is missing"),
        (
            "status:>=400",
            ">=",
            "`>=` follows another operator; write status>=400, or put the value in quotation marks",
        ),
        ("status=(404,403)", "(", "a list of values has no brackets: status=a,b"),
        (
            "status=404 and status=500",
            "status=500",
            "a record has one status, so it does not meet both conditions; write status=404,500 for one of them",
        ),
        (
            "status_class=6xx",
            "6xx",
            "`6xx` is not a class of statuses; write one of other, 1xx, 2xx, 3xx, 4xx, 5xx",
        ),
    ];
    for (text, wrong, message) in cases {
        let error = clause(text).expect_err(text);
        assert_eq!((&text[error.range.clone()], &*error.message), (wrong, message), "{text}");
    }
    let missing = clause("status=").expect_err("a missing value");
    assert_eq!(missing.range, 7..7);
    assert!(missing.message.starts_with("a value is missing after `=`"), "{missing}");
    let unknown = clause("path=/ and sttaus=404").expect_err("an unknown field");
    assert_eq!(unknown.range, 11..17);
    assert!(
        unknown.message.starts_with(
            "there is no field `sttaus`; did you mean `status`? (the fields are client, "
        ),
        "{unknown}"
    );
}

#[test]
fn what_no_record_can_meet_is_refused() {
    let impossible = [
        "client=10.0.0.1 and client=10.0.0.2",
        "client=10.0.0.0/8 and client=192.168.0.0/16",
        "client=::1 and client=10.0.0.0/8",
        "client=10.0.0.0/8 and client=host",
        "remote_addr=a and client=b",
        "status=4xx and status=500",
        "status_class=4xx and status=500",
        "status=4xx and status_class=5xx",
        "status=404 and status>=500",
        "bytes>5 and bytes<3",
        "bytes=7 and bytes=8",
        "bytes<0",
        "request_time<0",
        "user=(none) and user^=a",
        "user=(none) and user~a",
        "user=(none) and user=(empty)",
        "path=/a and path^=/b",
        "(path=/ and status=404) and status=500",
        "time>2025-12-18T00:00:00Z and time<2025-12-17T00:00:00Z",
        "time>=2025-12-17T00:00:00Z and time<2025-12-17T00:00:00Z",
        "time=2025-12-17 and time=2025-12-18",
        "time=2025-12-17,2025-12-18 and status=404 and time>2025-12-18",
        "time=(none) and time<2025-12-18",
        "bytes>18446744073709551615 and path=/",
    ];
    for text in impossible {
        let error = clause(text).expect_err(text);
        let is_named = error.message.starts_with("a record has one")
            || text.strip_suffix("<0").is_some_and(|field| {
                error.message == format!("no {field} is less than 0; write {field}=0")
            })
            || error.message == "no bytes is greater than 18446744073709551615";
        assert!(is_named, "{text}: {error}");
    }
    let possible = [
        "client=10.0.0.0/8 and client=10.1.0.0/16",
        "client=10.0.0.1 and client=::ffff:10.0.0.1",
        "client=\"10.0.0.0/8\" and client=10.0.0.0/8",
        "status=4xx and status=404",
        "status=4xx and status>=404",
        "status_class=other and status=000",
        "bytes>3 and bytes<5",
        "bytes=1kB,(none) and bytes>500",
        "path=/a,/b and path^=/b",
        "user!=(none) and user=a",
        "time>=2025-12-17T00:00:00Z and time<2025-12-18T00:00:00Z",
        "time>=2025-12-17T00:00:00Z and time<=2025-12-17T00:00:00Z",
        "time>=2025-12-17 and time<=2025-12-17",
        "time=2025-12-17 and time=2025-12-17T09:03:00Z",
        "time=2025-12-17,(none) and time=2025-12-18,(none)",
        "time!=2025-12-17 and time=2025-12-17",
        "time>2025-12-18 or time<2025-12-17",
        "status=404 or status=500",
    ];
    for text in possible {
        assert!(clause(text).is_ok(), "{text}: {:?}", clause(text));
    }
}

#[test]
fn times_that_contradict_are_refused_at_the_second() {
    let text = "time>2025-12-17 and path=/ and time<2025-12-18";
    let reader = |day: &str| {
        let start = if day == "2025-12-17" { 0 } else { 100 };
        Ok((start, start + 99))
    };
    let condition = Condition::parse(text).expect("a condition");
    let error = condition.with_instants(&reader).expect_err("no time meets both");
    assert_eq!(&text[error.range.clone()], "time<2025-12-18");
    assert_eq!(
        error.message,
        "a record has one time, so it does not meet both conditions; time>2025-12-17 begins after \
         that day, time>=2025-12-17 with it"
    );
    assert_eq!(clause(text).expect_err("the same").message, error.message);
    let hopeless = clause("time>2025-12-18 and time<2025-12-17").expect_err("no time meets both");
    assert!(hopeless.message.ends_with("both conditions"), "{hopeless}");
    let values = weir_core::Values::new(0);
    assert_eq!(condition.check(&values, &|_| None), Ok(()), "the times are not known yet");
    let unknown = Condition::parse("time>soon and sttaus=1").expect("a condition");
    assert!(
        unknown.check(&values, &|_| None).is_err_and(|error| error.message.contains("`sttaus`"))
    );
}

#[test]
fn equalities_with_one_column_can_be_joined() {
    let join = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|text| Condition::parse(text).expect(text));
        one.joined_equality(&other).map(|joined| joined.to_string())
    };
    let joined = |one, other| join(one, other).expect("they are joined");
    assert_eq!(joined("status=404", "status=5xx,404"), "status=404,5xx");
    assert_eq!(joined("client=::1", "remote_addr=::2"), "client=::1,::2");
    assert_eq!(joined("user=(none)", "user=(empty)"), "user=(none),(empty)");
    assert_eq!(joined("path=\"\\xff\"", "path=/"), "path=\"\\xff\",/");
    let either = joined("status=404", "status_class=other");
    assert_eq!(either, "status=404 or status_class=other");
    assert_eq!(joined(&either, "status=5xx"), "status=404,5xx or status_class=other");
    assert_eq!(join("status=404", "path=/"), None);
    assert_eq!(join("status=404", "status!=500"), None);
    assert_eq!(join("status=404", "status=500 and path=/"), None);
}

#[test]
fn conditions_are_bounded() {
    let long = "a".repeat(Condition::BYTES_MAX + 1);
    let error = Condition::parse(&long).unwrap_err();
    assert_eq!(error.message, "the condition has 16385 bytes; write at most 16384");
    for deep in ["(".repeat(5_000), "not ".repeat(4_000)] {
        let error = Condition::parse(&deep).unwrap_err();
        assert!(error.message.contains("nested more than 64 times"), "{error}");
    }
    let wide = vec!["a"; 2_000].join(" or ");
    assert_eq!(Condition::parse(&wide).map(|wide| wide.expressions()), Ok(2_000));
    assert!(clause(&"a".repeat(16_000)).is_err(), "the expression would be too large");
}

#[test]
fn the_excerpt_shows_the_place_in_a_long_text() {
    let text = format!("path={} and status==404 and path={}", "é".repeat(200), "/a".repeat(100));
    let error = Condition::parse(&text).unwrap_err();
    let excerpt = error.excerpt(&text);
    let (shown, mark) = excerpt.split_once('\n').expect("two lines");
    let column = mark.chars().take_while(|c| *c == ' ').count();
    let marked: String = shown.chars().skip(column).take(2).collect();
    assert_eq!((&*marked, mark.trim_start()), ("==", "^^"));
    assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
    assert_eq!(error.char_range(&text), 216..218);
    let hostile = Condition::parse("a\u{1b}[31m b").unwrap_err().excerpt("a\u{1b}[31m b");
    assert!(!hostile.contains('\u{1b}'), "{hostile:?}");
}
