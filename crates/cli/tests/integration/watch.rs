//! `weir watch` on a real pseudo-terminal: its numbers are those of `weir report`, whatever keys,
//! sizes and signals come.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::pseudo_terminal::{Terminal, flags};
use crate::support::{Folder, finish, generated, line, run, text, weir};

pub(crate) fn watch(arguments: &[&str], size: (u16, u16)) -> Terminal {
    let arguments = [&["watch"], arguments].concat();
    Terminal::start(weir(&arguments).env("TERM", "xterm").env_remove("NO_COLOR"), size)
}

/// The report with these arguments.
pub(crate) fn report(arguments: &[&str]) -> Value {
    let run = run([&["report", "--json"], arguments].concat());
    serde_json::from_str(&run.stdout).expect("JSON")
}

pub(crate) fn separated(number: &Value) -> String {
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
        terminal.wait_for_screen(&[&requests, &clients, &row, path, "Requests per ", "! exclude"]);
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
    let signals = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT];
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

#[test]
fn a_filter_is_typed_and_completed() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(128 << 10));
    let log = text(&log);
    let all = report(&[log]);
    let mut terminal = watch(&[log], (120, 40));
    terminal.wait_for_screen(&["no filter", "! exclude", "Paths", "Status"]);
    terminal.press(b"/");
    terminal.wait_for_screen(&["filter: \u{258f}", "Enter apply"]);
    // What is wrong is said at once, and is not applied.
    terminal.press(b"status==404\r");
    terminal.wait_for_screen(&["filter: status==404\u{258f}", "Enter apply", "`==`"]);
    terminal.press(b"\x15sta\t");
    terminal.wait_for_screen(&["filter: status=\u{258f}"]);
    let value = |index: usize| all["top"]["status"][index]["value"].as_str().expect("a status");
    terminal.press(b"\t");
    terminal.wait_for_screen(&[
        &format!("filter: status={}\u{258f}", value(0)),
        &format!(">status={}", value(0)),
        &format!("status={}", value(1)),
    ]);
    terminal.press(b"\t");
    terminal.wait_for_screen(&[&format!("filter: status={}\u{258f}", value(1))]);
    terminal.press(b"\r");
    let filtered = report(&[log, "--where", &format!("status={}", value(1))]);
    terminal.wait_for_screen(&[
        &format!("filter: status={}\n", value(1)),
        &format!("Requests {} of", separated(&filtered["matching"])),
    ]);
    // A field that the log lacks is named, and the filter can be dropped.
    terminal.press(b"/\x15sttus=1\r");
    terminal.wait_for_screen(&["filter: sttus=1", "did you mean `status`?"]);
    terminal.press(b"u");
    terminal.wait_for_screen(&["no filter", &format!("Requests {} ", separated(&all["matching"]))]);
    // The keys of the overview are characters of a filter, and Escape leaves the old one.
    terminal.press(b"/qf1");
    terminal.wait_for_screen(&["filter: qf1\u{258f}"]);
    terminal.press(b"\x1b");
    terminal.wait_for_screen(&["no filter", "! exclude"]);
}

#[test]
fn a_client_has_its_story_and_its_lines() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(128 << 10));
    let log = text(&log);
    let client = report(&[log])["top"]["client"][0]["value"].as_str().expect("a client").to_owned();
    let condition = format!("client={client}");
    let told = report(&[log, "--where", &condition]);
    let mut terminal = watch(&[log], (120, 40));
    terminal.wait_for_screen(&["no filter", "! exclude", &client]);
    terminal.press(b"\t\r");
    let matching = told["matching"].as_u64().expect("a number");
    let noun = if matching == 1 { "request" } else { "requests" };
    terminal.wait_for_screen(&[
        &format!("Client {client}"),
        &format!("{matching} {noun}"),
        told["top"]["path"][0]["value"].as_str().expect("a path"),
    ]);
    terminal.press(b"o");
    let lines = run(["grep", "--where", &condition, log]).stdout;
    let first: String = lines.lines().next().expect("a line").chars().take(100).collect();
    terminal.wait_for_screen(&[&first, &format!("of {matching}"), &condition]);
    terminal.press(b"\x1b");
    terminal.wait_for_screen(&[&format!("Client {client}")]);
    // What is included on the page of a client is included with the client.
    terminal.press(b"\r");
    let path = told["top"]["path"][0]["value"].as_str().expect("a path");
    let both = report(&[log, "--where", &condition, "--where", &format!("path={path}")]);
    let requests = format!("Requests {} of", separated(&both["matching"]));
    terminal.wait_for_screen(&[&format!("filter: {condition} and path={path}"), &requests]);
}

