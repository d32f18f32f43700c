//! Completions and the pages of the manual include all commands and are valid.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Folder, run};

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

/// The words that bash offers after these words of a command line.
fn offered_by_bash(script: &str, words: &[&str]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let program = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n\
         _weir weir \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
         echo \"${{COMPREPLY[@]}}\"\n",
        words.join(" "),
        words.len() - 1,
    );
    let output = Command::new("bash").args(["--norc", "-c", &program]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn bash_offers_fields_formats_and_zones() {
    let script = run(["completions", "bash"]).stdout;
    for (words, offered) in [
        (&["weir", "count", "--by", "st"][..], "status status_class"),
        (&["weir", "report", "--group", "user_"], "user_agent"),
        (&["weir", "report", "--stack", "me"], "method"),
        (&["weir", "grep", "--field", "request_"], "request_time"),
        (&["weir", "report", "--format", "VC"], "VCOMBINED VCOMMON"),
        (&["weir", "grep", "--tz", "Europe/Zu"], "Europe/Zurich"),
        (&["weir", "--tz", "Europe/Zu"], "Europe/Zurich"),
        (&["weir", "listen", "--active", "un"], "unlimited"),
        (&["weir", "man", "rep"], "report"),
    ] {
        let Some(words_offered) = offered_by_bash(&script, words) else { return };
        assert_eq!(words_offered.trim(), offered, "{words:?}");
    }
    // Values that are not offered are accepted.
    assert_eq!(run(["count", "--by", "anything"]).code, 1);
}

/// The names of pages in a page, such as `weir-report` of `weir-report(1)`.
fn pages_named_in(page: &str) -> Vec<String> {
    let plain = page.replace("\\-", "-").replace("\\fR", "").replace("\\fB", "");
    let words = plain.split(|next: char| next.is_whitespace() || next == ',');
    words.filter_map(|word| word.strip_suffix("(1)")).map(str::to_owned).collect()
}

#[test]
fn every_page_that_the_manual_names_exists() {
    let main = run(["man"]).stdout;
    let mut names = pages_named_in(&main);
    for command in COMMANDS {
        assert!(names.contains(&format!("weir-{command}")), "{command} in {names:?}");
    }
    names.push("weir".to_owned());
    for name in &names {
        let page = match name.strip_prefix("weir-") {
            Some(command) => run(["man", command]),
            None => run(["man"]),
        };
        assert_eq!(page.code, 0, "{name}: {}", page.stderr);
        let page = page.stdout;
        assert!(page.starts_with(&format!(".TH \"{name}\" \"1\"")), "{name}: {page}");
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"] {
            assert!(page.contains(&format!(".SH {section}\n")), "{name} lacks {section}");
        }
        assert!(!page.contains("EXTRA"), "{name}");
        for other in pages_named_in(&page) {
            assert!(names.contains(&other), "{name} names {other}");
        }
        let check = ["-man", "-Tutf8", "-ww", "-z"];
        assert_ne!(accepted_by("groff", &check, &page), Some(false), "{name}");
    }
    assert!(run(["man", "grep"]).stdout.contains("invert\\-match"));
    assert!(run(["man", "count"]).stdout.contains(".SH EXIT STATUS\n.TP\n.B 0\n"));
    let folder = Folder::new();
    assert_eq!(run(["man", "--folder", &folder.path("").to_string_lossy()]).code, 0);
    for name in &names {
        let command = name.strip_prefix("weir-").into_iter();
        let printed = run(std::iter::once("man").chain(command)).stdout;
        let written = std::fs::read_to_string(folder.path(&format!("{name}.1"))).expect("a page");
        assert_eq!(written, printed, "{name}");
    }
    let nowhere = run(["man", "--folder", "/nowhere"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.stderr.starts_with("weir: --folder: /nowhere/weir.1 cannot be written: "));
    let unknown = run(["man", "nothing"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.starts_with("weir: `nothing` is not a command; choose one of report, "));
}
