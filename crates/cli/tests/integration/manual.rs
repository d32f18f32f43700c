//! Completions and the manual page include all commands and are valid.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::run;

const COMMANDS: [&str; 5] = ["report", "grep", "count", "formats", "demo"];

/// Whether a program accepts a text on its standard input; `None` if it is not installed.
fn accepted_by(program: &str, arguments: &[&str], text: &str) -> Option<bool> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    Some(child.wait().ok()?.success())
}

#[test]
fn completions_include_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(["completions", shell]);
        assert_eq!(script.code, 0);
        for word in COMMANDS.into_iter().chain(["where", "invert-match"]) {
            assert!(script.stdout.contains(word), "{shell} lacks {word}");
        }
        if let Some(accepted) = accepted_by(shell, &["-n"], &script.stdout) {
            assert!(accepted, "{shell} rejects its script");
        }
    }
    assert_eq!(run(["completions", "nothing"]).code, 2);
}

#[test]
fn the_manual_page_includes_all_commands() {
    let page = run(["man"]);
    assert_eq!(page.code, 0);
    assert!(page.stdout.contains(".TH weir 1"), "{}", &page.stdout[..200]);
    for command in COMMANDS {
        let title = format!(".SH \"WEIR {}\"", command.to_uppercase());
        assert!(page.stdout.contains(&title), "{title}");
    }
    assert!(page.stdout.contains("invert\\-match"));
}
