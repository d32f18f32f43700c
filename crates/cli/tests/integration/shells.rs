//! Completions, in the shells themselves.

use std::path::Path;
use std::process::Command;

use crate::support::{Folder, run, text};

/// Lines up to the key for completion, and what the last word becomes. A folder has `access.log`.
const LINES: [(&[&str], &str); 12] = [
    (&["rep"], "report"),
    (&["acc"], "access.log"),
    (&["report", "acc"], "access.log"),
    (&["report", "--invalid-no", "acc"], "access.log"),
    (&["report", "--gro"], "--group"),
    (&["count", "--by", "status_"], "status_class"),
    (&["count", "--by", "crawler_o"], "crawler_operator"),
    (&["report", "--fields", "weekd"], "weekday"),
    (&["grep", "--where", "countr"], "country"),
    (&["grep", "x", "acc"], "access.log"),
    (&["access.log", "--foll"], "--follow"),
    (&["completions", "zs"], "zsh"),
];

/// A folder with a log and the completions of a shell, and the path of these.
fn completions(shell: &str, name: &str) -> Folder {
    let folder = Folder::new();
    folder.file("access.log", b"");
    std::fs::create_dir(folder.path("completions")).expect("a folder");
    let script = run(["completions", shell]).stdout;
    folder.file(&format!("completions/{name}"), script.as_bytes());
    folder
}

fn output(command: &mut Command, folder: &Folder) -> String {
    let output = command.current_dir(folder.path("")).output().expect("the shell runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn driver(shell: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shells");
    text(&path.join(format!("complete.{shell}"))).to_owned()
}

#[test]
#[ignore = "needs zsh; cargo xtask test runs it"]
fn zsh_completes_commands_options_and_files() {
    let folder = completions("zsh", "_weir");
    for (words, expected) in LINES {
        let line = format!("weir {}", words.join(" "));
        let mut command = Command::new("zsh");
        command.arg("-f").arg(driver("zsh")).arg(folder.path("completions")).arg(&line);
        let completed = output(&mut command, &folder);
        let last = completed.split_whitespace().last().unwrap_or_default();
        assert_eq!(last.trim_end_matches('='), expected, "{line}: {completed}");
    }
}

#[test]
#[ignore = "needs fish; cargo xtask test runs it"]
fn fish_completes_commands_options_and_files() {
    let folder = completions("fish", "weir.fish");
    // The generator has no values of arguments without a name for fish.
    for (words, expected) in LINES.into_iter().filter(|(words, _)| words[0] != "completions") {
        let line = format!("weir {}", words.join(" "));
        let mut command = Command::new("fish");
        let script = "source completions/weir.fish; complete -C $argv[1]";
        command.args(["--no-config", "-c", script, &line]).env("HOME", folder.path(""));
        let offered = output(&mut command, &folder);
        let mut words = offered.lines().map(|line| line.split('\t').next().unwrap_or_default());
        assert!(words.any(|word| word == expected), "{line}: {offered}");
    }
}

#[test]
fn bash_completes_commands_options_and_files() {
    let folder = completions("bash", "weir");
    for (words, expected) in LINES {
        let mut command = Command::new("bash");
        command.arg("--norc").arg(driver("bash")).arg("completions/weir").arg("weir").args(words);
        let offered = output(&mut command, &folder);
        assert!(offered.split_whitespace().any(|word| word == expected), "{words:?}: {offered}");
    }
}
