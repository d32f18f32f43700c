//! Browser tests against the real binary.

use std::path::Path;

use crate::page::npm;
use crate::shell::{Outcome, command, execute, execute_and_keep, is_there};
use crate::summary::Summary;

/// Where Debian puts the browsers, and the packages they are in.
const BROWSERS: [(&str, &str); 2] =
    [("/usr/bin/chromium", "chromium"), ("/usr/bin/firefox-esr", "firefox-esr")];

/// Runs them. The page has to be installed before.
pub(crate) fn test() -> Outcome<Vec<String>> {
    install()?;
    execute(&mut command("cargo", &["build", "--quiet", "--package", "weir"]))?;
    let mut tests = npm(&["run", "--silent", "test:browser"]);
    execute_and_keep(tests.env("NO_COLOR", "1"), Summary::is_closing_line)
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
