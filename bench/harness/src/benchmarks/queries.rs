//! The queries of the benchmark `filter`.

use serde_json::{Value, json};

/// Clauses of docs/protocol.md, joined by *and*.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query {
    /// A short description.
    pub(crate) name: String,
    pub(crate) clauses: Vec<Value>,
}

impl Query {
    fn new(name: &str, clauses: &[&Value]) -> Self {
        let clauses = clauses.iter().copied().cloned().collect();
        Self { name: name.to_owned(), clauses }
    }
}

/// Queries of many kinds, which keep few rows or most, for a log of the generator with this
/// unfiltered report. `None` if the report lacks the values.
pub(crate) fn queries(report: &Value) -> Option<Vec<Query>> {
    let parts = Parts::of(report)?;
    Some(vec![
        Query::new("status = 404", &[&parts.not_found]),
        Query::new("status is 5xx", &[&parts.server_errors]),
        Query::new("method = GET", &[&parts.get]),
        Query::new("method != GET", &[&parts.not_get]),
        Query::new("client in a block", &[&parts.block]),
        Query::new("path ~ products", &[&parts.products]),
        Query::new("user_agent ~ bot", &[&parts.bots]),
        Query::new("a quarter of the time", &[&parts.from, &parts.to]),
        Query::new("404 by bots", &[&parts.not_found, &parts.bots]),
        Query::new("one path", &[&parts.path]),
    ])
}

/// The same clauses in the order of a session: each query is a small change of the one before.
pub(crate) fn session(report: &Value) -> Option<Vec<Query>> {
    let parts = Parts::of(report)?;
    let Parts { not_found, server_errors, get, not_get, bots, from, to, path, .. } = &parts;
    Some(vec![
        Query::new("404", &[not_found]),
        Query::new("404, bots", &[not_found, bots]),
        Query::new("bots", &[bots]),
        Query::new("bots, a quarter of the time", &[bots, from, to]),
        Query::new("a quarter of the time", &[from, to]),
        Query::new("a quarter of the time, 5xx", &[from, to, server_errors]),
        Query::new("5xx", &[server_errors]),
        Query::new("5xx, GET", &[server_errors, get]),
        Query::new("GET", &[get]),
        Query::new("GET, one path", &[get, path]),
        Query::new("one path", &[path]),
        Query::new("one path, not GET", &[path, not_get]),
        Query::new("not GET", &[not_get]),
    ])
}

/// The clauses.
struct Parts {
    not_found: Value,
    server_errors: Value,
    get: Value,
    not_get: Value,
    block: Value,
    products: Value,
    bots: Value,
    from: Value,
    to: Value,
    path: Value,
}

impl Parts {
    fn of(report: &Value) -> Option<Self> {
        let buckets = report["histogram"]["buckets"].as_array()?;
        let start = |quarter: usize| buckets.get(buckets.len() * quarter / 4)?["start"].as_str();
        let clients = report["top"]["client"].as_array()?;
        let mut addresses = clients.iter().filter_map(|row| row["value"].as_str());
        let address = addresses.find(|address| address.parse::<std::net::Ipv4Addr>().is_ok())?;
        let block = format!("{}.0.0.0/8", address.split('.').next()?);
        let clause = |field: &str, operator: &str, values: &[&str]| json!({"field": field, "op": operator, "values": values});
        Some(Self {
            not_found: clause("status", "=", &["404"]),
            server_errors: clause("status", "=", &["500", "502", "503", "504"]),
            get: clause("method", "=", &["GET"]),
            not_get: clause("method", "!=", &["GET"]),
            block: clause("client", "=", &[&block]),
            products: clause("path", "~", &["^/products/.*[0-9]{3}"]),
            bots: clause("user_agent", "~", &["(?i)bot|crawl|spider"]),
            from: clause("time", ">=", &[start(1)?]),
            to: clause("time", "<", &[start(2)?]),
            path: clause("path", "=", &[report["top"]["path"][1]["value"].as_str()?]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{queries, session};
    use serde_json::json;

    #[test]
    fn conditions_are_taken_from_the_log() {
        let bucket = |hour: u32| json!({"start": format!("2026-11-02T{hour:02}:00:00Z")});
        let report = json!({
            "histogram": {"buckets": (0..8).map(bucket).collect::<Vec<_>>()},
            "top": {
                "client": [{"value": "2001:db8::1"}, {"value": "38.20.223.38"}],
                "path": [{"value": "/"}, {"value": "/search"}],
            },
        });
        let queries = queries(&report).unwrap();
        let texts: Vec<String> =
            queries.iter().map(|query| json!(query.clauses).to_string()).collect();
        assert!(texts.iter().any(|text| text.contains("38.0.0.0/8")));
        assert!(
            texts.iter().any(|text| text.contains("T02:00:00Z") && text.contains("T04:00:00Z"))
        );
        assert!(texts.iter().any(|text| text.contains("/search")));
        // Each query of a session has a clause of the query before.
        for pair in session(&report).unwrap().windows(2) {
            let shared = pair[0].clauses.iter().any(|clause| pair[1].clauses.contains(clause));
            assert!(shared, "{} -> {}", pair[0].name, pair[1].name);
        }
        assert_eq!(super::queries(&json!({})), None);
    }
}
