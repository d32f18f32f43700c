//! Runs the sessions of the README and compares their output with the text.

use std::fs;
use std::path::Path;

use crate::shell::{Outcome, build_workspace, command, output_of, root};

/// Fails if the README shows an output that differs from what its command prints.
pub(crate) fn check() -> Outcome {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path)?;
    let fresh = rendered(&text)?;
    if fresh == text {
        return Ok(());
    }
    Err("README.md differs from the output of its commands; run `cargo xtask readme`".into())
}

/// Writes the output of the commands to the README.
pub(crate) fn write() -> Outcome {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path)?;
    fs::write(&path, rendered(&text)?)?;
    Ok(())
}

/// The text with the present output in every `console` block.
fn rendered(text: &str) -> Outcome<String> {
    let folder = build_workspace(&["--bin", "weir"])?;
    let mut fresh = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        if line != "```console" {
            continue;
        }
        let Some(prompt) = lines.next() else { break };
        let shell = prompt.strip_prefix("$ ").ok_or("a console block starts with `$ weir`")?;
        fresh.push_str(prompt);
        fresh.push('\n');
        fresh.push_str(output_of(&mut session(shell, &folder))?.trim_end());
        fresh.push_str("\n```\n");
        lines.by_ref().find(|line| *line == "```");
    }
    Ok(fresh)
}

/// The command on a terminal of 80 columns without colours, with this folder first in the search
/// path.
fn session(shell: &str, folder: &Path) -> std::process::Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut session = command("sh", &["-c", shell]);
    session.env("PATH", format!("{}:{path}", folder.display())).env("COLUMNS", "80");
    session.env("NO_COLOR", "1");
    session
}
