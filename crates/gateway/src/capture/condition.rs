//! Conditions on captured requests.

use weir_core::{Condition, ConditionError, Filter, Record, RecordLayout, RecordPredicate, Values};
use weir_observe::capture::CaptureError;

/// A condition on the record of a request, in the language of `docs/conditions.md`.
#[derive(Debug)]
pub(crate) struct RequestCondition(RecordPredicate<'static>);

impl RequestCondition {
    /// Parses a condition on records of a layout.
    ///
    /// # Errors
    /// If the condition is not valid.
    pub(crate) fn read(text: &str, layout: &RecordLayout) -> Result<Self, CaptureError> {
        let wrong = |error: ConditionError| {
            CaptureError::Condition(format!("{}\n{}", error.message, error.excerpt(text)))
        };
        let mut columns = Values::new(0);
        for name in layout.extra_fields() {
            columns.add_text_column(name);
        }
        // A condition on the time makes no sense: the request is in the future.
        let no_times = |_: &str| Err("leave out the time: the request is yet to come".to_owned());
        let condition = Condition::parse(text).map_err(wrong)?;
        let filter = Filter::of(vec![condition.clause(&columns, &no_times).map_err(wrong)?]);
        let fields = layout.format().record_fields();
        let predicate = RecordPredicate::of_fields(&filter, &columns, &fields);
        Ok(Self(predicate.to_static()))
    }

    /// Whether the record of a request meets the condition.
    pub(crate) fn accepts(&self, record: &Record<'_>) -> bool {
        self.0.accepts(record)
    }
}
