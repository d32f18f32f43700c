//! Parses the query string of an address, and percent encoding.

use weir_net::percent_decode;
use weir_view::{Compare, Query, RecordKind};

use crate::export_form::Form;
use crate::refusal::Refusal;

/// The maximum number of rows in a top list.
pub(crate) const TOP_MAX: u32 = 10_000;

/// The parameters of a report.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReportParameters {
    pub(crate) query: Query,
    /// Whether it is written for people, and not as JSON.
    pub(crate) is_html: bool,
}

/// Reads the parameters of a report: `where=CONDITION` (any number of times), `top=N`, `zone=NAME`,
/// `stack=FIELD`, `buckets=N`, `kind=KIND`, `group=FIELD`, `measures=NAME,NAME`, `sort=NAME`, `min=N`,
/// `compare=SINCE/UNTIL` and `format=json` or `format=html`.
pub(crate) fn report(text: Option<&str>) -> Result<ReportParameters, Refusal> {
    let ReportParameters { mut query, mut is_html } = ReportParameters::default();
    for (name, value) in checked_parameters(text)? {
        match name.as_str() {
            "top" => query.top = number(&name, &value)?.min(TOP_MAX),
            "buckets" => query.buckets = number(&name, &value)?,
            "stack" => query.stack = value,
            "group" => query.group = Some(value),
            "measures" => query.measures = value.split(',').map(str::to_owned).collect(),
            "sort" => query.sort = Some(value),
            "min" => query.min = number(&name, &value)?.into(),
            "compare" => query.compare = Some(period(&value)),
            "format" => is_html = report_format(&value)?,
            _ if select(&mut query, &name, &value)? => {}
            _ => {
                return Err(Refusal::BadRequest(format!(
                    "`{name}` is not a valid parameter; use where, top, zone, stack, buckets, \
                     kind, group, measures, sort, min, compare or format"
                )));
            }
        }
    }
    Ok(ReportParameters { query, is_html })
}

/// Returns whether the format is HTML.
fn report_format(name: &str) -> Result<bool, Refusal> {
    match name {
        "json" => Ok(false),
        "html" => Ok(true),
        _ => Err(Refusal::BadRequest(format!(
            "`{name}` is not a valid format of a report; write json or html"
        ))),
    }
}

/// The parameters of an export.
#[derive(Debug, Default)]
pub(crate) struct ExportParameters {
    pub(crate) query: Query,
    pub(crate) form: Option<Form>,
    /// The names of the columns; empty for the default ones.
    pub(crate) columns: Vec<String>,
}

/// Reads the parameters of an export: `format=NAME` ([`Form::name`]) and `columns=NAME,NAME`, which
/// may be missing, and those of [`report`] that select records: `where`, `zone` and `kind`.
pub(crate) fn export(text: Option<&str>) -> Result<ExportParameters, Refusal> {
    let mut parameters = ExportParameters::default();
    for (name, value) in checked_parameters(text)? {
        match (name.as_str(), value.as_str()) {
            ("format", _) => {
                let named = Form::by_name(&value);
                let named = named.ok_or_else(|| Refusal::BadRequest(invalid_format(&value)))?;
                parameters.form = Some(named);
            }
            ("columns", _) => parameters.columns = value.split(',').map(str::to_owned).collect(),
            _ if select(&mut parameters.query, &name, &value)? => {}
            _ => {
                return Err(Refusal::BadRequest(format!(
                    "`{name}` is not a valid parameter; use format, columns, where, zone or kind"
                )));
            }
        }
    }
    Ok(parameters)
}

/// Reads the definition of a format from `definition=TEXT`, which may be missing.
pub(crate) fn definition(text: Option<&str>) -> Result<String, Refusal> {
    let mut definition = String::new();
    for (name, value) in checked_parameters(text)? {
        match name.as_str() {
            "definition" => definition = value,
            _ => {
                return Err(Refusal::BadRequest(format!(
                    "`{name}` is not a valid parameter; use definition"
                )));
            }
        }
    }
    Ok(definition)
}

fn invalid_format(name: &str) -> String {
    format!("`{name}` is not a valid format; write {}", Form::ALL.map(Form::name).join(" or "))
}

/// Returns the decoded names and values of a query string's parameters. Only `where` may be
/// repeated, because no value of another one would be the one that is meant.
fn checked_parameters(text: Option<&str>) -> Result<Vec<(String, String)>, Refusal> {
    let mut read: Vec<(String, String)> = Vec::new();
    for pair in parameters(text).zip(pairs(text)) {
        let ((name, value), (raw_name, raw_value)) = pair;
        if [raw_name, raw_value].iter().any(|raw| String::from_utf8(bytes_of(raw, true)).is_err()) {
            let why = format!("the value of `{name}` is not UTF-8; percent-encode its UTF-8 bytes");
            return Err(Refusal::BadRequest(why));
        }
        if name != "where" && read.iter().any(|(known, _)| *known == name) {
            let why = format!("`{name}` is given twice; give it once");
            return Err(Refusal::BadRequest(why));
        }
        read.push((name, value));
    }
    Ok(read)
}

/// Returns the names and values of a query string's parameters, as they are encoded.
fn pairs(text: Option<&str>) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Returns the decoded names and values of a query string's parameters.
pub fn parameters(text: Option<&str>) -> impl Iterator<Item = (String, String)> {
    pairs(text).map(|(name, value)| (decode(name, true), decode(value, true)))
}

