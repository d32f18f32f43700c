//! A record, read from a line by regular expressions.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use super::calendar::date_s;

/// The layout of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `client ident user [time] "request" status bytes "referer" "agent"`
    Combined,
    /// `host:port`, followed by `Combined`.
    Vcombined,
    /// `Combined` up to the bytes.
    Common,
    /// `host:port`, followed by `Common`.
    Vcommon,
}

/// The fields of a line in a layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The text fields by name, as in the log. Fields that the line lacks are absent.
    pub fields: BTreeMap<&'static str, Vec<u8>>,
    /// The size of the response in bytes; `None` for `-`.
    pub bytes: Option<u64>,
    /// Seconds since 1970, UTC.
    pub time_s: i64,
    /// The line's offset from UTC in seconds; positive if its clock is ahead.
    pub offset_s: i64,
}

/// A pattern over bytes, in which a dot matches any byte.
fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?s-u){text}")).expect("a pattern of this file")
}

static HOST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([^ :]+):[0-9]+ (.*)$"));
static HEAD: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([^ ]+) ([^ ]+) (.*)$"));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^([0-9]{2})/([A-Za-z]{3})/([0-9]{4}):([0-9]{2}):([0-9]{2}):([0-9]{2}) ",
        r"([+-])([0-9]{2})([0-9]{2})\] (.*)$"
    ))
});
// Quoted text ends at the first quote without an odd number of backslashes before it.
static REQUEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^"((?:[^"\\]|\\.)*)" ([0-9]{3}|-) ([0-9]{1,20}|-)(.*)$"#));
static QUOTES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^ "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"$"#));
static HTTP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^([A-Za-z0-9!#$%&'*+.^_`|~-]*[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*) (.*) (HTTP/[0-9]+(?:\.[0-9]+)?)$",
    )
});

// Without a version.
static SHORT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE) ((?:/|[A-Za-z0-9]{1,15}://)[^ ]*)$")
});

impl Record {
    /// Reads a line without its end. `None` if it is not in the layout.
    pub fn read(layout: Layout, line: &[u8]) -> Option<Self> {
        let mut record = Self::default();
        let rest = match layout {
            Layout::Combined | Layout::Common => line,
            Layout::Vcombined | Layout::Vcommon => {
                let host = HOST.captures(line)?;
                record.set("host", &host[1]);
                group(&host, 2)
            }
        };
        let head = HEAD.captures(rest)?;
        record.set("client", &head[1]);
        // The user ends at the first " [".
        let rest = group(&head, 3);
        let user_end = rest.windows(2).position(|two| two == b" [")?;
        if user_end == 0 {
            return None;
        }
        record.set("user", &rest[..user_end]);
        let time = TIME.captures(&rest[user_end + 2..])?;
        record.set_time(&time)?;
        let request = REQUEST.captures(group(&time, 10))?;
        record.set_request(&request[1]);
        record.set("status", &request[2]);
        record.bytes = match &request[3] {
            b"-" => None,
            digits => Some(text(digits).parse().ok()?),
        };
        let rest = group(&request, 4);
        match layout {
            Layout::Common | Layout::Vcommon => rest.is_empty().then_some(record),
            Layout::Combined | Layout::Vcombined => {
                let quotes = QUOTES.captures(rest)?;
                record.set("referer", &quotes[1]);
                record.set("user_agent", &quotes[2]);
                Some(record)
            }
        }
    }

    /// The status as a number; `None` for `-`.
    pub fn status(&self) -> Option<u16> {
        text(&self.fields["status"]).parse().ok()
    }

    /// Whether the status is 400 to 599.
    pub fn is_error(&self) -> bool {
        self.status().is_some_and(|status| (400..600).contains(&status))
    }

