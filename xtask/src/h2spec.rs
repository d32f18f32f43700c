//! h2spec in strict mode: 146 cases of RFC 9113 and RFC 7541 against a server.

use std::path::{Path, PathBuf};

use crate::shell::{Outcome, command, execute, is_installed, root, target_folder};

/// The program as Go names it.
const MODULE: &str = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible";

/// Builds the program if it is missing and there is Go. Prints why it could not.
///
/// # Errors
/// None: the tests with it are skipped then.
pub(crate) fn install() -> Outcome {
    if let Err(error) = installed() {
        println!("{error}");
    }
    Ok(())
}

/// The program of this machine, or else one that Go builds into a folder of its own.
///
/// # Errors
/// If it is not installed and cannot be.
pub(crate) fn installed() -> Outcome<PathBuf> {
    if is_installed("h2spec") {
        return Ok("h2spec".into());
    }
    let folder = root().join(target_folder()).join("h2spec");
    let program = folder.join("h2spec");
    if !program.exists() {
        execute(command("go", &["install", MODULE]).env("GOBIN", &folder))
            .map_err(|error| format!("h2spec is not installed and cannot be: {error}"))?;
    }
    Ok(program)
}

/// How long h2spec waits for each frame, in seconds. Its default of 2 s is too short for a busy
/// machine. A case that passes ends with a frame or the end of the connection, so it never waits
/// for the whole time.
const TIMEOUT_S: &str = "20";

/// Runs all cases against a `tls://` address, and returns h2spec's own summary line.
///
/// # Errors
/// With h2spec's report if a case fails or is skipped.
pub(crate) fn run(h2spec: &Path, host: &str) -> Outcome<String> {
    let port = host.rsplit(':').next().unwrap_or_default();
    let options = ["--strict", "--tls", "--insecure", "--timeout", TIMEOUT_S];
    let address = ["--host", "localhost", "--port", port];
    let output = command(&h2spec.to_string_lossy(), &options).args(address).output()?;
    let report = String::from_utf8_lossy(&output.stdout);
    let sum = report.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if sum.ends_with(" 0 skipped, 0 failed") && !sum.starts_with("0 tests") {
        Ok(sum.to_owned())
    } else {
        Err(report.into_owned().into())
    }
}
