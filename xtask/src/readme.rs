//! Runs the README's sessions and holds them against what is printed there.

use std::fs;

use crate::shell::{Outcome, command, execute, output_of, root, target_folder};

/// Fails where the README shows another output than the command prints.
pub(crate) fn check() -> Outcome {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path)?;
    let fresh = rendered(&text)?;
    if fresh == text {
        return Ok(());
    }
    Err("README.md shows what its commands no longer print; run `cargo xtask readme`".into())
}

/// Writes what the commands print into the README.
pub(crate) fn write() -> Outcome {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path)?;
    fs::write(&path, rendered(&text)?)?;
    Ok(())
}

/// The text with every `console` block's output as it is now.
fn rendered(text: &str) -> Outcome<String> {
    execute(&mut command("cargo", &["build", "--quiet", "--package", "weir"]))?;
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
        fresh.push_str(output_of(&mut session(shell))?.trim_end());
        fresh.push_str("\n```\n");
        lines.by_ref().find(|line| *line == "```");
    }
    Ok(fresh)
}

/// The command with the binary that was built first on the path, on a terminal of 80 columns
/// without colours.
fn session(shell: &str) -> std::process::Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let folder = target_folder().join("debug");
    let mut session = command("sh", &["-c", shell]);
    session.env("PATH", format!("{}:{path}", folder.display())).env("COLUMNS", "80");
    session.env("NO_COLOR", "1");
    session
}
