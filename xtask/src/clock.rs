//! The test of a gateway whose clock is set, with libfaketime.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Outcome, ignored_tests};
use crate::summary;
use weir_tools::packages;

/// The test that is skipped where libfaketime is not installed and cannot be.
const SKIPPED: &str = "libfaketime: its test is skipped, because it cannot be installed";

/// The library for programs with threads, in the folders of its Debian package.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// Runs the test. Installs libfaketime if it is missing and there is apt.
pub(crate) fn test() -> Outcome<Vec<String>> {
    let mut library = library();
    if library.is_none() {
        if let Err(error) = packages::install(&["libfaketime"]) {
            println!("{error}");
        }
        library = self::library();
    }
    let Some(library) = library else { return Ok(vec![SKIPPED.to_owned()]) };
    let mut test = ignored_tests("integration", "clock::");
    summary::run_tests(test.env("FAKETIME_LIBRARY", library))
}

/// The library, if it is installed for this processor.
fn library() -> Option<PathBuf> {
    let machine = Command::new("gcc").arg("-dumpmachine").output().ok();
    let machine = machine.and_then(|output| String::from_utf8(output.stdout).ok());
    let machine = machine.unwrap_or_else(|| format!("{}-linux-gnu", std::env::consts::ARCH));
    let path = Path::new("/usr/lib").join(machine.trim()).join(LIBRARY);
    path.exists().then_some(path)
}
