//! Standard input and output that are sockets, pipes, or the files that are read.

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
fn a_nonblocking_standard_input_is_read_to_its_end() {
    for arguments in [&["grep", "-c", "GET"][..], &["count"], &["count", "--by", "status"]] {
        let (mut writer, reader) = UnixStream::pair().expect("a socket");
        reader.set_nonblocking(true).expect("a nonblocking socket");
        let writing = std::thread::spawn(move || {
            for piece in log().as_bytes().chunks(2_000) {
                std::thread::sleep(Duration::from_millis(20));
                writer.write_all(piece).expect("the command reads");
            }
        });
        let run = finish(weir(arguments).stdin(Stdio::from(OwnedFd::from(reader))));
        writing.join().expect("the writer ends");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(run.stdout.starts_with("60"), "{}", run.stdout);
    }
}

#[test]
fn the_output_file_is_not_searched() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let output = OpenOptions::new().append(true).open(&path).expect("the file exists");
    let run = finish(weir(["grep", "GET", text(&path)]).stdout(output));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is the output of this command"), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(&path).expect("the file exists"), log());
    // The output of `-c` is finite, so the file is read.
    let output = OpenOptions::new().append(true).open(&path).expect("the file exists");
    let run = finish(weir(["grep", "-c", "GET", text(&path)]).stdout(output));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(&path).expect("the file exists"), log() + "60\n");
}

#[test]
fn a_page_does_not_overwrite_a_log_under_another_name() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let other = folder.path("b.log");
    std::fs::hard_link(&path, &other).expect("a link");
    let named = finish(&mut weir(["report", "--html", text(&other), text(&path)]));
    let log_file = File::open(&path).expect("the file exists");
    let piped = finish(weir(["report", "--html", text(&path), "-"]).stdin(log_file));
    for run in [named, piped] {
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("would be overwritten"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read_to_string(&path).expect("the file exists"), log());
}

#[test]
fn options_are_not_taken_for_the_pattern() {
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
