//! The years of the logs of a rotated set, whose times have none.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::{Folder, run, text};

/// A folder with logs of a firewall, given by name and times, which were last changed at these times.
fn rotated_set(logs: &[(&str, &[&str], u64)]) -> Folder {
    let folder = Folder::new();
    for (name, times, changed_s) in logs {
        let line = |time: &&str| {
            format!(
                "{time} web kernel: [1.5] [UFW BLOCK] IN=eth0 OUT= SRC=192.0.2.7 DST=192.0.2.1 LEN=40 \
                 PROTO=TCP SPT=1 DPT=2\n"
            )
        };
        let lines: String = times.iter().map(line).collect();
        let log = match name.strip_suffix(".gz") {
            Some(_) => folder.file(name, &gzip(lines.as_bytes())),
            None => folder.file(name, lines.as_bytes()),
        };
        let file = std::fs::File::options().append(true).open(log).expect("a log");
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(*changed_s);
        file.set_modified(changed).expect("a time");
    }
    folder
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// The time of the report on some logs of a folder.
fn time_of(folder: &Folder, names: &[&str]) -> Value {
    let logs: Vec<_> = names.iter().map(|name| folder.path(name)).collect();
    let logs: Vec<&str> = logs.iter().map(|path| text(path)).collect();
    let printed = run([&["report", "--json"], &logs[..]].concat()).stdout;
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    report["time"].clone()
}

#[test]
fn each_log_of_a_rotated_set_ends_before_the_next_begins() {
    // As after a copy: all were written at the same time, on 20 December 2026.
    let copied_s = 1_797_724_800;
    let folder = rotated_set(&[
        ("kern.log", &["Jan  2 10:00:00", "Jan  3 10:00:00"], copied_s),
        ("kern.log.1", &["Nov 30 10:00:00", "Jan  1 10:00:00"], copied_s),
        ("kern.log.2", &["Nov 29 10:00:00", "Nov 30 09:00:00"], copied_s),
        ("kern.log.10", &["Feb  1 10:00:00", "Feb  2 09:00:00"], copied_s),
    ]);
    let all = time_of(&folder, &["kern.log.1", "kern.log", "kern.log.10", "kern.log.2"]);
    assert_eq!(all["first"], "2025-02-01T10:00:00Z");
    assert_eq!(all["last"], "2026-01-03T10:00:00Z");
    // The newest has only its last change, which was in the same year.
    assert_eq!(all["year_from"], "written");
    // Alone, it has its last change, and its lines are of the wrong years.
    assert_eq!(time_of(&folder, &["kern.log.1"])["last"], "2026-11-30T10:00:00Z");
}

#[test]
fn logs_of_a_set_that_were_written_together_are_of_one_year() {
    // 20 December 2026, and 3 years later.
    let (written_s, copied_s) = (1_797_724_800, 1_892_419_200);
    let newest: &[&str] = &["Mar  5 10:00:00", "Oct 20 10:00:00"];
    let later: &[&str] = &["Mar  7 09:00:00", "Jun  1 10:00:00", "Nov  1 10:00:00"];
    let sooner: &[&str] = &["Mar  3 09:00:00", "Jun  1 10:00:00", "Oct  1 10:00:00"];
    for changed_s in [written_s, copied_s] {
        for (second, name) in [(later, "app.log.1"), (later, "app.log.1.gz"), (sooner, "app.log.1")]
        {
            let folder = rotated_set(&[("app.log", newest, written_s), (name, second, changed_s)]);
            let time = time_of(&folder, &["app.log", name]);
            let first = newest[0].min(second[0]);
            let day = first.split_whitespace().nth(1).expect("a day");
            assert_eq!(time["first"], format!("2026-03-0{day}T{}Z", &first[7..]), "{name}");
            let last = if second[2] == later[2] { "2026-11-01" } else { "2026-10-20" };
            assert_eq!(time["last"], format!("{last}T10:00:00Z"), "{name}");
            assert_eq!(time["year_from"], "written");
        }
    }
}

#[test]
fn two_long_logs_of_a_set_are_of_two_years() {
    // 1 April 2026, and a copy at the end of that year.
    let (written_s, copied_s) = (1_775_001_600, 1_797_724_800);
    let newest: &[&str] = &["Sep 10 10:00:00", "Jan 15 10:00:00", "Mar  4 10:00:00"];
    let older: &[&str] = &["Feb 20 10:00:00", "Jun  1 10:00:00", "Sep 10 09:00:00"];
    let folder = rotated_set(&[("app.log", newest, written_s), ("app.log.1", older, copied_s)]);
    let time = time_of(&folder, &["app.log", "app.log.1"]);
    assert_eq!(time["first"], "2025-02-20T10:00:00Z");
    assert_eq!(time["last"], "2026-03-04T10:00:00Z");
}
