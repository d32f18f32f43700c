//! The tests of tokens, with another implementation as their issuer.

use crate::python;
use crate::shell::{Outcome, ignored_tests};
use crate::summary;

/// The test that is skipped where PyJWT cannot be installed.
const SKIPPED: &str = "PyJWT: 1 test skipped, because pip cannot install it";

/// Verifies tokens that PyJWT has signed.
pub(crate) fn test() -> Outcome<Vec<String>> {
    match python::environment_with("pyjwt", &["PyJWT", "cryptography"], &["jwt", "cryptography"]) {
        Ok(python) => {
            let mut test = ignored_tests("token", "pyjwt::");
            test.env("PYJWT_PYTHON", python);
            summary::run_tests(&mut test)
        }
        Err(error) => {
            println!("{error}");
            Ok(vec![SKIPPED.to_owned()])
        }
    }
}
