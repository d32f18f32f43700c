//! The test of CrowdSec's scenarios, with CrowdSec itself.

use std::fs;
use std::path::Path;

use crate::shell::{
    Outcome, command, execute, execute_and_keep, is_installed, root, target_folder,
};
use crate::summary::Summary;

/// Debian's package.
const PACKAGE: &str = "crowdsec";

/// Runs the test with Debian's package, which is unpacked and not installed: its set-up needs a
/// network. Says so if there is no package.
pub(crate) fn test() -> Outcome<Vec<String>> {
    let folder = root().join(target_folder()).join("crowdsec");
    if !folder.join("usr/bin/crowdsec").exists() {
        if !is_installed("apt-get") || !is_installed("dpkg") {
            println!("skipped: this is not Debian");
            return Ok(Vec::new());
        }
        if let Err(error) = unpack(&folder) {
            println!("skipped: {PACKAGE} is missing: {error}");
            return Ok(Vec::new());
        }
    }
    let arguments = [
        "test",
        "--quiet",
        "--package",
        "weir",
        "--test",
        "integration",
        "--",
        "--ignored",
        "crowdsec::",
    ];
    let mut test = command("cargo", &arguments);
    execute_and_keep(test.env("CROWDSEC_ROOT", folder), Summary::is_closing_line)
}

/// Downloads the package and unpacks it into `folder`.
fn unpack(folder: &Path) -> Outcome {
    let downloads = folder.with_file_name("crowdsec-package");
    fs::create_dir_all(&downloads)?;
    fs::create_dir_all(folder)?;
    execute(command("apt-get", &["download", "-qq", PACKAGE]).current_dir(&downloads))?;
    for entry in fs::read_dir(&downloads)? {
        execute(command("dpkg", &["-x"]).arg(entry?.path()).arg(folder))?;
    }
    Ok(())
}
