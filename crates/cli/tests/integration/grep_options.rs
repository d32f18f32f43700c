//! The options of `weir grep` that people know from grep, compared with GNU grep.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::support::{Folder, run, run_with_stdin, text, weir};
use proptest::prelude::*;

/// A pipe that stays silent for this long is broken. It allows for a slow and busy machine.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Runs GNU grep in a folder; `None` if it is not installed.
fn grep(folder: &Path, arguments: &[&str]) -> Option<(String, Option<i32>)> {
    let version = Command::new("grep").arg("--version").output().ok()?;
    version.stdout.starts_with(b"grep (GNU grep)").then_some(())?;
    let mut command = Command::new("grep");
    let output = command.args(arguments).current_dir(folder).env("LC_ALL", "C").output().ok()?;
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code()))
}

fn weir_in(folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = weir(arguments).current_dir(folder).output().expect("the binary runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

/// A set of options, and how many files there are.
fn options() -> impl Strategy<Value = Vec<String>> {
    let flag = |names: &'static [&'static str]| {
        prop::option::weighted(0.3, prop::sample::select(names).prop_map(str::to_owned))
    };
    let number = |name: &'static str| {
        prop::option::weighted(0.3, (0..4u8).prop_map(move |number| format!("{name}{number}")))
    };
    let pattern = prop::sample::select(&["a", "b$", "^c", "d+", "bc", "zz", "B"][..]);
    let patterns = prop::collection::vec(pattern.prop_map(|it| format!("-e{it}")), 1..4);
    let flags = (
        flag(&["-v", "-o"]),
        flag(&["-c", "-l", "-q"]),
        flag(&["-n"]),
        flag(&["-i"]),
        flag(&["-w"]),
        flag(&["-H", "-h", "-Hh", "-hH"]),
        flag(&["-F", "-E"]),
    );
    let numbers = (number("-m"), number("-A"), number("-B"), number("-C"));
    (patterns, flags, numbers).prop_map(|(patterns, flags, numbers)| {
        let (a, b, c, d, e, f, g) = flags;
        let (m, after, before, context) = numbers;
        let all = [a, b, c, d, e, f, g, m, after, before, context];
        patterns.into_iter().chain(all.into_iter().flatten()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn options_do_what_they_do_in_grep(
        logs in prop::collection::vec("([abcdB ]{0,5}\n){0,25}[abcd]{0,2}", 1..4),
        options in options(),
    ) {
        let folder = Folder::new();
        let mut arguments: Vec<&str> = options.iter().map(String::as_str).collect();
        let names: Vec<String> = (0..logs.len()).map(|number| format!("{number}.log")).collect();
        for (name, log) in names.iter().zip(&logs) {
            folder.file(name, log.as_bytes());
            arguments.push(name);
        }
        let is_extended = !arguments.contains(&"-F");
        let reference = [&["-a"][..], if is_extended { &["-E"] } else { &[] }, &arguments].concat();
        let Some(expected) = grep(&folder.path(""), &reference) else {
            eprintln!("skipped: GNU grep is not installed");
            return Ok(());
        };
        for jobs in ["-j1", "-j3"] {
            let own = weir_in(&folder.path(""), &[&["grep", jobs], &arguments[..]].concat());
            prop_assert_eq!(&own, &expected, "{:?} {:?}", arguments, logs);
        }
    }
}

/// A log of this many bytes, with lines in no format.
fn log_with_other_lines(bytes: usize) -> Vec<u8> {
    let options =
        weir_demo::TrafficOptions { seed: 7, bytes: Some(bytes as u64), ..Default::default() };
    let (mut traffic, mut log) = (weir_demo::Traffic::new(options), Vec::new());
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    let mut mixed = Vec::new();
    for (number, line) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        mixed.extend(line);
        if number % 97 == 0 {
            mixed.extend(format!("another line {number}\n").into_bytes());
        }
    }
    mixed
}

/// The options select among records as among lines, over many blocks.
#[test]
fn conditions_take_the_options_of_lines() {
    let folder = Folder::new();
    let log = log_with_other_lines(3 << 20);
    folder.file("a.log", &log);
    folder.file("b.log", &log[..1 << 20]);
    for options in [
        &["-n", "-C2"][..],
        &["-A3"],
        &["-B1", "-m5", "-n"],
        &["-m7"],
        &["-c", "-m3"],
        &["-m2", "-A4", "-n"],
        &["-A0"],
        &["-q"],
        &["-l", "-m1"],
    ] {
        for (condition, pattern) in [("status=404", "\" 404 "), ("status=418", "\" 418 ")] {
            let files = ["a.log", "b.log"];
            let reference = [&["-a"], options, &["-E", "-e", pattern], &files].concat();
            let Some(expected) = grep(&folder.path(""), &reference) else { return };
            let arguments = [&["grep", "--where", condition], options, &files].concat();
            let own = weir_in(&folder.path(""), &arguments);
            assert!(
                own == expected,
                "{options:?} {condition}: {:.500}\n{:.500}",
                own.0,
                expected.0
            );
        }
    }
    let csv = run([
        "grep",
        "--csv",
        "--columns",
        "status",
        "-m2",
        "--where",
        "status=404",
        "--",
        text(&folder.path("a.log")),
    ]);
    assert_eq!(csv.stdout.lines().collect::<Vec<_>>(), ["status", "404", "404"]);
}

#[test]
fn directories_are_searched_with_and_without_r() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("sub")).expect("a folder");
    folder.file("a.log", b"one a\n");
    folder.file("sub/b.log", b"two a\n");
    let lines = |arguments: &[&str]| -> Vec<String> {
        let (stdout, code) = weir_in(&folder.path(""), arguments);
        assert_eq!(code, Some(0), "{arguments:?}");
        let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&["grep", "-r", "a$"]), ["./a.log:one a", "./sub/b.log:two a"]);
    assert_eq!(lines(&["grep", "-rh", "a$"]), ["one a", "two a"]);
    assert_eq!(lines(&["grep", "-r", "a$", "sub"]), ["sub/b.log:two a"]);
    assert_eq!(lines(&["grep", "-R", "a$", "a.log"]), ["one a"]);
    assert_eq!(lines(&["grep", "a$", "."]), ["./a.log:one a", "./sub/b.log:two a"]);
}