/// Reads a parameter that selects records. Returns false if it is another parameter.
fn select(query: &mut Query, name: &str, value: &str) -> Result<bool, Refusal> {
    match name {
        "where" => query.conditions.push(value.to_owned()),
        "zone" => query.zone = Some(value.to_owned()),
        "kind" => query.kind = Some(kind(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Reads a period in the notation of ISO 8601, `SINCE/UNTIL`. Either end may be empty, and the
/// slash may be left out after `SINCE`.
fn period(text: &str) -> Compare {
    let (since, until) = text.split_once('/').unwrap_or((text, ""));
    let [since, until] = [since, until].map(|end| (!end.is_empty()).then(|| end.to_owned()));
    Compare { since, until }
}

fn kind(name: &str) -> Result<RecordKind, Refusal> {
    let invalid = || {
        Refusal::BadRequest(format!(
            "`{name}` is not a valid kind of records; write request, error_log_line or \
             firewall_event"
        ))
    };
    RecordKind::by_name(name).ok_or_else(invalid)
}

fn number(name: &str, value: &str) -> Result<u32, Refusal> {
    let invalid = |_| {
        Refusal::BadRequest(format!(
            "`{value}` is not a valid value of `{name}`; write a number from 0 to {}",
            u32::MAX
        ))
    };
    value.parse().map_err(invalid)
}

/// Decodes percent encoding (RFC 3986 section 2.1), and plus signs as spaces if
/// `plus_is_space`. Bytes that are not valid UTF-8 become U+FFFD.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> String {
    String::from_utf8(bytes_of(text, plus_is_space))
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the bytes of a text with percent encoding, as [`decode`].
fn bytes_of(text: &str, plus_is_space: bool) -> Vec<u8> {
    match plus_is_space {
        true => percent_decode(text.replace('+', " ").as_bytes()).into_owned(),
        false => percent_decode(text.as_bytes()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use weir_query::ExportFormat;
    use weir_view::{Compare, Query, RecordKind};

    use super::{ExportParameters, ReportParameters, decode, export, report};
    use crate::export_form::Form;
    use crate::refusal::Refusal;

    fn query(text: Option<&str>) -> Result<Query, Refusal> {
        report(text).map(|read| read.query)
    }

    #[test]
    fn decodes_percent_encoding() {
        assert_eq!(decode("a%20b+c%2B%2", true), "a b c+%2");
        assert_eq!(decode("a+b%zz%C3%A9%ff", false), "a+b%zzé\u{FFFD}");
    }

    #[test]
    fn reads_queries() {
        let read = query(Some("where=path%3D%2Fa%26b&where=status~^5&top=3&zone=%2B01:00"));
        let conditions = vec!["path=/a&b".to_owned(), "status~^5".to_owned()];
        let expected =
            Query { conditions, top: 3, zone: Some("+01:00".to_owned()), ..Query::default() };
        assert_eq!(read, Ok(expected));
        assert_eq!(query(None), Ok(Query::default()));
        let grouped = Query { group: Some("host".to_owned()), ..Query::default() };
        assert_eq!(query(Some("group=host")), Ok(grouped.clone()));
        let measured = Query {
            measures: vec!["clients".to_owned(), "p95".to_owned()],
            sort: Some("p95".to_owned()),
            min: 100,
            ..grouped
        };
        let text = "group=host&measures=clients,p95&sort=p95&min=100";
        assert_eq!(query(Some(text)), Ok(measured));
        let of_kind = Query { kind: Some(RecordKind::ErrorLogLine), ..Query::default() };
        for kind in ["kind=error_log_line", "kind=error-log-line"] {
            assert_eq!(query(Some(kind)), Ok(of_kind.clone()), "{kind}");
        }
        for (text, is_html) in [("", false), ("format=json", false), ("format=html", true)] {
            let read = ReportParameters { query: Query::default(), is_html };
            assert_eq!(report(Some(text)), Ok(read), "{text}");
        }
        for wrong in [
            "format=csv",
            "format=html&format=json",
            "top=x",
            "nothing=1",
            "kind=errors",
            "top=3&top=3",
            "zone=UTC&where=a&zone=%2B01:00",
            "where=path%3D%FF",
            "%FF=1",
            "stack=%C3",
        ] {
            assert!(query(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_export_names_its_format_and_what_selects_records() {
        let ExportParameters { query: read, form, columns } =
            export(Some("where=a&format=jsonl&kind=request&zone=UTC&columns=time,path"))
                .expect("valid");
        assert_eq!(columns, ["time", "path"]);
        let (kind, zone) = (Some(RecordKind::Request), Some("UTC".to_owned()));
        let conditions = vec!["a".to_owned()];
        assert_eq!(read, Query { conditions, kind, zone, ..Query::default() });
        assert_eq!(form, Some(Form::Fields(ExportFormat::JsonLines)));
        assert_eq!(export(Some("where=a&where=b")).map(|it| it.form), Ok(None));
        for wrong in ["format=xml", "format=csv&top=3", "format=csv&format=jsonl"] {
            assert!(export(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn either_end_of_a_period_may_be_missing() {
        let period = |since: Option<&str>, until: Option<&str>| {
            let [since, until] = [since, until].map(|end| end.map(str::to_owned));
            Query { compare: Some(Compare { since, until }), ..Query::default() }
        };
        for (text, expected) in [
            ("compare=", period(None, None)),
            ("compare=/", period(None, None)),
            ("compare=-7d", period(Some("-7d"), None)),
            ("compare=-7d/", period(Some("-7d"), None)),
            ("compare=/2025-12-17", period(None, Some("2025-12-17"))),
            ("compare=2025-12-16%2Fnow", period(Some("2025-12-16"), Some("now"))),
        ] {
            assert_eq!(query(Some(text)), Ok(expected), "{text}");
        }
    }
}
