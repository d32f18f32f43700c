//! The metrics of the requests in logs.

use std::borrow::Cow;
use std::fmt::{self, Write};

use weir_core::{DURATION_BOUNDS_NS, REQUEST_METHODS, RequestCounts, STATUS_CLASSES};
use weir_ingest::RequestGroup;
use weir_view::{RouteStage, push_printable};

use crate::metrics::catalog::{REQUEST_DURATION, REQUESTS, RESPONSE_BYTES};
use crate::metrics::{HistogramPoint, Scrape};
use crate::part::Part;

/// The requests of a data set as a part of the program.
pub struct RequestsPart {
    /// The name of the label for the values of the groups, if there are several.
    label: Option<String>,
    counts: Box<dyn Fn() -> Option<GroupedRequests> + Send + Sync>,
}

/// The counts of requests, by group.
pub type GroupedRequests = Vec<(RequestGroup, RequestCounts)>;

/// The value of the label for all values without a series of their own. No value is written like
/// this, see [`label_value`].
const OTHERS: &str = "(others)";

impl RequestsPart {
    /// Makes a part from the name of the label that tells the groups apart, if there are several,
    /// and a function that returns the counts once they are there.
    pub fn new(
        label: Option<String>,
        counts: impl Fn() -> Option<GroupedRequests> + Send + Sync + 'static,
    ) -> Self {
        Self { label, counts: Box::new(counts) }
    }
}

impl fmt::Debug for RequestsPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RequestsPart")
    }
}

impl Part for RequestsPart {
    fn collect(&self, scrape: &mut Scrape) {
        for (group, counts) in (self.counts)().unwrap_or_default() {
            let is_empty = counts.requests().as_flattened().iter().all(|count| *count == 0);
            // Requests without the field have no series if there are none: the label would be empty.
            if is_empty && group == RequestGroup::Unnamed && self.label.is_some() {
                continue;
            }
            let value = label_value(&group);
            let label = self.label.as_deref().map(|name| (name, &*value));
            add(label, &counts, scrape);
        }
    }

    fn stages(&self) -> Vec<RouteStage> {
        Vec::new()
    }
}

fn add(label: Option<(&str, &str)>, counts: &RequestCounts, scrape: &mut Scrape) {
    for (method, classes) in REQUEST_METHODS.iter().zip(counts.requests()) {
        // A rate needs a counter before its first event, so the usual classes of a method come together.
        if *method != "GET" && classes.iter().all(|count| *count == 0) {
            continue;
        }
        for (class, count) in STATUS_CLASSES.iter().zip(classes) {
            if *count > 0 || ["2xx", "3xx", "4xx", "5xx"].contains(class) {
                scrape.add_with(&REQUESTS, label, &[method, class], *count);
            }
        }
    }
    scrape.add_with(&RESPONSE_BYTES, label, &[], counts.bytes());
    if counts.durations().iter().any(|count| *count > 0) {
        let histogram = HistogramPoint {
            bounds: DURATION_BOUNDS_NS.map(|ns| ns as f64 / 1e9).to_vec(),
            counts: counts.durations().to_vec(),
            sum: counts.duration_ns() as f64 / 1e9,
            exemplars: Vec::new(),
        };
        scrape.add_histogram_with(&REQUEST_DURATION, label, &[], histogram);
    }
}

/// Returns the text of a label: different for different groups, and without characters that a terminal
/// would obey. Bytes that are not UTF-8 are written as `\xff`. So is the first character of what could
/// be taken for another value: a backslash before a letter of such an escape, and the first bracket of
/// `(others)`.
fn label_value(group: &RequestGroup) -> Cow<'static, str> {
    let value = match group {
        RequestGroup::Unnamed => return Cow::Borrowed(""),
        RequestGroup::Others => return Cow::Borrowed(OTHERS),
        RequestGroup::Value(value) => value,
    };
    let mut text = String::with_capacity(value.len());
    if **value == *OTHERS.as_bytes() {
        return Cow::Owned(OTHERS.replacen('(', "\\x28", 1));
    }
    for chunk in value.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some((before, after)) = rest.split_once('\\') {
            push_printable(&mut text, before);
            let is_like_escape = after.starts_with(['x', 'u', 'n', 'r', 't']);
            text.push_str(if is_like_escape { "\\x5c" } else { "\\" });
            rest = after;
        }
        push_printable(&mut text, rest);
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weir_core::RequestCounts;
    use weir_ingest::RequestGroup;

    use super::{Part, RequestsPart, label_value};
    use crate::metrics::{Scrape, TextFormat};

    fn value(bytes: &[u8]) -> RequestGroup {
        RequestGroup::Value(bytes.into())
    }

    #[test]
    fn a_value_is_written_so_that_it_is_safe_and_its_own() {
        for (bytes, text) in [
            (&b"shop.example"[..], "shop.example"),
            ("größe".as_bytes(), "größe"),
            (b"C:\\logs\\new", r"C:\logs\x5cnew"),
            (b"a\nb\x1b[2J", r"a\nb\x1b[2J"),
            (br"a\nb\x1b[2J", r"a\x5cnb\x5cx1b[2J"),
            (b"\xff\xfe", r"\xff\xfe"),
            (br"\xff", r"\x5cxff"),
            ("\u{202e}".as_bytes(), r"\u{202e}"),
            (b"(others)", r"\x28others)"),
            (br"\x28others)", r"\x5cx28others)"),
            (b"(others", "(others"),
            (b"a\"b", "a\"b"),
        ] {
            assert_eq!(label_value(&value(bytes)), text);
        }
    }

    /// All short values over the characters that escapes consist of.
    #[test]
    fn no_two_values_are_written_alike() {
        let letters = [&b"\\"[..], b"x", b"5", b"c", b"n", b"\n", b"\x1b", b"\xff", b"(others)"];
        let mut values: Vec<Vec<u8>> = vec![Vec::new()];
        let mut start = 0;
        for _ in 0..4 {
            let end = values.len();
            for index in start..end {
                let before = values[index].clone();
                values.extend(letters.iter().map(|letter| [&before, *letter].concat()));
            }
            start = end;
        }
        let mut texts: BTreeSet<_> = values.iter().map(|it| label_value(&value(it))).collect();
        assert_eq!(texts.len(), values.len());
        // The empty value cannot be told from an absent one, as everywhere in Prometheus.
        assert!(texts.insert(label_value(&RequestGroup::Others)));
    }

    #[test]
    fn counters_are_there_before_the_first_request() {
        let text = |label: Option<&str>, groups: &[RequestGroup]| {
            let counts: Vec<_> =
                groups.iter().map(|group| (group.clone(), RequestCounts::default())).collect();
            let part = RequestsPart::new(label.map(str::to_owned), move || Some(counts.clone()));
            let mut scrape = Scrape::default();
            part.collect(&mut scrape);
            let text = scrape.text(TextFormat::Prometheus);
            text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
        };
        let expected = "\
weir_requests_total{method=\"GET\",status=\"2xx\"} 0
weir_requests_total{method=\"GET\",status=\"3xx\"} 0
weir_requests_total{method=\"GET\",status=\"4xx\"} 0
weir_requests_total{method=\"GET\",status=\"5xx\"} 0
weir_response_bytes_total 0";
        assert_eq!(text(None, &[RequestGroup::Unnamed]), expected);
        let groups = [RequestGroup::Unnamed, RequestGroup::Others];
        let with_label = expected
            .replace("{method", "{host=\"(others)\",method")
            .replace("bytes_total", "bytes_total{host=\"(others)\"}");
        assert_eq!(text(Some("host"), &groups), with_label);
    }
}
