//! What the screen asks of the data set.

use weir_core::{Condition, ConditionOperator, FieldCondition};
use weir_query::{Now, WrittenQuery};
use weir_view::{Query, RecordKind, RowValue};

/// Which records the screen is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Conditions as a person writes them, joined by *and*.
    pub(super) conditions: Vec<String>,
    /// The part of the time that the chart was zoomed to.
    pub(super) period: Option<ZoomedPeriod>,
    /// `None` for the main kind.
    pub(super) kind: Option<RecordKind>,
}

/// A part of the time, from the start of a bar to the start of another. Both are RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZoomedPeriod {
    pub(super) since: String,
    /// `None` if it ends with the log.
    pub(super) until: Option<String>,
}

/// What the screen shows of the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    Overview,
    /// What a client did, in the whole log. The condition selects it.
    Story(String),
    /// Up to `count` lines after the first `from`.
    Lines {
        of: LinesOf,
        from: u64,
        count: usize,
    },
    /// What the rules of the arguments would have done, and what tripped the rules in force.
    Rules,
}

/// Which lines are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinesOf {
    Selection,
    /// Those of a client, in the whole log. The condition selects it.
    Client(String),
}

/// A question, which has an answer for each state of the data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) about: About,
    pub(super) selection: Selection,
    pub(super) zone: Option<String>,
    pub(super) stack: String,
    pub(super) buckets: u32,
    /// Whether it is answered again when the data has changed.
    pub(super) is_live: bool,
}

/// The rows that are asked for in each list. Nobody scrolls further.
const TOP: u32 = 200;

impl Selection {
    /// The texts of all conditions, including those on the time.
    fn all_conditions(&self) -> Vec<String> {
        let mut all = self.conditions.clone();
        if let Some(ZoomedPeriod { since, until }) = &self.period {
            all.push(on_time(ConditionOperator::GreaterOrEqual, since));
            all.extend(until.iter().map(|until| on_time(ConditionOperator::Less, until)));
        }
        all
    }
}

impl Question {
    /// The question as a query, with its texts parsed.
    ///
    /// # Errors
    /// With a sentence, if a text is not valid.
    pub(super) fn query(&self) -> Result<WrittenQuery, String> {
        let conditions = match &self.about {
            About::Story(client) | About::Lines { of: LinesOf::Client(client), .. } => {
                vec![client.clone()]
            }
            About::Overview | About::Lines { .. } | About::Rules => self.selection.all_conditions(),
        };
        let query = Query {
            conditions,
            zone: self.zone.clone(),
            top: TOP,
            stack: self.stack.clone(),
            buckets: self.buckets,
            kind: self.selection.kind,
            ..Query::default()
        };
        WrittenQuery::parse(&query, Now::read()).map_err(|error| error.to_string())
    }
}

fn on_time(operator: ConditionOperator, time: &str) -> String {
    spelled("time", operator, time.as_bytes())
}

/// The condition that a value of a list is met, or is not met. `None` for the remainder, which no
/// condition selects.
pub(super) fn condition_on(field: &str, value: &RowValue, is_met: bool) -> Option<String> {
    if value.is_remainder {
        return None;
    }
    let operator = if is_met { ConditionOperator::Equal } else { ConditionOperator::NotEqual };
    let word =
        |word: &str| Some(spelled(field, operator, b"x").strip_suffix('x')?.to_owned() + word);
    match (value.is_absent, &*value.bytes()) {
        (true, _) => word("(none)"),
        (false, b"") => word("(empty)"),
        (false, bytes) => Some(spelled(field, operator, bytes)),
    }
}

/// A condition on a field, with quotation marks only if the value needs them.
pub(super) fn spelled(field: &str, operator: ConditionOperator, value: &[u8]) -> String {
    let condition = Condition::from(FieldCondition::of_bytes(field, operator, [value.to_vec()]));
    let text = condition.to_string();
    let sign_end = text.find(operator.sign()).unwrap_or(0) + operator.sign().len();
    let plain = String::from_utf8_lossy(value);
    let plain = Condition::parse(&format!("{}{plain}", &text[..sign_end]));
    plain.ok().filter(|plain| *plain == condition).map_or(text, |plain| plain.to_string())
}

#[cfg(test)]
mod tests {
    use weir_core::Condition;
    use weir_view::RowValue;

    use super::condition_on;

    #[test]
    fn values_become_conditions_that_can_be_read() {
        let condition = |field: &str, bytes: &[u8], is_met| {
            let text = condition_on(field, &RowValue::new(bytes, false), is_met).expect("a value");
            assert_eq!(Condition::parse(&text).expect("a condition").to_string(), text);
            text
        };
        assert_eq!(condition("status", b"404", true), "status=404");
        assert_eq!(condition("client", b"192.0.2.7", false), "client!=192.0.2.7");
        assert_eq!(condition("path", b"/a", true), "path=/a");
        assert_eq!(condition("path", b"/a b", true), "path=\"/a b\"");
        assert_eq!(condition("a=b", b"\xff\"", true), "\"a=b\"=\"\\xff\\\"\"");
        assert_eq!(condition("path", b"", true), "path=(empty)");
        assert_eq!(condition_on("user", &RowValue::absent(), false).unwrap(), "user!=(none)");
        assert_eq!(condition_on("user", &RowValue::new(b"", true), true), None);
    }
}
