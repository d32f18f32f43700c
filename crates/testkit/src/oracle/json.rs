//! The report as the JSON object of `weir report --json`, without the keys that are not computed.

use serde_json::{Map, Value, json};

use super::calendar::rfc3339;
use super::report::{Oracle, Row};

impl Oracle {
    /// The object, with top lists of `rows`, a histogram in steps of `step_s` seconds, and local
    /// times `offset_s` seconds ahead of UTC. It omits fields that no record has.
    ///
    /// # Panics
    ///
    /// Like [`Oracle::histogram`].
    pub fn to_json(&self, rows: usize, step_s: u64, offset_s: i64) -> Value {
        let (mut distinct, mut top) = (Map::new(), Map::new());
        for field in self.fields() {
            distinct.insert(field.to_owned(), self.distinct(field).into());
            let list: Vec<Value> = self.top(field, rows).iter().map(row).collect();
            top.insert(field.to_owned(), list.into());
        }
        let (first, last) = self.time_s().map_or((None, None), |(first, last)| {
            (Some(rfc3339(first, offset_s)), Some(rfc3339(last, offset_s)))
        });
        json!({
            "lines": self.lines,
            "records": self.records_read,
            "matching": self.records.len(),
            "empty_lines": self.empty_lines,
            "unparsed_lines": self.unparsed_lines,
            "too_long_lines": self.too_long_lines,
            "bytes_read": self.bytes_read,
            "bytes_sent": self.bytes_sent(),
            "errors": self.errors(),
            "time": { "first": first, "last": last },
            "histogram": self.histogram_json(step_s, offset_s),
            "distinct": distinct,
            "top": top,
        })
    }

    fn histogram_json(&self, step_s: u64, offset_s: i64) -> Value {
        let buckets = self.histogram(step_s, offset_s);
        let Some(last) = buckets.last() else { return Value::Null };
        let until = rfc3339(last.start_s + step_s as i64, offset_s);
        let buckets: Vec<Value> = buckets
            .iter()
            .map(|bucket| {
                let start = rfc3339(bucket.start_s, offset_s);
                json!({ "start": start, "count": bucket.count, "by": bucket.by })
            })
            .collect();
        json!({ "step_s": step_s, "field": "status_class", "until": until, "buckets": buckets })
    }
}

/// One row of a top list. Bytes that are not valid UTF-8 are replaced; then the value in
/// hexadecimal is added.
fn row(row: &Row) -> Value {
    let mut object = json!({
        "value": String::from_utf8_lossy(&row.value),
        "count": row.count,
        "bytes_sent": row.bytes_sent,
        "errors": row.errors,
    });
    if std::str::from_utf8(&row.value).is_err() {
        let hex: String = row.value.iter().map(|byte| format!("{byte:02x}")).collect();
        object["value_hex"] = hex.into();
    }
    object
}
