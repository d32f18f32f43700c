//! Tests that all metrics in the dashboards of `docs` exist.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_inside::{METRICS, MetricKind};

use crate::documentation::read;

/// The dashboards: of the program and of the requests in a log.
const DASHBOARDS: [&str; 2] = ["grafana-dashboard.json", "grafana-requests.json"];

fn dashboard(name: &str) -> Value {
    serde_json::from_str(&read(name)).expect("JSON")
}

/// The names of all samples.
fn samples() -> BTreeSet<String> {
    let names = METRICS.iter().flat_map(|metric| match metric.kind {
        MetricKind::Histogram => {
            ["bucket", "sum", "count"].map(|part| format!("{}_{part}", metric.name)).to_vec()
        }
        _ => vec![metric.full_name()],
    });
    names.collect()
}

fn expressions<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("expr").and_then(Value::as_str));
            members.values().for_each(|member| expressions(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[test]
fn the_dashboards_ask_for_metrics_that_exist() {
    let dashboards = DASHBOARDS.map(dashboard);
    let mut found = Vec::new();
    for dashboard in &dashboards {
        let before = found.len();
        expressions(dashboard, &mut found);
        assert!(found.len() >= before + 10, "{found:?}");
    }
    let samples = samples();
    for expression in found {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = expression.split(|c| !is_name(c));
        let mut names =
            words.filter(|it| it.starts_with("weir_") || it.starts_with("process_")).peekable();
        assert!(names.peek().is_some(), "{expression}");
        for name in names {
            assert!(samples.contains(name), "{name} in {expression}");
        }
    }
}

#[test]
fn panels_do_not_overlap() {
    for dashboard in DASHBOARDS.map(dashboard) {
        let mut taken = BTreeSet::new();
        for panel in dashboard["panels"].as_array().expect("panels") {
            let side = |name: &str| panel["gridPos"][name].as_u64().expect("a number");
            let (x, y) = (side("x"), side("y"));
            assert!(x + side("w") <= 24, "{}", panel["title"]);
            for column in x..x + side("w") {
                for row in y..y + side("h") {
                    assert!(taken.insert((column, row)), "{}", panel["title"]);
                }
            }
        }
    }
}
