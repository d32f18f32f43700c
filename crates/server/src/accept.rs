//! The media types that a client accepts (RFC 9110 section 12.5.1).

use hyper::HeaderMap;
use hyper::header::ACCEPT;
use weir_net::Preference;

use crate::export_form::Form;
use crate::refusal::Refusal;

/// The media type of reports.
pub(crate) const JSON: &str = "application/json";

/// The media type of reports for people.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// The weight of a media range without one, in thousandths.
const WEIGHT_MAX: u16 = 1_000;

/// Checks that the client accepts a media type, whose parameters are not compared.
pub(crate) fn check(headers: &HeaderMap, media_type: &str) -> Result<(), Refusal> {
    let name = media_type.split(';').next().unwrap_or_default();
    match Accepted::read(headers).weight(name) {
        0 => Err(Refusal::NotAcceptable(name.to_owned())),
        _ => Ok(()),
    }
}

/// Returns the form of an export. A named form must be acceptable. Without a name, the client
/// prefers one; a range that matches every form prefers none.
pub(crate) fn choose_form(headers: &HeaderMap, named: Option<Form>) -> Result<Form, Refusal> {
    let accepted = Accepted::read(headers);
    if let Some(form) = named {
        return match accepted.weight(form.media_type()) {
            0 => Err(Refusal::NotAcceptable(form.media_type().to_owned())),
            _ => Ok(form),
        };
    }
    let mut best = None;
    for form in Form::ALL {
        let weight = accepted.weight_by_name(form.media_type()).unwrap_or(0);
        if weight > best.map_or(0, |(weight, _)| weight) {
            best = Some((weight, form));
        }
    }
    match best {
        Some((_, form)) => Ok(form),
        None if Form::ALL.iter().any(|form| accepted.weight(form.media_type()) > 0) => {
            Err(Refusal::BadRequest(
                "the format is missing; add format=csv or another one, or accept one media type"
                    .to_owned(),
            ))
        }
        None => Err(Refusal::NotAcceptable(Form::ALL.map(Form::media_type).join(", "))),
    }
}

/// The media ranges of a request, each with its weight in thousandths.
struct Accepted<'h>(Vec<(&'h str, u16)>);

impl<'h> Accepted<'h> {
    fn read(headers: &'h HeaderMap) -> Self {
        let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
        // An invalid weight counts as 1: a client that names a type can read it, and a refusal
        // would not help it. Old versions of Java send `*/*; q=.2`.
        let items = lines.flat_map(Preference::list);
        let ranges = items.map(|item| (item.name, item.weight(WEIGHT_MAX)));
        Self(ranges.filter(|(range, _)| range.contains('/')).collect())
    }

    /// Returns the weight of a media type. Without any range, every type is accepted.
    fn weight(&self, media_type: &str) -> u16 {
        let any = || self.find(|range| range == "*/*");
        let default = if self.0.is_empty() { WEIGHT_MAX } else { 0 };
        self.weight_by_name(media_type).or_else(any).unwrap_or(default)
    }

    /// Returns the weight of the range that names a media type, or its first part.
    fn weight_by_name(&self, media_type: &str) -> Option<u16> {
        let essence = media_type.split(';').next().unwrap_or_default();
        let group = essence.split('/').next().unwrap_or_default();
        let is_group = |range: &str| {
            range.strip_suffix("/*").is_some_and(|name| name.eq_ignore_ascii_case(group))
        };
        self.find(|range| range.eq_ignore_ascii_case(essence)).or_else(|| self.find(is_group))
    }

    /// Returns the largest weight of the matching ranges.
    fn find(&self, matches: impl Fn(&str) -> bool) -> Option<u16> {
        self.0.iter().filter(|(range, _)| matches(range)).map(|(_, weight)| *weight).max()
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{ACCEPT, HeaderValue};
    use weir_query::ExportFormat;

    use super::{HTML, JSON, check, choose_form};
    use crate::export_form::Form;

    const CSV: Form = Form::Fields(ExportFormat::Csv);
    const JSON_LINES: Form = Form::Fields(ExportFormat::JsonLines);
    const PARQUET: Form = Form::Fields(ExportFormat::Parquet);

    fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT, HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    #[test]
    fn a_page_is_sent_to_browsers() {
        for (line, is_accepted) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("*/*", true),
            ("application/json", false),
        ] {
            assert_eq!(check(&headers(&[line]), HTML).is_ok(), is_accepted, "{line}");
        }
    }

    #[test]
    fn json_is_sent_to_those_that_accept_it() {
        for (lines, is_accepted) in [
            (&[][..], true),
            (&[""], true),
            (&["*/*"], true),
            (&["text/html, Application/JSON"], true),
            (&["text/html", "application/*;q=0.001"], true),
            (&["text/html"], false),
            (&["*/*;q=0"], false),
            (&["*/*, application/json;q=0"], false),
            (&["application/*, application/json; charset=utf-8 ; Q=0.0"], false),
            (&["application/json;q=2"], true),
            (&["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"], true),
        ] {
            assert_eq!(check(&headers(lines), JSON).is_ok(), is_accepted, "{lines:?}");
        }
    }

    #[test]
    fn the_name_of_a_form_wins_if_it_is_acceptable() {
        for (line, named, chosen) in [
            ("text/csv", None, Ok(CSV)),
            ("text/csv;q=0.5, application/vnd.apache.parquet", None, Ok(PARQUET)),
            ("text/*", None, Ok(CSV)),
            ("text/plain, text/csv;q=0.9", None, Ok(Form::Lines)),
            ("application/*, application/vnd.apache.parquet;q=0.1", None, Ok(JSON_LINES)),
            ("text/csv;q=0, text/*", None, Ok(Form::Lines)),
            ("text/html,*/*;q=0.8", None, Err("bad_request")),
            ("*/*", None, Err("bad_request")),
            ("text/html", None, Err("not_acceptable")),
            ("text/html", Some(CSV), Err("not_acceptable")),
            ("text/html,*/*;q=0.8", Some(PARQUET), Ok(PARQUET)),
            ("text/csv", Some(JSON_LINES), Err("not_acceptable")),
            ("*/*, text/csv;q=0", Some(CSV), Err("not_acceptable")),
        ] {
            let form = choose_form(&headers(&[line]), named).map_err(|refusal| refusal.name());
            assert_eq!(form, chosen, "{line} {named:?}");
        }
        assert_eq!(choose_form(&HeaderMap::new(), Some(CSV)), Ok(CSV));
        assert!(choose_form(&HeaderMap::new(), None).is_err());
    }
}
