//! Lines of servers that do not escape quotes: every value is right, or the line is unparsed.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{Field, LineParser, Record, format_by_name};

use crate::format_support::{check_cases, golden};

#[test]
fn golden_cases() {
    check_cases(&golden("raw_quotes.txt"));
}

/// The values of a line. The target has no spaces if it is a usual one.
#[derive(Debug, Clone)]
struct Values {
    method: &'static str,
    target: String,
    protocol: &'static str,
    referer: String,
    agent: String,
}

impl Values {
    fn request(&self) -> String {
        [self.method, &self.target, self.protocol].join(" ").trim_end().to_owned()
    }

    fn common(&self) -> String {
        format!("192.0.2.7 - - [25/Nov/2020:21:26:18 +0000] \"{}\" 404 10", self.request())
    }

    fn combined(&self) -> String {
        format!("{} \"{}\" \"{}\"", self.common(), self.referer, self.agent)
    }

    /// Whether nothing in the values looks like the end of a value and the start of another.
    fn are_plain(&self) -> bool {
        let is_plain =
            |text: &str| !["\" ", " \"", " HTTP/"].iter().any(|part| text.contains(part));
        !self.protocol.is_empty()
            && is_plain(&self.target)
            && [&self.referer, &self.agent]
                .into_iter()
                .all(|text| is_plain(text) && !text.starts_with(' ') && !text.ends_with(' '))
    }

    /// What a reader must find, or nothing.
    fn check(&self, name: &str, line: &str) -> Result<(), TestCaseError> {
        let mut parser = LineParser::new(Arc::new(format_by_name(name).unwrap()));
        let mut record = Record::new();
        if parser.parse(line.as_bytes(), &mut record).is_err() {
            prop_assert!(!self.are_plain(), "{}: {}", name, line);
            return Ok(());
        }
        let text = |field| String::from_utf8_lossy(record.text(field).unwrap_or_default());
        let target = match record.text(Field::Query) {
            Some(query) => format!("{}?{}", text(Field::Path), String::from_utf8_lossy(query)),
            None => text(Field::Path).into_owned(),
        };
        let request = match record.text(Field::Request) {
            Some(request) => String::from_utf8_lossy(request).into_owned(),
            None => format!("{} {target} {}", text(Field::Method), text(Field::Protocol)),
        };
        prop_assert_eq!(request.trim_end(), self.request(), "{}: {}", name, line);
        prop_assert_eq!(text(Field::Status), "404");
        prop_assert_eq!(record.number(Field::Bytes), Some(10));
        if name == "COMBINED" {
            prop_assert_eq!(text(Field::Referer), self.referer.as_str(), "{}", line);
            prop_assert_eq!(text(Field::UserAgent), self.agent.as_str(), "{}", line);
        }
        Ok(())
    }
}

/// Texts with quotes, some of which look like the rest of a line.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z<>=(]{0,4}",
        2 => Just("\"".to_owned()),
        1 => Just(" ".to_owned()),
        1 => prop::sample::select(vec![
            "\" \"", "\" 200 5", "\" 200 5 \"", "\" 200 5 \"-\" \"", " HTTP/1.1\" 200 5 \"", "] \"GET /",
            " HTTP/1.1", "\" 200 - \"x\" \"y",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Values> {
    let method = prop::sample::select(vec!["GET", "POST", "M-SEARCH"]);
    let protocol = prop::sample::select(vec!["HTTP/1.0", "HTTP/1.1", "HTTP/2", ""]);
    (method, text(), protocol, text(), text()).prop_map(
        |(method, target, protocol, referer, agent)| {
            let target = format!("/{target}").trim_end().to_owned();
            Values { method, target, protocol, referer, agent }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn values_with_quotes_are_right_or_unparsed(values in values()) {
        values.check("COMMON", &values.common())?;
        values.check("COMBINED", &values.combined())?;
    }
}
