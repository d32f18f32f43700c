//! The page's own tools, which npm installs in `web`.

use std::process::Command;

use crate::shell::{Outcome, command, execute, is_installed, root};

/// An npm command in `web`.
pub fn npm(arguments: &[&str]) -> Command {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join("web"));
    npm
}

/// Installs the packages of `package-lock.json`, unless they have been. Fails if Node.js is missing.
pub fn install() -> Outcome {
    if !is_installed("node") || !is_installed("npm") {
        return Err("the page needs Node.js 20.19 or later with npm; install them first".into());
    }
    if are_installed() {
        return Ok(());
    }
    execute(&mut npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
}

/// Whether npm has written its list of what it has installed, which it does last, after the list of
/// what to install.
fn are_installed() -> bool {
    let written_at = |name| root().join("web").join(name).metadata()?.modified();
    let lists =
        written_at("package.json").and_then(|it| Ok(it.max(written_at("package-lock.json")?)));
    let installed = written_at("node_modules/.package-lock.json");
    matches!((installed, lists), (Ok(installed), Ok(lists)) if installed > lists)
}
