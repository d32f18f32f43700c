//! The tests of the gateway with services of other implementations: gRPC and WebSockets.

use crate::python;
use crate::shell::{Outcome, execute_and_keep, ignored_tests};
use crate::summary::Summary;

/// The test that is skipped where the services cannot be installed.
const SKIPPED: &str = "gRPC and WebSockets: 1 test skipped, because pip cannot install them";

/// Lets clients ask services through the gateway, all of them by grpcio and websockets.
pub(crate) fn test() -> Outcome<Vec<String>> {
    match python::environment_with("services", &["grpcio", "websockets"], &["grpc", "websockets"]) {
        Ok(python) => {
            let mut test = ignored_tests("weir-gateway", "services::");
            execute_and_keep(test.env("SERVICES_PYTHON", python), Summary::is_closing_line)
        }
        Err(error) => {
            println!("{error}");
            Ok(vec![SKIPPED.to_owned()])
        }
    }
}
