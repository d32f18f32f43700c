//! Keys of `weir watch` while something moves or stands still: quick keys, rows that change places,
//! a pipe without a word, and a small terminal.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::pseudo_terminal::Terminal;
use crate::support::{Folder, generated, line, text, weir};
use crate::watch::{report, separated, watch};

const TIME: &str = "17/Dec/2025:09:03:01 +0000";

fn requests(path: &str, count: usize) -> String {
    line("192.0.2.7", TIME, &format!("GET {path} HTTP/1.1"), 200, "-").repeat(count)
}

fn append(log: &Path, lines: &str) {
    let mut file = File::options().append(true).open(log).expect("the log");
    file.write_all(lines.as_bytes()).expect("room");
}

#[test]
fn quick_keys_act_on_the_answers_to_those_before() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(256 << 10));
    let log = text(&log);
    let all = report(&[log]);
    let path = all["top"]["path"][1]["value"].as_str().expect("a path");
    let of_path = format!("path={path}");
    let filtered = report(&[log, "--where", &of_path]);
    let client = filtered["top"]["client"][0]["value"].as_str().expect("a client");
    assert_ne!(all["top"]["client"][0]["value"], client, "the keys would not have to wait");
    let mut terminal = watch(&[log], (120, 40));
    // Before there are rows, the keys would be about none.
    let total = format!("Requests {} ", separated(&all["matching"]));
    terminal.wait_for_screen(&["no filter", "! exclude", &total, ">"]);
    // The second path, and then the first of its clients, in one write.
    terminal.press(b"j\r\t!");
    let both = [of_path.clone(), format!("client!={client}")].join(" and ");
    let of_others = report(&[log, "--where", &both]);
    let counts = format!(
        "Requests {} of {}",
        separated(&of_others["matching"]),
        separated(&all["matching"])
    );
    terminal.wait_for_screen(&[&format!("filter: {both}"), &counts]);
}

#[test]
fn two_quick_zooms_leave_a_period_inside_of_the_first() {
    let folder = Folder::new();
    let at = |minute: usize| {
        let time = format!("17/Dec/2025:09:{minute:02}:00 +0000");
        line("192.0.2.7", &time, "GET / HTTP/1.1", 200, "-").repeat(1 + minute)
    };
    let log = folder.file("a.log", (0..60).map(at).collect::<String>().as_bytes());
    let mut terminal = watch(&[text(&log)], (100, 24));
    terminal.wait_for_screen(&["Requests 1,830 ", "Requests per minute"]);
    // The chart; its last ten bars; the first of those. 51 requests are those of 09:50.
    terminal.press(b"\x1b[Zvhhhhhhhhh\rg\r");
    terminal.wait_for_screen(&[
        "Requests 51 of 1,830",
        "filter: 2025-12-17 09:50:00 to before 2025-12-17 09:5",
    ]);
}

#[test]
fn a_key_is_about_the_chosen_value_while_rows_change_places() {
    let folder = Folder::new();
    let counts = |a: usize, b: usize, c: usize| {
        [requests("/a", a), requests("/b", b), requests("/c", c)].concat()
    };
    let log = folder.file("a.log", counts(30, 20, 10).as_bytes());
    let mut terminal = watch(&["--follow", text(&log)], (80, 24));
    terminal.wait_for_screen(&["Requests 60 ", ">30  50.0% /a", " 20  33.3% /b", " 10  16.7% /c"]);
    terminal.press(b"j");
    terminal.wait_for_screen(&[" 30  50.0% /a", ">20  33.3% /b"]);
    // The other two go above it.
    append(&log, &counts(0, 0, 90));
    terminal.wait_for_screen(&["100  66.7% /c", " 30  20.0% /a", "> 20  13.3% /b"]);
    // The rows move again, at the moment of the key.
    append(&log, &counts(100, 0, 0));
    terminal.press(b"\r");
    terminal.wait_for_screen(&["filter: path=/b", "Requests 20 of 250 ", ">20   100% /b"]);
    // What follows is about it too.
    append(&log, &counts(0, 5, 0));
    terminal.wait_for_screen(&["Requests 25 of 255 ", ">25   100% /b"]);
}

/// Keys come from the terminal of the process if standard input is the log.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_stays_silent_is_watched_and_left() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let weir = weir([""; 0]);
    let script = format!("'{}' watch - < '{}'", text(weir.get_program().as_ref()), text(&pipe));
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", "sh", "-c", &script]);
    command.env("TERM", "xterm").env("WEIR_CONFIG", "").env_remove("NO_COLOR");
    let mut terminal = Terminal::start(&mut command, (80, 24));
    let mut pipe = File::options().write(true).open(&pipe).expect("it is read");
    let mut feed = |lines: String| pipe.write_all(lines.as_bytes()).expect("it is read");
    // Nothing was ever written.
    terminal.wait_for_screen(&["Requests 0", "q quit"]);
    feed(requests("/a", 3));
    // Half of a line.
    feed("192.0.2.7 - - [17/De".to_owned());
    terminal.wait_for_screen(&["Requests 3 ", ">3   100% /a"]);
    terminal.press(b"f");
    terminal.wait_for_screen(&["frozen"]);
    feed("c/2025:09:03:01 +0000] \"GET /a HTTP/1.1\" 200 10 \"-\" \"-\"\n".to_owned());
    terminal.press(b"?");
    terminal.wait_for_screen(&["Keys; any key goes back"]);
    terminal.press(b"?");
    terminal.wait_for_screen(&["Requests 3 ", "frozen"]);
    terminal.press(b"f");
    terminal.wait_for_screen(&["Requests 4 ", ">4   100% /a"]);
    // It is left although the pipe is open, and silent.
    terminal.press(b"q");
    assert!(terminal.end().success());
}

#[test]
fn twenty_columns_have_numbers_keys_and_a_filter() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(128 << 10));
    let log = text(&log);
    let all = report(&[log]);
    let first = &all["top"]["path"][0];
    let mut terminal = watch(&[log], (20, 10));
    let requests = format!("Requests {}", separated(&all["matching"]));
    let row = format!(">{} ", separated(&first["count"]));
    let screen = terminal.wait_for_screen(&["no filter", &requests, "Paths  ", &row, "q quit"]);
    let rows: Vec<&str> = screen.lines().collect();
    assert_eq!(rows.len(), 10, "{screen}");
    assert!(rows.iter().all(|row| row.chars().count() <= 20), "{screen}");
    let path = first["value"].as_str().expect("a path");
    let shown: String = path.chars().take(8).collect();
    assert!(screen.contains(&format!("{row}{shown}")), "{screen}");
    terminal.press(b"\r");
    let of_path = report(&[log, "--where", &format!("path={path}")]);
    let filter: String = format!("filter: path={path}").chars().take(19).collect();
    terminal.wait_for_screen(&[&filter, &format!("Requests {}", separated(&of_path["matching"]))]);
    terminal.press(b"o");
    terminal.wait_for_screen(&["Lines 1 to ", "Esc back"]);
    terminal.press(b"\x1b");
    terminal.wait_for_screen(&["Paths  1", "q quit"]);
    terminal.press(b"q");
    assert!(terminal.end().success());
}
