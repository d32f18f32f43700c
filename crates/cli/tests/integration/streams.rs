//! Standard input and output as people and programs join them.

#![cfg(unix)]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{Folder, finish, line, text, weir};

fn log() -> String {
    let line = |number| {
        let time = format!("17/Dec/2025:09:{number:02}:00 +0000");
        line("192.0.2.1", &time, "GET / HTTP/1.1", 200, "-")
    };
    (0..60).map(line).collect()
}

#[test]
fn an_input_that_never_waits_is_waited_for() {
    for arguments in [&["grep", "-c", "GET"][..], &["count"], &["count", "--by", "status"]] {
        let (mut writer, reader) = UnixStream::pair().expect("a socket");
        reader.set_nonblocking(true).expect("it is set");
        let sending = std::thread::spawn(move || {
            for piece in log().as_bytes().chunks(2_000) {
                std::thread::sleep(Duration::from_millis(20));
                writer.write_all(piece).expect("somebody reads");
            }
        });
        let run = finish(weir(arguments).stdin(Stdio::from(OwnedFd::from(reader))));
        sending.join().expect("all was sent");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(run.stdout.starts_with("60"), "{}", run.stdout);
    }
}

#[test]
fn what_is_written_to_is_not_searched() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let output = OpenOptions::new().append(true).open(&path).expect("it is there");
    let run = finish(weir(["grep", "GET", text(&path)]).stdout(output));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is written to by this command"), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), log());
    // A number has an end.
    let output = OpenOptions::new().append(true).open(&path).expect("it is there");
    let run = finish(weir(["grep", "-c", "GET", text(&path)]).stdout(output));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), log() + "60\n");
}

#[test]
fn a_page_is_not_written_over_a_log_by_another_name() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let other = folder.path("b.log");
    std::fs::hard_link(&path, &other).expect("a link");
    let named = finish(&mut weir(["report", "--html", text(&other), text(&path)]));
    let log_file = File::open(&path).expect("it is there");
    let piped = finish(weir(["report", "--html", text(&path), "-"]).stdin(log_file));
    for run in [named, piped] {
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("would be overwritten"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), log());
}

#[test]
fn options_are_no_pattern() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let run = finish(&mut weir(["grep", "-j1", "-c", "GET", text(&path)]));
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "60\n", ""));
    let run = finish(&mut weir(["grep", "--cuont", "GET", text(&path)]));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--cuont"), "{}", run.stderr);
    let run = finish(&mut weir(["grep", "-c", "--", "-j1", text(&path)]));
    assert_eq!((run.code, run.stdout.as_str()), (1, "0\n"));
}
