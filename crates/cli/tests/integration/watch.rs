//! `weir watch` on a real pseudo-terminal: its numbers are those of `weir report`, whatever keys,
//! sizes and signals come.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::pseudo_terminal::{Terminal, flags};
use crate::support::{Folder, finish, generated, line, run, text, weir};

fn watch(arguments: &[&str], size: (u16, u16)) -> Terminal {
    let arguments = [&["watch"], arguments].concat();
    Terminal::start(weir(&arguments).env("TERM", "xterm").env_remove("NO_COLOR"), size)
}

/// The report with these arguments.
fn report(arguments: &[&str]) -> Value {
    let run = run([&["report", "--json"], arguments].concat());
    serde_json::from_str(&run.stdout).expect("JSON")
}

fn separated(number: &Value) -> String {
    weir_view::separated(number.as_u64().expect("a number"))
}

#[test]
fn the_numbers_are_those_of_the_report() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(256 << 10));
    let log = text(&log);
    let mut terminal = watch(&[log], (120, 40));
    let all = report(&[log]);
    let requests =
        format!("Requests {}   Errors {}", separated(&all["matching"]), separated(&all["errors"]));
    let first = &all["top"]["path"][0];
    let clients = format!("Clients {}", separated(&all["distinct"]["client"]));
    let row = format!(">{}", separated(&first["count"]));
    let path = first["value"].as_str().expect("a path");
    let screen =
        terminal.wait_for_screen(&[&requests, &clients, &row, path, "Requests per ", "f freeze"]);
    assert!(screen.contains("no filter") && !screen.contains("reading"), "{screen}");

    // The second path.
    terminal.press(b"j\r");
    let second = all["top"]["path"][1]["value"].as_str().expect("a path");
    let condition = format!("path={second}");
    let of_path = report(&[log, "--where", &condition]);
    let requests =
        format!("Requests {} of {}", separated(&of_path["matching"]), separated(&all["matching"]));
    terminal.wait_for_screen(&[&format!("filter: {condition}"), &requests]);
    // Its clients, without the first.
    terminal.press(b"\t!");
    let client = of_path["top"]["client"][0]["value"].as_str().expect("a client");
    let condition = [condition, format!("client!={client}")].join(" and ");
    let of_others = report(&[log, "--where", &condition]);
    let requests = format!(
        "Requests {} of {}",
        separated(&of_others["matching"]),
        separated(&all["matching"])
    );
    terminal.wait_for_screen(&[&format!("filter: {condition}"), &requests]);
    // Back, and back.
    terminal.press(b"\x1b");
    terminal.wait_for_screen(&[&format!("Requests {} of", separated(&of_path["matching"]))]);
    terminal.press(b"u");
    terminal
        .wait_for_screen(&["no filter", &format!("Requests {}   ", separated(&all["matching"]))]);
    terminal.press(b"q");
    assert!(terminal.end().success());
}

#[test]
fn the_chart_zooms_to_a_part_of_the_time() {
    let folder = Folder::new();
    let at = |minute: u32, count: usize| {
        let time = format!("17/Dec/2025:09:{minute:02}:00 +0000");
        line("192.0.2.7", &time, "GET / HTTP/1.1", 200, "-").repeat(count)
    };
    let log = folder.file(
        "a.log",
        (0..60).map(|minute| at(minute, 1 + minute as usize)).collect::<String>().as_bytes(),
    );
    let mut terminal = watch(&[text(&log)], (100, 24));
    terminal.wait_for_screen(&["Requests 1,830 ", "Requests per minute"]);
    // The chart, its last bar, and from there nine to the left.
    terminal.press(b"\x1b[Z");
    terminal.wait_for_screen(&["> 2025-12-17 09:59:00  60 requests"]);
    terminal.press(b"v");
    terminal.press(b"hhhhhhhhh");
    terminal.wait_for_screen(&["> 2025-12-17 09:50:00  51 requests"]);
    terminal.press(b"\r");
    terminal.wait_for_screen(&["filter: from 2025-12-17 09:50:00 on", "Requests 555 of 1,830"]);
    // One bar.
    terminal.press(b"g\r");
    terminal.wait_for_screen(&[
        "Requests 51 of 1,830",
        "filter: 2025-12-17 09:50:00 to before 2025-12-17 09:5",
    ]);
    terminal.press(b"-");
    terminal.wait_for_screen(&["Requests 555 of 1,830"]);
    terminal.press(b"0");
    terminal.wait_for_screen(&["Requests 1,830 ", "no filter"]);
    terminal.press(b"\x1b\x1b");
    terminal.wait_for_screen(&["Requests 555 of 1,830"]);
}