#[test]
fn all_lines_of_a_filter_can_be_gone_through() {
    let folder = Folder::new();
    let time = "17/Dec/2025:09:03:01 +0000";
    let at = |number: usize| line("192.0.2.7", time, &format!("GET /{number} HTTP/1.1"), 200, "-");
    let log = folder.file("a.log", (0..100).map(at).collect::<String>().as_bytes());
    let mut terminal = watch(&[text(&log)], (60, 13));
    terminal.wait_for_screen(&["Requests 100"]);
    terminal.press(b"o");
    terminal.wait_for_screen(&["Lines 1 to 10 of 100", "\"GET /0 H"]);
    terminal.press(b" ");
    terminal.wait_for_screen(&["Lines 11 to 20 of 100", "\"GET /19 H"]);
    terminal.press(b"G");
    terminal.wait_for_screen(&["Lines 91 to 100 of 100", "\"GET /99 H"]);
    terminal.press(b"j");
    terminal.press(b"k");
    terminal.wait_for_screen(&["Lines 90 to 99 of 100"]);
    let screen = terminal.wait_for_screen(&["192.0.2.7 - -"]);
    assert!(screen.contains('\u{2026}'), "cut to the width: {screen}");
    terminal.press(b"l");
    terminal.wait_for_screen(&["\n7/Dec/2025:09:03:01 +0000]"]);
}

#[test]
fn a_followed_log_moves_until_it_is_frozen() {
    let folder = Folder::new();
    let at = |count: usize| {
        line("192.0.2.7", "17/Dec/2025:09:03:01 +0000", "GET / HTTP/1.1", 200, "-").repeat(count)
    };
    let log = folder.file("a.log", at(3).as_bytes());
    let append = |count: usize| {
        use std::io::Write;
        let mut file = std::fs::File::options().append(true).open(&log).expect("the log");
        file.write_all(at(count).as_bytes()).expect("room");
    };
    let mut terminal = watch(&["--follow", text(&log)], (80, 24));
    terminal.wait_for_screen(&["Requests 3 ", "following"]);
    append(4);
    terminal.wait_for_screen(&["Requests 7 "]);
    terminal.press(b"f");
    terminal.wait_for_screen(&["Requests 7 ", "frozen"]);
    append(1);
    // What is asked while it is frozen is answered from what is there.
    terminal.press(b"f");
    terminal.wait_for_screen(&["Requests 8 ", "following"]);
    terminal.press(b"q");
    assert!(terminal.end().success());
}

#[test]
fn kinds_of_records_and_rules_have_their_keys() {
    let folder = Folder::new();
    let access = line("192.0.2.7", "17/Dec/2025:09:03:01 +0000", "GET /a HTTP/1.1", 503, "curl/8");
    let access = folder.file("access.log", access.as_bytes());
    let error = "2025/12/17 09:03:01 [error] 7#7: *1 limiting requests, excess: 5.500 by zone \"one\", \
                 client: 192.0.2.7, server: a, request: \"GET /a HTTP/1.1\", host: \"a\"\n";
    let error = folder.file("error.log", error.as_bytes());
    let mut terminal = watch(&[text(&access), text(&error)], (120, 30));
    terminal.wait_for_screen(&["[1 Requests]  2 Error-log lines", "Requests 1 "]);
    terminal.press(b"2");
    terminal.wait_for_screen(&["1 Requests  [2 Error-log lines]", "Error-log lines 1 ", "Levels"]);
    terminal.press(b"3");
    terminal.wait_for_screen(&["the log has no such kind of records"]);
    terminal.press(b"b");
    terminal.wait_for_screen(&["What tripped your rules  1 block of 1 address", "192.0.2.7"]);
    // An Escape with a character at once would be Alt.
    terminal.press(b"\x1b");
    terminal.wait_for_screen(&["[2 Error-log lines]"]);
    terminal.press(b"1");
    terminal.wait_for_screen(&["[1 Requests]"]);
    terminal.press(b"\t\r");
    terminal.wait_for_screen(&[
        "Client 192.0.2.7",
        "The server refused 1 of 1: 1 with 503.",
        "zone",
    ]);
}

