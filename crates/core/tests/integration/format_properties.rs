//! Properties of formats: no line and no definition causes a panic, and a line written from a
//! record is parsed to that record.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::format_support::{catalog, fields};
use proptest::prelude::*;
use weir_core::{Format, LineParser, Record, Wrapper, detect, known_formats};

/// Lines of real logs, for tests that break them.
static SAMPLES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut samples: Vec<String> = LINES.map(str::to_owned).into();
    for path in catalog() {
        let text = std::fs::read_to_string(path).expect("the file of a format");
        let lines = text.lines().filter_map(|line| line.strip_prefix("line: "));
        for (line, number) in lines.zip(0..) {
            samples.push(match number {
                1 => format!("<190>1 - web nginx 12 - [a b=\"c\"] {line}"),
                2 => format!("Dec 17 09:03:01 web nginx[12]: {line}"),
                3 => format!("{{\"log\":{},\"stream\":\"stdout\"}}", serde_json::Value::from(line)),
                4 => format!("2025-12-17T09:03:01.25Z stdout F {line}"),
                _ => line.to_owned(),
            });
        }
    }
    samples
});

const LINES: [&str; 4] = [
    r#"example.com:443 192.0.2.1 - jo [17/Dec/2025:09:03:01 +0000] "GET /a?b HTTP/1.1" 200 512 "-" "a\"b""#,
    r#"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8.0" "-""#,
    r#"{"ts":1716723772.6,"request":{"client_ip":"::1","method":"GET","uri":"/a?b","headers":{"User-Agent":["x\u00e9"]}},"duration":"1.5ms","size":3768,"status":200}"#,
    r#"{"StartUTC":"2025-12-17T09:03:01.25Z","RequestPath":"/","DownstreamStatus":200,"Duration":77601,"time":null}"#,
];

fn parse_and_explain(format: &Format, line: &[u8]) {
    let mut parser = LineParser::new(Arc::new(format.clone()));
    let (mut text, mut decoded) = (Vec::new(), Vec::new());
    let mut record = Record::new();
    let (inside, mismatch) = match parser.unwrap(line, &mut text) {
        Ok(inside) => {
            (inside.len(), parser.parse_decoding(inside, &mut decoded, &mut record).err())
        }
        Err(mismatch) => (line.len(), Some(mismatch)),
    };
    if let Some(mismatch) = mismatch {
        assert!(mismatch.at <= inside);
        assert!(!parser.explain(mismatch).is_empty());
    }
}

/// A sample with some bytes changed, possibly truncated.
fn broken_sample() -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (prop::sample::select(SAMPLES.as_slice()), changes, any::<prop::sample::Index>(), any::<bool>())
        .prop_map(|(sample, changes, end, cut)| {
            let mut line = sample.as_bytes().to_vec();
            for (index, byte) in changes {
                let at = index.index(line.len());
                line[at] = byte;
            }
            if cut {
                line.truncate(end.index(line.len()));
            }
            line
        })
}

/// Texts composed of words of definitions.
fn definition() -> impl Strategy<Value = String> {
    let words = prop::sample::select(
        &[
            "%",
            "h",
            "{",
            "}",
            "%{",
            "%>s",
            "%t",
            "%{%F %T}t",
            "%{msec_frac}t",
            "%{c}a",
            "^ti",
            "$",
            "$status",
            "${",
            "$time_local",
            "$request",
            "$is_args",
            "$uri",
            "\"",
            "'",
            "\\",
            " ",
            "[",
            "]",
            "é",
            ",",
            "!",
            "400",
            "log_format ",
            "LogFormat ",
            "json:",
            "time=",
            "status=code",
            "|",
            "(ms)",
            "escape=json ",
            "'{\"a\":\"$status\"}'",
            ";",
            "\n",
            "\\n",
            "spaces:",
            "tabs:",
            "csv:",
            "client(port)",
            "path(url)",
            "request_time(sum)",
            "time(%d %b)",
            "a/b?",
            "_",
            "#Fields: ",
            "#Date: 2025-12-17",
            "date time c-ip ",
            "cs(User-Agent) time-taken\t",
            "${x=y(",
            " in SYSLOG",
            " in DOCKER",
            " in cri",
        ][..],
    );
    prop::collection::vec(words, 0..12).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_bytes_panic(line in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        broken_sample(),
        "[\\[\\]\"{}: ,0-9a-z\\\\-]{0,60}".prop_map(String::into_bytes),
    ]) {
        for format in known_formats() {
            parse_and_explain(format, &line);
            for wrapped in Wrapper::ALL.into_iter().filter_map(|wrapper| format.wrapped_in(wrapper)) {
                parse_and_explain(&wrapped, &line);
            }
        }
        detect(&line);
    }

    #[test]
    fn no_definition_panics(definition in definition(), line in broken_sample()) {
        match Format::parse(&definition) {
            Ok(format) => {
                parse_and_explain(&format, &line);
                parse_and_explain(&format, b"200 1 - [x] \"y\"");
            }
            Err(error) => {
                prop_assert!(error.column() <= definition.chars().count() + 1);
                prop_assert!(error.to_string().ends_with('^'));
            }
        }
    }
}

