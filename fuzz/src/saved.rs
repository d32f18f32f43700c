//! Saved data sets, as a stranger may have written them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_ingest::{DataSet, Retention};
use weir_query::{Evaluator, ParsedQuery};
use weir_store::reseal;
use weir_view::Query;

/// A data set from a file: it is refused, or it can be reported on and saved again, and is then the
/// same.
pub(crate) fn saved(bytes: &[u8]) {
    // Any bytes, and those that a checksum does not stop.
    load(bytes);
    let mut bytes = bytes.to_vec();
    reseal(&mut bytes);
    let Some(data) = load(&bytes) else { return };
    let report = report(&data);
    let mut again = Vec::new();
    data.save(&mut again).expect("memory has room");
    let again = load(&again).expect("it was just saved");
    assert_eq!(report, self::report(&again));
}

fn load(bytes: &[u8]) -> Option<Arc<DataSet>> {
    let data = DataSet::new(Retention::Segments, 1 << 24, &[]);
    data.load(bytes).ok().map(|()| data)
}

/// The report as JSON.
fn report(data: &Arc<DataSet>) -> String {
    let query = ParsedQuery::parse(&Query::default()).expect("there are no conditions");
    let mut evaluator = Evaluator::new(data.clone(), query, 1).expect("the default");
    let answer = evaluator.answer(&AtomicBool::new(false)).expect("nothing stops it");
    weir_view::to_json(&answer.report).expect("it is plain data")
}