#[test]
fn the_terminal_is_given_back_while_the_program_is_stopped() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(64 << 10));
    for keys in [None, Some(b"\x1a")] {
        let mut terminal = watch(&[text(&log)], (80, 24));
        terminal.wait_for_screen(&["q quit", "Paths"]);
        match keys {
            Some(keys) => terminal.press(keys),
            None => terminal.signal(Signal::TSTP),
        }
        terminal.wait_until_stopped();
        terminal.wait_for(|written| written.ends_with("\x1b[?1049l").then_some(()));
        assert_eq!(flags(&terminal.mode()), flags(&terminal.before), "{keys:?}");
        terminal.signal(Signal::CONT);
        // The terminal is taken a second time, and has everything again.
        terminal.wait_for(|written| {
            written.split("\x1b[?1049h").nth(2)?.contains("Paths").then_some(())
        });
        assert_ne!(flags(&terminal.mode()), flags(&terminal.before), "{keys:?}");
        terminal.press(b"q");
        assert!(terminal.end().success(), "{keys:?}");
    }
}

#[test]
fn an_end_of_the_input_while_the_program_is_stopped_does_not_end_it() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(64 << 10));
    let mut terminal = watch(&[text(&log)], (80, 24));
    terminal.wait_for_screen(&["q quit", "Paths"]);
    for stops in 1..=5 {
        terminal.signal(Signal::TSTP);
        terminal.wait_until_stopped();
        // The terminal edits lines meanwhile, so that Ctrl-D is an end of them.
        terminal.press(b"\x04");
        terminal.signal(Signal::CONT);
        terminal.wait_for(|written| {
            written.rsplit_once("\x1b[?1049l")?.1.contains("Paths").then_some(())
        });
        terminal.press(b"?");
        terminal.wait_for(|written| {
            written.rsplit_once("\x1b[?1049l")?.1.contains("any key goes back").then_some(())
        });
        terminal.press(b"?");
        // A key that the program has not read when it stops is dropped.
        terminal.wait_for_screen(&["q quit", "Paths"]);
        assert!(terminal.child.0.try_wait().expect("a child").is_none(), "stop {stops}");
    }
    terminal.press(b"q");
    assert!(terminal.end().success());
}

#[test]
fn a_signal_ends_it_while_the_terminal_takes_nothing() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(64 << 10));
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let mut command = weir(["watch", text(&log)]);
        let mut terminal = Terminal::start_frozen(command.env("TERM", "xterm"), (300, 100));
        terminal.fill();
        assert_ne!(flags(&terminal.mode()), flags(&terminal.before));
        terminal.signal(signal);
        assert!(terminal.end().success(), "{signal:?}");
        assert_eq!(flags(&terminal.mode()), flags(&terminal.before), "{signal:?}");
        terminal.thaw();
        terminal.wait_for(|written| written.contains("\x1b[?25h\x1b[?1049l").then_some(()));
    }
}

/// Keys come from the terminal of the process if standard input is the log.
#[cfg(target_os = "linux")]
#[test]
fn a_log_can_be_piped_in() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(64 << 10));
    let requests = format!("Requests {} ", separated(&report(&[text(&log)])["matching"]));
    let weir = weir([""; 0]);
    let script = format!("cat '{}' | '{}' watch -", text(&log), text(weir.get_program().as_ref()));
    let mut command = std::process::Command::new("setsid");
    command.args(["--ctty", "--wait", "sh", "-c", &script]);
    command.env("TERM", "xterm").env("WEIR_CONFIG", "").env_remove("NO_COLOR");
    let mut terminal = Terminal::start(&mut command, (80, 24));
    terminal.wait_for_screen(&[&requests, "q quit"]);
    terminal.press(b"?");
    terminal.wait_for_screen(&["Keys; any key goes back"]);
    terminal.press(b"q");
    assert!(terminal.end().success());
}

#[test]
fn a_terminal_without_colours_shows_what_is_chosen() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(64 << 10));
    let mut command = weir(["watch", text(&log)]);
    let mut terminal = Terminal::start(command.env("TERM", "xterm").env("NO_COLOR", "1"), (80, 24));
    terminal.wait_for_screen(&["q quit", "\n>"]);
    terminal.press(b"q");
    assert!(terminal.end().success());
    let written = String::from_utf8_lossy(&terminal.written()).into_owned();
    let is_style = |sequence: &str| {
        sequence
            .split_once('m')
            .is_some_and(|(it, _)| it.chars().all(|c| c.is_ascii_digit() || c == ';'))
    };
    assert!(!written.split("\x1b[").skip(1).any(is_style), "{written:?}");
}
