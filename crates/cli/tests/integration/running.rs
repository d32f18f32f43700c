//! The commands of docs/running.md. Programs that need another machine are replaced by scripts that do
//! here what they would do there.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Folder, generated, text};

/// What stands in place of other programs. `$LOG` is a log.
const PROGRAMS: [(&str, &str); 4] = [
    // Without its options and the name of the server.
    (
        "ssh",
        "while case $1 in -L) shift 2;; -t) shift;; *) false;; esac; do :; done\nshift\nexec sh -c \"$*\"",
    ),
    ("docker", "exec cat \"$LOG\""),
    ("kubectl", "exec sed 's|^|[pod/web-1/nginx] 2025-12-17T09:03:01.5Z |' \"$LOG\""),
    ("mail", "printf '%s\\n' \"$@\" > mail.arguments\ncat > mail.text"),
];

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/running.md");
    std::fs::read_to_string(path).expect("the document")
}

/// The lines of the blocks in a language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let blocks = document.split(&start).skip(1);
    let blocks = blocks.map(|block| block.split_once("```").expect("an end").0);
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// The commands of Weir in the tables.
fn in_tables(document: &str) -> Vec<String> {
    let rows = document.lines().filter(|line| line.starts_with('|'));
    let codes = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    codes.filter(|code| code.starts_with("weir ")).map(str::to_owned).collect()
}

/// A folder with logs and the programs, in which commands run.
struct Machine(Folder);

impl Machine {
    fn new() -> Self {
        let folder = Folder::new();
        let log = generated(60_000);
        std::fs::create_dir_all(folder.path("nginx")).expect("a folder");
        std::fs::create_dir_all(folder.path("bin")).expect("a folder");
        for name in ["nginx/access.log", "access.log", "access.log.1"] {
            folder.file(name, &log);
        }
        for (name, script) in PROGRAMS {
            let path =
                folder.file(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n").as_bytes());
            let permissions = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(path, permissions).expect("it is ours");
        }
        let weir = env!("CARGO_BIN_EXE_weir");
        std::os::unix::fs::symlink(weir, folder.path("bin/weir")).expect("a link");
        Self(folder)
    }

    /// The command of a shell, with the paths and addresses of this machine.
    fn command(&self, line: &str) -> Command {
        let here = text(&self.0.path("")).trim_end_matches('/').to_owned();
        let line = line
            .replace("/var/log/nginx", &format!("{here}/nginx"))
            .replace("/var/lib/weir", &format!("{here}/state"))
            .replace("/run/weir.sock", &format!("{here}/weir.sock"))
            .replace(":5140", ":0")
            .replace(":9464", ":0")
            .replace(" DIR ", " state ")
            .replace(" FILE ", " file.csv ");
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", &line]).current_dir(self.0.path(""));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{here}/bin:{path}"));
        command.env("LOG", self.0.path("access.log")).env("HOME", &here);
        command.env_remove("XDG_CONFIG_HOME");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end, and returns its output.
    #[track_caller]
    fn run(&self, line: &str) -> String {
        let output = self.command(line).output().expect("bash runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {errors}");
        // Clients send what they like.
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command until it has printed the address of a page.
    #[track_caller]
    fn serve(&self, line: &str) {
        let mut command = self.command(line);
        let mut group = Group(command.process_group(0).spawn().expect("bash runs"));
        let mut first = String::new();
        let stdout = group.0.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut first).expect("a line");
        if !first.starts_with("http://127.0.0.1:") {
            let mut errors = String::new();
            let stderr = group.0.stderr.take().expect("a pipe");
            let _ = BufReader::new(stderr).read_line(&mut errors);
            panic!("{line}: {first}{errors}");
        }
    }
}

/// A process and its children, which are killed together.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

fn serves(line: &str) -> bool {
    line.contains("--no-open")
}

#[test]
fn the_commands_work() {
    let document = document();
    let mut commands = blocks(&document, "sh");
    assert!(commands.len() >= 12, "{commands:?}");
    let of_tables = in_tables(&document);
    assert!(of_tables.len() >= 15, "{of_tables:?}");
    commands.extend(of_tables);
    let machine = Machine::new();
    for line in &commands {
        // It needs a terminal; the tests of `watch` have one.
        if line.starts_with("weir watch") {
            continue;
        }
        match serves(line) {
            true => machine.serve(line),
            false => assert!(
                !machine.run(line).is_empty()
                    || line.contains("--output")
                    || line.contains("--html"),
                "{line}"
            ),
        }
    }
}

#[test]
fn what_docker_and_kubernetes_print_is_read() {
    let machine = Machine::new();
    let records = |command: &str| {
        let report: serde_json::Value = serde_json::from_str(&machine.run(command)).expect("JSON");
        report["records"].as_u64().expect("a number")
    };
    let own = records("weir report --json access.log");
    assert!(own > 100, "{own}");
    let lines = blocks(&document(), "sh");
    let sources = lines.iter().filter_map(|line| Some(line.split_once("| weir")?.0));
    let is_container =
        |source: &&str| source.starts_with("docker") || source.starts_with("kubectl");
    let sources: Vec<&str> = sources.filter(is_container).collect();
    assert_eq!(sources.len(), 3);
    for source in sources {
        assert_eq!(records(&format!("{source} | weir report --json")), own, "{source}");
    }
}

#[test]
fn the_mails_have_the_report() {
    let machine = Machine::new();
    let lines = blocks(&document(), "crontab");
    assert_eq!(lines.len(), 2);
    for line in &lines {
        // Minute, hour, day, month, weekday.
        let command = line.splitn(6, ' ').nth(5).expect("a command");
        // The log is of a fixed week.
        machine.run(&command.replace("--since -7d", "--since 2000-01-01"));
        let read = |name: &str| std::fs::read_to_string(machine.0.path(name)).expect("a mail");
        let (arguments, mail) = (read("mail.arguments"), read("mail.text"));
        assert!(arguments.starts_with("-s\nTraffic of the week\n"), "{arguments}");
        assert!(arguments.ends_with("admin@example.com\n"), "{arguments}");
        if arguments.contains("-A") {
            let page = read("traffic.html");
            assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
        } else {
            assert!(mail.contains("requests"), "{mail}");
        }
    }
}
