//! The tests of metrics, with the parser of Prometheus' own client library.

use crate::python;
use crate::shell::{Outcome, execute_and_keep, ignored_tests};
use crate::summary::Summary;

/// The test that is skipped where prometheus-client cannot be installed.
const SKIPPED: &str = "prometheus-client: 1 test skipped, because pip cannot install it";

/// Reads the metrics of a gateway in both formats.
pub(crate) fn test() -> Outcome<Vec<String>> {
    let module = "prometheus_client";
    match python::environment_with("prometheus", &["prometheus-client"], &[module]) {
        Ok(python) => {
            let mut test = ignored_tests("weir", "metrics::");
            test.env("PROMETHEUS_PYTHON", python);
            execute_and_keep(&mut test, Summary::is_closing_line)
        }
        Err(error) => {
            println!("{error}");
            Ok(vec![SKIPPED.to_owned()])
        }
    }
}
