//! The tests of tokens, with another implementation as their issuer.

use crate::python;
use crate::shell::{Outcome, command, execute_and_keep};
use crate::summary::Summary;

/// The test that is skipped where PyJWT cannot be installed.
const SKIPPED: &str = "PyJWT: 1 test skipped, because pip cannot install it";

/// Verifies tokens that PyJWT has signed.
pub(crate) fn test() -> Outcome<Vec<String>> {
    match python::environment_with("pyjwt", &["PyJWT", "cryptography"], &["jwt", "cryptography"]) {
        Ok(python) => {
            let suite = ["test", "--quiet", "--package", "weir-gateway", "--test", "token"];
            let mut test = command("cargo", &suite);
            test.args(["--", "--ignored", "pyjwt::"]).env("PYJWT_PYTHON", python);
            execute_and_keep(&mut test, Summary::is_closing_line)
        }
        Err(error) => {
            println!("{error}");
            Ok(vec![SKIPPED.to_owned()])
        }
    }
}
