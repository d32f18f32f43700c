//! A comparison whose records do not fit within the memory limit.

use serde_json::Value;

use crate::support::{Folder, line, run, text};

const BLOCK_BYTES: usize = 1 << 20;

fn compare(log: &str, more: &[&str]) -> (i32, String, Value) {
    let run = run([&["report", "--compare", "--json", log], more].concat());
    let report = serde_json::from_str(&run.stdout).expect("JSON");
    (run.code, run.stderr, report)
}

#[test]
fn a_comparison_is_of_the_first_lines_with_any_number_of_threads() {
    let lines: Vec<String> = (0..320_000_u32)
        .map(|n| {
            let time = format!("17/Dec/2025:09:{:02}:{:02} +0000", n / 6_000, n / 100 % 60);
            line(&format!("10.0.0.{}", n % 251), &time, "GET / HTTP/1.1", 200, "-")
        })
        .collect();
    let folder = Folder::new();
    let all = folder.file("all.log", lines.concat().as_bytes());
    let mut bytes_of_one_thread = usize::MAX;
    for threads in 1..=3 {
        let jobs = threads.to_string();
        let (code, stderr, full) = compare(text(&all), &["--memory", "1MiB", "-j", &jobs]);
        assert_eq!(code, 2);
        assert!(stderr.contains("the memory limit is reached"), "{stderr}");
        assert_eq!(full["incomplete"][0]["source"], text(&all));
        let records = full["records"].as_u64().expect("a number") as usize;
        let read = lines[..records].concat();
        bytes_of_one_thread = bytes_of_one_thread.min(read.len());
        assert!(read.len() <= bytes_of_one_thread + (5 * threads + 1) * BLOCK_BYTES);

        let first = folder.file("first.log", read.as_bytes());
        let (code, stderr, exact) = compare(text(&first), &["-j", &jobs]);
        assert_eq!((code, stderr.as_str()), (0, ""));
        for member in ["records", "matching", "errors", "first", "last", "top", "compare"] {
            assert!(full[member] == exact[member], "{member}: {}\n{}", full[member], exact[member]);
        }
    }
}
