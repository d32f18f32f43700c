//! Browser tests against the real binary.

use std::env;
use std::path::{Path, PathBuf};

use crate::page::npm;
use crate::shell::{Outcome, command, execute, execute_and_keep, is_there, root};
use crate::summary::Summary;

/// Where Debian puts the browsers, and the packages they are in.
const BROWSERS: [(&str, &str); 2] =
    [("/usr/bin/chromium", "chromium"), ("/usr/bin/firefox-esr", "firefox-esr")];

/// Runs them. The page has to be installed before.
pub(crate) fn test() -> Outcome<Vec<String>> {
    install()?;
    execute(&mut command("cargo", &["build", "--quiet", "--package", "weir"]))?;
    let mut tests = npm(&["run", "--silent", "test:browser"]);
    tests.env("NO_COLOR", "1").env("WEIR_BINARY", binary());
    execute_and_keep(&mut tests, Summary::is_closing_line)
}

/// Where cargo has put the program.
fn binary() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target).join("debug").join("weir")
}

fn install() -> Outcome {
    let missing: Vec<&str> = BROWSERS
        .iter()
        .filter(|(path, _)| !Path::new(path).exists())
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_there("apt-get") {
        let missing = missing.join(" and ");
        return Err(format!(
            "the browser tests need Debian's packages {missing}, and apt-get is not here to install them"
        )
        .into());
    }
    println!("installing {}", missing.join(" and "));
    execute(command("apt-get", &["update", "-qq"]).env("DEBIAN_FRONTEND", "noninteractive"))?;
    let mut arguments = vec!["install", "-qq", "-y", "--no-install-recommends"];
    arguments.extend(missing);
    execute(
        command("apt-get", &arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(std::process::Stdio::null()),
    )
}
