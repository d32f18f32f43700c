//! Files that are rotated, in directories, named twice, compressed, damaged, or not regular files.

use std::io::Write;

use crate::support::{Folder, Run, line, run, text};
use serde_json::Value;

fn minute(number: u32) -> String {
    line("192.0.2.1", &format!("17/Dec/2025:09:{number:02}:00 +0000"), "GET / HTTP/1.1", 200, "-")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn records(run: &Run) -> u64 {
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    report["records"].as_u64().expect("a number")
}

#[cfg(unix)]
#[test]
fn the_logs_of_a_directory_are_read() {
    let folder = Folder::new();
    folder.file("access.log", minute(1).as_bytes());
    folder.file("access.log.1.gz", &gzip(minute(0).as_bytes()));
    folder.file(".hidden.log", b"not this\n");
    folder
        .file("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\x02\x03\x08\x06\0\0\x05");
    std::fs::create_dir(folder.path("old")).expect("a folder");
    folder.file("old/access.log.2", minute(0).as_bytes());
    // A loop of directories, and a broken link.
    std::os::unix::fs::symlink(folder.path(""), folder.path("old/up")).expect("a link");
    std::os::unix::fs::symlink(folder.path("nowhere"), folder.path("broken")).expect("a link");
    let directory = folder.path("");
    let run = run(["report", "--json", text(&directory)]);
    let image = folder.path("image.png");
    let sentence = format!(
        "weir: {}: {} is not a text file and was skipped\n",
        text(&directory),
        text(&image)
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, sentence.as_str()));
    assert_eq!(records(&run), 3);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let folder = Folder::new();
    let log = folder.file("access.log", minute(1).as_bytes());
    let other = folder.path("other.log");
    std::os::unix::fs::symlink(&log, &other).expect("a link");
    let run = run(["report", "--json", text(&log), text(&log), text(&other)]);
    let (log, other) = (text(&log), text(&other));
    let messages = format!(
        "weir: {log}: is named twice; it is read once\n\
         weir: {other}: is the same file as {log}; it is read once\n"
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, messages.as_str()));
    assert_eq!(records(&run), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn special_files_are_read() {
    // Not a log; its size is 0 by stat.
    let run_of_proc = run(["report", "/proc/self/status"]);
    assert_eq!(run_of_proc.code, 1, "{}", run_of_proc.stderr);
    assert!(run_of_proc.stderr.contains("not a log"), "{}", run_of_proc.stderr);
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
    assert!(made.success());
    let writer = {
        let fifo = fifo.clone();
        std::thread::spawn(move || {
            let mut file = std::fs::OpenOptions::new().write(true).open(fifo).expect("a reader");
            for number in 0..50 {
                file.write_all(minute(number).as_bytes()).expect("the command reads");
            }
        })
    };
    let run_of_fifo = run(["report", "--json", text(&fifo)]);
    writer.join().expect("the writer ends");
    assert_eq!((run_of_fifo.code, records(&run_of_fifo)), (0, 50));
}

#[test]
fn a_damaged_archive_does_not_stop_the_other_files() {
    let folder = Folder::new();
    let good = folder.file("good.log", minute(3).as_bytes());
    let packed = gzip(minute(2).repeat(1_000).as_bytes());
    let cut = folder.file("cut.log.gz", &packed[..packed.len() - 9]);
    let more = folder.file("more.log", minute(1).as_bytes());
    let run = run(["report", "--json", text(&good), text(&cut), text(&more)]);
    let sentence = format!(
        "weir: {}: the gzip data is cut short at byte {}; the lines before it are kept\n",
        text(&cut),
        packed.len() - 9
    );
    assert_eq!((run.code, run.stderr.as_str()), (2, sentence.as_str()));
    assert!(records(&run) > 900, "the lines before the cut are kept");
}

#[test]
fn a_damaged_or_cut_compression_around_an_archive_is_reported() {
    let folder = Folder::new();
    let log = minute(0);
    let packed = gzip(&weir_testkit::archive::tar(&[("a.log", log.as_bytes())]));
    let report = |bytes: &[u8]| run(["report", text(&folder.file("a.tar.gz", bytes))]);
    assert_eq!(report(&packed).code, 0);
    // The last eight bytes are the checksum and the length.
    for place in 1..=8 {
        let mut damaged = packed.clone();
        let at = damaged.len() - place;
        damaged[at] ^= 1;
        let run = report(&damaged);
        assert_eq!(run.code, 2, "{place}: {}", run.stderr);
        assert!(run.stderr.contains("damaged"), "{}", run.stderr);
        let run = report(&packed[..at]);
        assert_eq!(run.code, 2, "{place}: {}", run.stderr);
        assert!(run.stdout.contains("Requests        1\n"), "what was read is kept");
    }
}