#[test]
fn the_terminal_is_restored_at_each_end() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(64 << 10));
    let keys: [&[u8]; 2] = [b"q", b"\x03"];
    let signals = [Signal::TERM, Signal::INT, Signal::HUP];
    for end in keys.iter().map(Ok).chain(signals.iter().map(Err)) {
        let mut terminal = watch(&[text(&log)], (80, 24));
        terminal.wait_for_screen(&["q quit", "Paths"]);
        assert_ne!(flags(&terminal.mode()), flags(&terminal.before));
        match end {
            Ok(keys) => terminal.press(keys),
            Err(signal) => terminal.signal(*signal),
        }
        assert!(terminal.end().success(), "{end:?}");
        assert_eq!(flags(&terminal.mode()), flags(&terminal.before), "{end:?}");
        terminal.wait_for(|written| written.ends_with("\x1b[?25h\x1b[?1049l").then_some(()));
    }
}

#[test]
fn any_size_can_be_drawn() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(64 << 10));
    let mut terminal = watch(&[text(&log)], (80, 24));
    terminal.wait_for_screen(&["q quit", "Paths"]);
    for (columns, rows) in [(20, 10), (5, 3), (1, 1), (300, 100), (80, 2), (2, 80)] {
        terminal.resize((columns, rows));
        terminal.press(b"?");
        terminal.press(b"?");
        terminal.press(b"\t\t\x1b[B");
    }
    terminal.resize((80, 24));
    terminal.wait_for_screen(&["q quit", "Period 20"]);
    terminal.press(b"q");
    assert!(terminal.end().success());
}

#[test]
fn hostile_text_of_a_log_does_not_reach_the_terminal() {
    let folder = Folder::new();
    let agent = "\x1b[2J\x1b]0;owned\x07\u{9b}31m\u{202e}";
    let time = "17/Dec/2025:09:03:01 +0000";
    let request = "GET /\x1b[31m HTTP/1.1";
    let log = folder.file("a.log", line("192.0.2.7", time, request, 200, agent).as_bytes());
    let mut terminal = watch(&[text(&log)], (160, 40));
    terminal.wait_for_screen(&["/\\x1b[31m", "\\x1b[2J\\x1b]0;ow"]);
    terminal.press(b"q");
    assert!(terminal.end().success());
    let written = String::from_utf8_lossy(&terminal.written()).into_owned();
    for hostile in ["\x1b[2J", "\x1b]", "\x07", "\u{9b}", "\u{202e}", "\x1b[31m HTTP"] {
        assert!(!written.contains(hostile), "{hostile:?}");
    }
}

#[test]
fn what_cannot_be_drawn_or_watched_is_refused() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(1 << 10));
    let no_terminal = finish(weir(["watch", text(&log)]).stdout(Stdio::piped()));
    assert_eq!(no_terminal.code, 2);
    assert!(no_terminal.stderr.contains("print a text with weir report"), "{}", no_terminal.stderr);
    for (arguments, reason) in [
        (&["missing.log"][..], "does not exist"),
        (&["-"], "standard input is this terminal"),
        (&[], "name a log file to watch"),
        (&[text(&log), "--where", "status=="], "--where: "),
        (&[text(&log), "--keep", "1h"], "add --follow"),
    ] {
        let mut terminal = watch(arguments, (200, 24));
        assert_eq!(terminal.end().code(), Some(2), "{arguments:?}");
        terminal.wait_for(|written| written.contains(reason).then_some(()));
    }
}