    /// `1xx` to `5xx`, or `other`.
    pub fn status_class(&self) -> &'static str {
        match self.status() {
            Some(100..200) => "1xx",
            Some(200..300) => "2xx",
            Some(300..400) => "3xx",
            Some(400..500) => "4xx",
            Some(500..600) => "5xx",
            _ => "other",
        }
    }

    fn set(&mut self, field: &'static str, value: &[u8]) {
        self.fields.insert(field, value.to_vec());
    }

    fn set_time(&mut self, time: &Captures<'_>) -> Option<()> {
        let number = |i: usize| text(&time[i]).parse::<i64>().ok();
        let (hour, minute, second) = (number(4)?, number(5)?, number(6)?);
        let (offset_hours, offset_minutes) = (number(8)?, number(9)?);
        // A leap second counts as the next second.
        if hour > 23 || minute > 59 || second > 60 || offset_hours > 23 || offset_minutes > 59 {
            return None;
        }
        let sign = if &time[7] == b"-" { -1 } else { 1 };
        self.offset_s = sign * (offset_hours * 3600 + offset_minutes * 60);
        let local_s =
            date_s(number(3)?, &time[2], number(1)?)? + hour * 3600 + minute * 60 + second;
        self.time_s = local_s - self.offset_s;
        // Weir stores times as nanoseconds in 64 bits, which cover the years 1678 to 2261.
        self.time_s.checked_mul(1_000_000_000).map(|_| ())
    }

    fn set_request(&mut self, request: &[u8]) {
        let Some(http) = HTTP.captures(request).or_else(|| SHORT.captures(request)) else {
            return self.set("request", request);
        };
        self.set("method", &http[1]);
        if let Some(protocol) = http.get(3) {
            self.set("protocol", protocol.as_bytes());
        }
        let mut target = http[2].splitn(2, |&byte| byte == b'?');
        self.set("path", target.next().unwrap_or_default());
        if let Some(query) = target.next() {
            self.set("query", query);
        }
    }
}

fn group<'t>(captures: &Captures<'t>, i: usize) -> &'t [u8] {
    captures.get(i).map_or(b"", |group| group.as_bytes())
}

/// Digits as a string.
fn text(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Layout, Record};

    const LINE: &str =
        r#"::1 - bob b [29/Feb/2024:23:59:60 -0130] "GET /a b?c?d HTTP/2.0" 206 - "x\"y" "a\\""#;

    fn read(line: &str) -> Option<Record> {
        Record::read(Layout::Combined, line.as_bytes())
    }

    #[test]
    fn every_field_of_a_line() {
        let record = read(LINE).expect("a record");
        let fields: Vec<(&str, String)> = record
            .fields
            .iter()
            .map(|(&name, value)| (name, String::from_utf8_lossy(value).into_owned()))
            .collect();
        let expected = [
            ("client", "::1"),
            ("method", "GET"),
            ("path", "/a b"),
            ("protocol", "HTTP/2.0"),
            ("query", "c?d"),
            ("referer", r#"x\"y"#),
            ("status", "206"),
            ("user", "bob b"),
            ("user_agent", r"a\\"),
        ];
        assert_eq!(fields, expected.map(|(name, value)| (name, value.to_owned())));
        assert_eq!((record.bytes, record.offset_s), (None, -5_400));
        assert_eq!(record.time_s, 1_709_251_200 + 5_400);
    }

    #[test]
    fn invalid_lines_are_not_records() {
        assert!(read("").is_none());
        let changes = [
            ("- bob ", ""),
            ("::1", ""),
            ("bob b ", ""),
            ("29/Feb/2024", "29/Feb/2023"),
            ("29/Feb/2024", "29/feb/2024"),
            ("29/Feb/2024", "29/Feb/2999"),
            ("23:59:60", "23:59:61"),
            ("-0130", "0130"),
            ("206", "20"),
            ("206", "2066"),
            (" - \"x", " -1 \"x"),
            (r"a\\", r"a\"),
            (r#"\\""#, r#"\\" "#),
        ];
        for (from, to) in changes {
            assert!(LINE.contains(from) && read(&LINE.replacen(from, to, 1)).is_none(), "{to}");
        }
    }

    #[test]
    fn a_request_that_is_not_http_is_one_field() {
        for request in [
            "",
            "-",
            "GET a",
            "GET /a b",
            "G(T / HTTP/1.1",
            "GET HTTP/1.1",
            "GET / HTTP/1.",
            "a  b",
        ] {
            let line = LINE.replace("GET /a b?c?d HTTP/2.0", request);
            let record = read(&line).expect("a record");
            assert_eq!(record.fields["request"], request.as_bytes());
            assert!(!record.fields.contains_key("path"));
        }
    }

    #[test]
    fn the_other_layouts() {
        let common = LINE.split(r#" "x"#).next().expect("a part").as_bytes();
        let host = |line: &[u8]| [b"example.com:443 ", line].concat();
        assert!(Record::read(Layout::Common, common).is_some());
        assert!(Record::read(Layout::Common, LINE.as_bytes()).is_none());
        let record = Record::read(Layout::Vcommon, &host(common)).expect("a record");
        assert_eq!(record.fields["host"], b"example.com");
        assert!(Record::read(Layout::Vcombined, &host(LINE.as_bytes())).is_some());
        assert!(Record::read(Layout::Vcombined, LINE.as_bytes()).is_none());
    }
}
