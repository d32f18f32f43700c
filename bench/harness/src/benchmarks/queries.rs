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

/// Queries for a log of the generator.
pub(crate) struct Queries {
    /// Queries of many kinds, which keep few rows or most.
    pub(crate) single: Vec<Query>,
    /// The same clauses in the order of a session: each query is a small change of the one before.
    pub(crate) session: Vec<Query>,
}

impl Queries {
    /// The queries for a log with this unfiltered report. `None` if the report lacks the values.
    pub(crate) fn of(report: &Value) -> Option<Self> {
        let buckets = report["histogram"]["buckets"].as_array()?;
        let start = |quarter: usize| buckets.get(buckets.len() * quarter / 4)?["start"].as_str();
        let clients = report["top"]["client"].as_array()?;
        let mut addresses = clients.iter().filter_map(|row| row["value"].as_str());
        let address = addresses.find(|address| address.parse::<std::net::Ipv4Addr>().is_ok())?;
        let clause = |field: &str, operator: &str, values: &[&str]| json!({"field": field, "op": operator, "values": values});
        let not_found = &clause("status", "=", &["404"]);
        let server_errors = &clause("status", "=", &["500", "502", "503", "504"]);
        let get = &clause("method", "=", &["GET"]);
        let not_get = &clause("method", "!=", &["GET"]);
        let block = &clause("client", "=", &[&format!("{}.0.0.0/8", address.split('.').next()?)]);
        let products = &clause("path", "~", &["^/products/.*[0-9]{3}"]);
        let bots = &clause("user_agent", "~", &["(?i)bot|crawl|spider"]);
        let from = &clause("time", ">=", &[start(1)?]);
        let to = &clause("time", "<", &[start(2)?]);
        let path = &clause("path", "=", &[report["top"]["path"][1]["value"].as_str()?]);
        let single = vec![
            Query::new("status = 404", &[not_found]),
            Query::new("status is 5xx", &[server_errors]),
            Query::new("method = GET", &[get]),
            Query::new("method != GET", &[not_get]),
            Query::new("client in a block", &[block]),
            Query::new("path ~ products", &[products]),
            Query::new("user_agent ~ bot", &[bots]),
            Query::new("a quarter of the time", &[from, to]),
            Query::new("404 by bots", &[not_found, bots]),
            Query::new("one path", &[path]),
        ];
        let session = vec![
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
        ];
        Some(Self { single, session })
    }
}

#[cfg(test)]
mod tests {
    use super::Queries;
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
        let queries = Queries::of(&report).unwrap();
        let texts: Vec<String> =
            queries.single.iter().map(|query| json!(query.clauses).to_string()).collect();
        assert!(texts.iter().any(|text| text.contains("38.0.0.0/8")));
        assert!(
            texts.iter().any(|text| text.contains("T02:00:00Z") && text.contains("T04:00:00Z"))
        );
        assert!(texts.iter().any(|text| text.contains("/search")));
        // Each query of a session has a clause of the query before.
        for pair in queries.session.windows(2) {
            let shared = pair[0].clauses.iter().any(|clause| pair[1].clauses.contains(clause));
            assert!(shared, "{} -> {}", pair[0].name, pair[1].name);
        }
        assert!(Queries::of(&json!({})).is_none());
    }
}