/// A value of a line: its names in nginx and Apache, the logged text, and the fields and values
/// that should be parsed.
#[derive(Debug, Clone)]
struct Logged {
    nginx: &'static str,
    apache: &'static str,
    text: String,
    expected: Vec<(&'static str, String)>,
}

fn logged(
    nginx: &'static str,
    apache: &'static str,
    pattern: &'static str,
    expected: impl Fn(&str) -> Vec<(&'static str, String)> + 'static,
) -> impl Strategy<Value = Logged> {
    pattern.prop_map(move |text: String| Logged { nginx, apache, expected: expected(&text), text })
}

fn same(name: &'static str) -> impl Fn(&str) -> Vec<(&'static str, String)> {
    move |text| vec![(name, text.to_owned())]
}

/// One value of each kind, in any order.
fn record() -> impl Strategy<Value = Vec<Logged>> {
    // Any text. Inside quotes, servers escape quotes and backslashes by a backslash.
    const QUOTED: &str = r#"([ !#-\[\]-~]|é|\\\\|\\")*"#;
    let request =
        ("[A-Z]{1,7}", r#"/([!#-\[\]-~&&[^?]]|\\")*"#, prop::option::of("[!#-~&&[^\\\\]]*"));
    let request = request.prop_map(|(method, path, query): (String, String, Option<String>)| {
        let target = query.as_ref().map_or(path.clone(), |query| format!("{path}?{query}"));
        let mut expected = vec![("method", method.clone()), ("path", path)];
        expected.push(("protocol", "HTTP/1.1".to_owned()));
        expected.extend(query.map(|query| ("query", query)));
        let text = format!("{method} {target} HTTP/1.1");
        Logged { nginx: "\"$request\"", apache: "\"%r\"", text, expected }
    });
    let bytes = |text: &str| match text {
        "-" => Vec::new(),
        text => vec![("bytes", text.to_owned())],
    };
    let time = |day: u32, hour: u32| Logged {
        nginx: "[$time_local]",
        apache: "%t",
        text: format!("{day:02}/Dec/2025:{hour:02}:03:01 -0330"),
        expected: vec![("time", format!("2025-12-{day:02}T{hour:02}:03:01-03:30"))],
    };
    (
        logged(
            "$remote_addr",
            "%a",
            "[a-z][0-9a-z._-]{0,18}[a-z]|([0-9]{1,3}\\.){3}[0-9]{1,3}|([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|[0-9a-f]{1,4}::[0-9a-f]{1,4}",
            same("client"),
        ),
        logged("\"$remote_user\"", "\"%u\"", QUOTED, same("user")),
        logged("$status", "%>s", "[0-9]{3}|-", same("status")),
        logged("$body_bytes_sent", "%b", "0|[1-9][0-9]{0,17}|-", bytes),
        logged("\"$http_referer\"", "\"%{Referer}i\"", QUOTED, same("referer")),
        logged("\"$http_user_agent\"", "\"%{User-Agent}i\"", QUOTED, same("user_agent")),
        logged("\"$http_cookie\"", "\"%{Cookie}i\"", QUOTED, same("+http_cookie")),
        request,
        (1u32..=31, 0u32..24).prop_map(move |(day, hour)| time(day, hour)),
    )
        .prop_map(|(a, b, c, d, e, f, g, h, i)| vec![a, b, c, d, e, f, g, h, i])
        .prop_shuffle()
}

/// Writes a line in the format of a definition: replaces each name by its value.
fn write(definition: &str, values: &[Logged], name: impl Fn(&Logged) -> &'static str) -> String {
    values
        .iter()
        .fold(definition.to_owned(), |line, value| {
            let name = name(value).trim_matches(|letter| "[]\"".contains(letter));
            let text = if name == "%t" { format!("[{}]", value.text) } else { value.text.clone() };
            line.replacen(name, &text.replace('$', "\u{1}").replace('%', "\u{2}"), 1)
        })
        .replace('\u{1}', "$")
        .replace('\u{2}', "%")
}

fn check(definition: &str, line: &str, values: &[Logged]) -> Result<(), TestCaseError> {
    let format = Format::parse(definition).unwrap();
    let mut parser = LineParser::new(Arc::new(format.clone()));
    let mut record = Record::new();
    if let Err(mismatch) = parser.parse(line.as_bytes(), &mut record) {
        let why = parser.explain(mismatch);
        return Err(TestCaseError::fail(format!("{definition}\n{line}\n{}: {why}", mismatch.at)));
    }
    let found: BTreeMap<String, String> = fields(&format, &record).into_iter().collect();
    let expected: BTreeMap<String, String> = values
        .iter()
        .flat_map(|value| value.expected.iter())
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    prop_assert_eq!(found, expected, "{}\n{}", definition, line);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_written_line_is_parsed_to_its_record(
        values in record(),
        separator in prop::sample::select(&[" ", " | ", "\t", " - "][..]),
        length in 1usize..=9,
    ) {
        let values = &values[..length];
        // The text at the start keeps the definition from being read as quoted strings.
        let join = |name: &dyn Fn(&Logged) -> &'static str| {
            format!("> {}", values.iter().map(name).collect::<Vec<_>>().join(separator))
        };
        let nginx = join(&|value: &Logged| value.nginx);
        check(&nginx, &write(&nginx, values, |value| value.nginx), values)?;
        let apache = join(&|value: &Logged| value.apache);
        check(&apache, &write(&apache, values, |value| value.apache), values)?;
    }

    #[test]
    fn a_written_object_is_parsed_to_its_record(values in record(), spaces in "[ \t]{0,2}") {
        let values: Vec<Logged> =
            values.into_iter().filter(|value| !value.text.is_empty()).collect();
        let name = |value: &Logged| value.nginx.trim_matches(|letter| "[]\"$".contains(letter));
        let member = |value: &Logged| {
            format!("{spaces}\"{}\"{spaces}:{spaces}\"{}\"", name(value), value.text)
        };
        let members: Vec<String> = values.iter().map(member).collect();
        let line = format!("{{{},\"other\":[{{}},null,-1.5e+3]}}", members.join(","));
        let keys: Vec<String> =
            values.iter().map(|value| format!("{0}={0}", name(value))).collect();
        check(&format!("json:{}", keys.join(",")), &line, &values)?;
    }
}
