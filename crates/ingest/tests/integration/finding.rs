//! Rotated logs are ordered by their times.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use weir_ingest::{FormatChoice, Head, Input, find_inputs};

fn line(minute: u32) -> String {
    format!("192.0.2.1 - - [17/Dec/2025:09:{minute:02}:00 +0000] \"GET / HTTP/1.1\" 200 1\n")
}

#[test]
fn rotated_logs_are_ordered_by_their_times() {
    let folder = std::env::temp_dir().join(format!("weir-finding-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str, content: &[u8]| -> Input {
        let path: PathBuf = folder.join(name);
        std::fs::write(&path, content).expect("a file");
        Input::File(path.into())
    };
    let packed = zstd::encode_all(line(1).as_bytes(), 1).expect("memory");
    let newest = file("access.log", line(3).as_bytes());
    let newer = file("access.log.1", line(2).as_bytes());
    let oldest = file("access.log.2.zst", &packed);
    let timeless = file("access.log.3", b"nothing\n");
    let other = file("error.log", line(0).as_bytes());
    let named = [&newest, &other, &timeless, &newer, &oldest].map(Input::clone);
    let (inputs, faults) = find_inputs(&named, &FormatChoice::Detect, None);
    std::fs::remove_dir_all(&folder).expect("it is there");
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(inputs, [oldest, other, timeless, newer, newest]);
}

#[test]
fn a_folder_whose_logs_were_named_before_has_logs() {
    let folder = std::env::temp_dir().join(format!("weir-named-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("empty")).expect("a folder");
    std::fs::write(folder.join("a.log"), line(1)).expect("a file");
    let named = ["a.log", "", "empty"].map(|name| Input::File(folder.join(name).into()));
    let (inputs, faults) = find_inputs(&named, &FormatChoice::Detect, None);
    std::fs::remove_dir_all(&folder).expect("it is there");
    assert_eq!(inputs.len(), 1);
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let twice = |name| format!("{}: is named twice; it is read once", folder.join(name).display());
    assert_eq!(said, ["a.log", "empty"].map(twice));
}

#[test]
fn a_folder_of_this_process_is_left_out_without_a_word() {
    let folder = std::env::temp_dir().join(format!("weir-own-{}", std::process::id()));
    for own in ["state", "other"] {
        std::fs::create_dir_all(folder.join(own)).expect("a folder");
        std::fs::write(folder.join(own).join("data.weir"), [0, 1, 2, 3]).expect("a file");
    }
    std::fs::write(folder.join("a.log"), line(1)).expect("a file");
    let named = [Input::File(folder.clone().into())];
    let (inputs, faults) = find_inputs(&named, &FormatChoice::Detect, Some(&folder.join("state")));
    std::fs::remove_dir_all(&folder).expect("it is there");
    assert_eq!(inputs, [Input::File(folder.join("a.log").into())]);
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let other = folder.join("other/data.weir");
    let expected = format!("{}: {} is not a text file", folder.display(), other.display());
    assert!(said.len() == 1 && said[0].starts_with(&expected), "{said:?}");
}

/// The first times of the logs of a set, in their order. They are given by name and times, and by the time
/// of their last change.
fn first_times(name: &str, logs: &[(&str, &[&str], u64)]) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("weir-years-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut named = Vec::new();
    for (name, times, changed_s) in logs {
        let line = |time: &&str| {
            format!(
                "{time} web kernel: [1.5] [UFW BLOCK] IN=eth0 OUT= SRC=192.0.2.7 DST=192.0.2.1 LEN=40 \
                 PROTO=TCP SPT=1 DPT=2\n"
            )
        };
        let lines: String = times.iter().map(line).collect();
        let packed = zstd::encode_all(lines.as_bytes(), 1).expect("memory");
        let path = folder.join(name);
        let bytes = if name.ends_with(".zst") { &packed[..] } else { lines.as_bytes() };
        std::fs::write(&path, bytes).expect("a file");
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(*changed_s);
        let file = std::fs::File::options().append(true).open(&path).expect("a file");
        file.set_modified(changed).expect("a time");
        named.push(Input::File(path.into()));
    }
    let (inputs, _) = find_inputs(&named, &FormatChoice::Detect, None);
    let time = |input: &Input| {
        let head = Head::of(input, |_| false).expect("a log");
        weir_core::format_rfc3339(head.first_time(&FormatChoice::Detect).expect("a time"))
    };
    let times = inputs.iter().map(time).collect();
    std::fs::remove_dir_all(&folder).expect("it is there");
    times
}

#[test]
fn logs_of_a_set_that_were_written_together_are_of_one_year() {
    // 20 December 2026, and three years later.
    let (written_s, copied_s) = (1_797_724_800, 1_892_419_200);
    let newest: &[&str] = &["Mar  5 10:00:00", "Oct 20 10:00:00"];
    for (changed_s, name) in [
        (written_s, "app.log.1"),
        (copied_s, "app.log.1"),
        (written_s, "app.log.1.zst"),
        (copied_s, "app.log.1.zst"),
    ] {
        for (first, last) in
            [("Mar  7 09:00:00", "Nov  1 10:00:00"), ("Mar  3 09:00:00", "Oct  1 10:00:00")]
        {
            let times: &[&str] = &[first, "Jun  1 10:00:00", last];
            let found = first_times(
                "together",
                &[("app.log", newest, written_s), (name, times, changed_s)],
            );
            let expected = match first {
                "Mar  3 09:00:00" => ["2026-03-03T09:00:00Z", "2026-03-05T10:00:00Z"],
                _ => ["2026-03-05T10:00:00Z", "2026-03-07T09:00:00Z"],
            };
            assert_eq!(found, expected, "{name} {changed_s}");
        }
    }
}

#[test]
fn two_long_logs_of_a_set_are_of_two_years() {
    // 1 April 2026, and a copy at the end of that year.
    let (written_s, copied_s) = (1_775_001_600, 1_797_724_800);
    let newest: &[&str] = &["Sep 10 10:00:00", "Jan 15 10:00:00", "Mar  4 10:00:00"];
    let older: &[&str] = &["Feb 20 10:00:00", "Jun  1 10:00:00", "Sep 10 09:00:00"];
    let logs = [("app.log", newest, written_s), ("app.log.1", older, copied_s)];
    assert_eq!(first_times("long", &logs), ["2025-02-20T10:00:00Z", "2025-09-10T10:00:00Z"]);
}

#[test]
fn each_log_of_a_rotated_set_begins_before_the_next() {
    // As after a copy: all were written at the same time, on 20 December 2026.
    let copied_s = 1_797_724_800;
    let logs: [(&str, &[&str], u64); 4] = [
        ("kern.log", &["Jan  2 10:00:00", "Jan  3 10:00:00"], copied_s),
        ("kern.log.1", &["Nov 30 10:00:00", "Jan  1 10:00:00"], copied_s),
        ("kern.log.2", &["Nov 29 10:00:00", "Nov 30 09:00:00"], copied_s),
        ("kern.log.10", &["Feb  1 10:00:00", "Feb  2 09:00:00"], copied_s),
    ];
    let expected = ["2025-02-01", "2025-11-29", "2025-11-30", "2026-01-02"]
        .map(|day| format!("{day}T10:00:00Z"));
    assert_eq!(first_times("copied", &logs), expected);
}
