//! The tests of the gateway with services of other implementations: gRPC and WebSockets.

use crate::python;
use crate::shell::{Outcome, ignored_tests};
use crate::summary;

/// The test that is skipped where the services cannot be installed.
const SKIPPED: &str = "gRPC and WebSockets: 1 test skipped, because pip cannot install them";

/// Sends requests through the gateway; clients and services use grpcio and websockets.
pub(crate) fn test() -> Outcome<Vec<String>> {
    match python::environment_with("services", &["grpcio", "websockets"], &["grpc", "websockets"]) {
        Ok(python) => {
            let mut test = ignored_tests("integration", "services::");
            summary::run_tests(test.env("SERVICES_PYTHON", python))
        }
        Err(error) => {
            println!("{error}");
            Ok(vec![SKIPPED.to_owned()])
        }
    }
}
