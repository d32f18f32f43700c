//! Finds the commit that the command is built from, for `weir version`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the commit where there is no repository, as in a tarball.
const COMMIT: &str = "WEIR_COMMIT";

/// The digits of the commit that are shown.
const DIGITS: usize = 12;

/// What the command is built from, besides other packages.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    println!("cargo::rustc-env=WEIR_BUILD={}", build());
}

/// The text in the brackets of the version. It has no time, so that two builds of a commit are equal.
fn build() -> String {
    if let Some(name) = env::var(COMMIT).ok().filter(|name| is_name(name)) {
        return name;
    }
    // A debug build would have to compile the command again after each commit.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return "debug build".to_owned();
    }
    commit().unwrap_or_else(|| "commit unknown".to_owned())
}

/// Whether the variable holds something that can be a commit: one word, which no terminal interprets.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The commit of the repository whose root is the workspace, with `-modified` if the sources differ
/// from it. Sources in a folder of another repository are not of its commit.
fn commit() -> Option<String> {
    let workspace = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).join("../..");
    if !git(&workspace, &["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    // This file grows with each commit and each checkout.
    let log = git(&workspace, &["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={}", workspace.join(log).display());
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    let commit = git(&workspace, &["rev-parse", "HEAD"])?;
    let status = git(&workspace, &[&["status", "--porcelain", "--"], &SOURCES[..]].concat())?;
    let modified = if status.is_empty() { "" } else { "-modified" };
    Some(format!("{}{modified}", commit.get(..DIGITS)?))
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
