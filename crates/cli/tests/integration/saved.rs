//! `weir save`, and data sets in place of logs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use weir_testkit::fixtures;

use crate::support::{
    Folder, Run, Served, generated, page, report, run, run_with_stdin, text, weir,
};

/// Saves logs, and returns the path of the data set.
fn save(folder: &Folder, logs: &[&str]) -> PathBuf {
    let saved = folder.path("logs.weir");
    let run = run([&["save", text(&saved)], logs].concat());
    assert_eq!(run.code, 0, "{logs:?}: {}", run.stderr);
    saved
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn assert_same(log: &str, of_log: &Run, of_saved: &Run) {
    assert_eq!(of_saved.stdout, of_log.stdout, "{log}");
    assert_eq!(of_saved.stderr, of_log.stderr, "{log}");
    assert_eq!(of_saved.code, of_log.code, "{log}");
}

#[test]
fn a_report_of_a_data_set_is_that_of_its_log() {
    let folder = Folder::new();
    let mut with_records = 0;
    for log in files(&fixtures::root()) {
        let (log, saved) = (text(&log), folder.path("log.weir"));
        let _ = fs::remove_file(&saved);
        let of_log = run(["report", "--json", log]);
        let saving = run(["save", text(&saved), log]);
        assert_eq!(saving.code, of_log.code, "{log}: {}", saving.stderr);
        if of_log.code == 0 {
            assert_same(log, &of_log, &run(["report", "--json", text(&saved)]));
            with_records += 1;
        }
    }
    assert!(with_records > 40, "{with_records}");
}

#[test]
fn every_question_of_a_report_has_the_same_answer() {
    let folder = Folder::new();
    let error_log = "2025/12/17 09:03:01 [error] 7#7: *1 access forbidden by rule, client: 192.0.2.7, \
                     server: a, request: \"GET / HTTP/1.1\", host: \"a\"\n";
    let logs = [
        folder.file("access.log", &generated(2 << 20)),
        folder.file("error.log", error_log.repeat(50).as_bytes()),
        fixtures::file("w3c-and-json/logfile_caddy_log.1"),
        fixtures::elastic_near_8899(),
    ];
    let logs: Vec<&str> = logs.iter().map(|log| text(log)).collect();
    let saved = save(&folder, &logs);
    for options in [
        vec!["--where", "status=404"],
        vec!["--where", "path^=/a and not googlebot"],
        vec!["--where", "client=10.0.0.0/8"],
        vec!["--compare"],
        vec!["--group", "host"],
        vec!["--stack", "method", "--tz", "Asia/Tokyo"],
        vec!["--kind", "errors"],
        vec!["--since", "-1h"],
        vec!["--csv"],
        vec![],
    ] {
        let all = |files: &[&str]| run([&["report"], &options[..], files].concat());
        assert_same(&options.join(" "), &all(&logs), &all(&[text(&saved)]));
    }
}

#[test]
fn the_page_of_a_data_set_is_that_of_its_log() {
    let folder = Folder::new();
    let log = folder.file("access.log", &generated(1 << 20));
    let saved = save(&folder, &[text(&log)]);
    let report_of = |file: &Path| {
        let arguments = [text(file), "--no-open", "--listen", "127.0.0.1:0"];
        let mut child = weir(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let address = page(&mut child);
        let _served = Served(child);
        let mut answer = report(&address);
        while answer["lines"].as_u64() < Some(1_000) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            answer = report(&address);
        }
        answer
    };
    let expected = run(["report", "--json", text(&log)]).stdout;
    let expected: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
    let answer = report_of(&saved);
    for part in ["lines", "records", "matching", "bytes_sent", "errors", "distinct"] {
        assert_eq!(answer[part], expected[part], "{part}");
    }
}

#[test]
fn standard_input_can_be_saved() {
    let folder = Folder::new();
    let saved = folder.path("piped.weir");
    let log = generated(100_000);
    let saving = run_with_stdin(["save", text(&saved)], &log);
    assert_eq!(saving.code, 0, "{}", saving.stderr);
    let of_log = run_with_stdin(["report", "--json"], &log);
    assert_eq!(run(["report", "--json", text(&saved)]).stdout, of_log.stdout);
}

#[test]
fn a_damaged_data_set_is_refused() {
    let folder = Folder::new();
    let log = folder.file("access.log", &generated(20_000));
    let saved = save(&folder, &[text(&log)]);
    let whole = fs::read(&saved).expect("a file");
    let refused = |bytes: &[u8], expected: &str| {
        let damaged = folder.file("damaged.weir", bytes);
        let run = run(["report", text(&damaged)]);
        assert_eq!((run.code, &run.stdout[..]), (2, ""), "{}", run.stderr);
        assert!(run.stderr.contains("damaged.weir: is "), "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    };
    for at in (16..whole.len()).step_by(whole.len() / 12) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        refused(&damaged, "is damaged at byte");
        refused(&whole[..at], "is damaged at byte");
    }
    let mut other = whole.clone();
    other[8] = 77;
    refused(&other, "is a data set in version 77");
    refused(&[&whole[..], b"x"].concat(), "is damaged at byte");
}

#[test]
fn nothing_is_overwritten_by_mistake() {
    let folder = Folder::new();
    let log = folder.file("access.log", &generated(20_000));
    let refused = run(["save", text(&log), text(&log)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("ends in .weir"), "{}", refused.stderr);
    let saved = save(&folder, &[text(&log)]);
    let before = fs::read(&saved).expect("a file");
    let again = run(["save", text(&saved), text(&saved)]);
    assert!(again.code == 2 && again.stderr.contains("already"), "{}", again.stderr);
    let broken = folder.file("broken.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0not deflate");
    let partial = run(["save", text(&saved), text(&log), text(&broken)]);
    assert_eq!(partial.code, 2);
    assert!(partial.stderr.contains("was not written"), "{}", partial.stderr);
    assert_eq!(fs::read(&saved).expect("a file"), before);
}

#[test]
fn a_data_set_has_no_lines() {
    let folder = Folder::new();
    let log = folder.file("access.log", &generated(20_000));
    let saved = save(&folder, &[text(&log)]);
    for command in [&["grep", "GET"][..], &["count", "--by", "status"], &["export", "--to", "csv"]]
    {
        let run = run([command, &[text(&saved)]].concat());
        assert_eq!(run.code, 2, "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains("saved data set, which has no lines"), "{}", run.stderr);
    }
    let both = run(["report", text(&saved), text(&log)]);
    assert!(both.code == 2 && both.stderr.contains("is shown alone"), "{}", both.stderr);
    let followed = run(["--follow", text(&saved)]);
    assert!(followed.code == 2 && followed.stderr.contains("does not grow"), "{}", followed.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let folder = Folder::new();
    let log = folder.file("access.log", &generated(20_000));
    let full = folder.path("full.weir");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let run = run(["save", text(&full), text(&log)]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("full.weir: cannot be written: No space left"), "{}", run.stderr);
}