#[test]
fn colours_are_chosen() {
    let input = b"an apple\nfig\n";
    let painted = "an \x1b[1;31mapple\x1b[0m\n";
    for (option, expected) in [
        ("--color=always", painted),
        ("--colour=always", painted),
        ("--color=never", "an apple\n"),
        ("--color=auto", "an apple\n"),
        ("--color", "an apple\n"),
    ] {
        assert_eq!(run_with_stdin(["grep", option, "apple"], input).stdout, expected, "{option}");
    }
    let groups = run_with_stdin(["grep", "--color=always", "-nA0", "a"], b"a\nb\na\n").stdout;
    assert_eq!(
        groups.lines().nth(1),
        Some("\x1b[36m--\x1b[0m"),
        "the separator has the colour of separators"
    );
}

#[test]
fn h_is_no_filename_and_help_is_help() {
    let help = run(["grep", "--help"]);
    assert_eq!(help.code, 0);
    for option in ["-e, --regexp", "-A, --after-context", "-h, --no-filename", "--line-buffered"] {
        assert!(help.stdout.contains(option), "{option}");
    }
    assert_eq!(run_with_stdin(["grep", "-h", "a"], b"a\n").stdout, "a\n");
    // A group of letters, as fingers type them.
    assert_eq!(run_with_stdin(["grep", "-inE", "A|B"], b"x\na\n").stdout, "2:a\n");
    let unused = run(["grep", "-A1", "--json", "a", "/dev/null"]);
    assert_eq!(unused.code, 2);
    assert!(unused.stderr.contains("cannot be used with"), "{}", unused.stderr);
}

#[test]
fn a_quiet_match_counts_for_more_than_a_missing_file() {
    let folder = Folder::new();
    let log = folder.file("a.log", b"a\n");
    for order in [["none.log", text(&log)], [text(&log), "none.log"]] {
        let found = run([&["grep", "-q", "a"], &order[..]].concat());
        assert_eq!((found.code, found.stdout.as_str()), (0, ""), "{order:?}");
        assert_eq!(run([&["grep", "-q", "b"], &order[..]].concat()).code, 2);
    }
    assert_eq!(run(["grep", "-q", "--json", "a", text(&log)]).stdout, "");
}

/// A search in a pipe that stays open.
struct Piped {
    child: Child,
    stdin: std::process::ChildStdin,
    /// Is closed with the test, after which the number may be that of another process.
    _is_tested: std::sync::mpsc::Sender<()>,
}

impl Piped {
    fn start(arguments: &[&str]) -> Self {
        let mut command = weir(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        let stdin = child.stdin.take().expect("a pipe");
        // A search that prints nothing would wait for its input, and the test for its output.
        let id = child.id().to_string();
        let (is_tested, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            if end.recv_timeout(SILENCE_MAX) == Err(RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").arg(id).stderr(Stdio::null()).status();
            }
        });
        Self { child, stdin, _is_tested: is_tested }
    }

    fn feed(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).expect("it reads");
    }
}

#[test]
fn a_line_of_a_pipe_is_printed_at_once() {
    let line = |status| {
        format!("192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /a HTTP/1.1\" {status} 10\n")
    };
    let folder = Folder::new();
    let log = folder.file("a.log", b"a 500 in a file\n");
    for arguments in [
        &["grep", " 500 ", "-"][..],
        &["grep", " 500 "],
        &["grep", "--line-buffered", " 500 "],
        &["grep", "-C1", " 500 "],
        &["grep", "--where", "status=500", "-"],
        &["grep", "--json", "--where", "status=500", "-"],
        // Several inputs are read on several threads.
        &["grep", "-h", " 500 ", "-", text(&log)],
    ] {
        let mut search = Piped::start(arguments);
        let mut printed = BufReader::new(search.child.stdout.take().expect("a pipe"));
        for _ in 0..3 {
            search.feed(&line(500));
            let mut first = String::new();
            printed.read_line(&mut first).expect("UTF-8");
            assert!(first.contains("GET /a"), "{arguments:?}: {first}");
        }
        drop(search.stdin);
        let mut rest = String::new();
        printed.read_to_string(&mut rest).expect("UTF-8");
        assert!(search.child.wait().expect("it ends").success(), "{arguments:?}");
    }
}

#[test]
fn a_quiet_search_ends_with_the_first_match_of_a_pipe() {
    for arguments in [&["grep", "-q", "a", "-"][..], &["grep", "-m1", "a"], &["grep", "-l", "a"]] {
        let mut search = Piped::start(arguments);
        search.feed("b\na\n");
        // The pipe is still open.
        assert_eq!(search.child.wait().expect("it ends").code(), Some(0), "{arguments:?}");
    }
}
