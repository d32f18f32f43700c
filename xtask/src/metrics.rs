//! The tests of metrics, with the parser of Prometheus' own client library.

use crate::python;
use crate::shell::{Outcome, ignored_tests};
use crate::summary;

/// The test that is skipped where prometheus-client cannot be installed.
const SKIPPED: &str = "prometheus-client: 1 test skipped, because pip cannot install it";

/// Reads the metrics of a gateway in both formats.
pub(crate) fn test() -> Outcome<Vec<String>> {
    let module = "prometheus_client";
    match python::environment_with("prometheus", &["prometheus-client"], &[module]) {
        Ok(python) => {
            let mut test = ignored_tests("integration", "metrics::");
            test.env("PROMETHEUS_PYTHON", python);
            summary::run_tests(&mut test)
        }
        Err(error) => {
            println!("{error}");
            Ok(vec![SKIPPED.to_owned()])
        }
    }
}
