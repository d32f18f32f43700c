//! `--anonymize`: no output and no file has an address of the log.

use std::fs;
use std::path::Path;

use crate::support::{Folder, run, text};

/// Addresses that occur nowhere in full, in lines that are read and in lines that are not.
const ADDRESSES: [&str; 8] = [
    "203.0.113.71",
    "203.0.113.72",
    "198.51.100.73",
    "2001:db8:7:7:1:2:3:4",
    "198.51.100.74",
    "198.51.100.75",
    "198.51.100.76",
    "198.51.100.77",
];

/// Clients, a referrer, a parameter, an agent and a line in no format that have addresses.
fn log() -> String {
    let line = |client: &str, target: &str, referer: &str, agent: &str| {
        format!(
            "{client} - - [17/Dec/2025:09:03:01 +0000] \"GET {target} HTTP/1.1\" 200 5 \"{referer}\" \
             \"{agent}\"\n"
        )
    };
    let [a, b, c, v6, referer, parameter, agent, unparsed] = ADDRESSES;
    [
        line(a, "/", "-", "curl"),
        line(b, "/", "-", "curl"),
        line(c, "/", &format!("http://{referer}/x"), "curl"),
        line(
            v6,
            &format!("/?ip=v{parameter}&q=%20{parameter}%22"),
            "-",
            &format!("bot{agent} {}", v6.replace(':', "%3A")),
        ),
        format!("failure of ip{unparsed}..{unparsed}:{v6}, no request\n"),
    ]
    .concat()
}

#[track_caller]
fn check_hidden(what: &str, output: &[u8]) {
    assert!(!output.is_empty(), "{what}");
    for address in ADDRESSES {
        let found = output.windows(address.len()).any(|window| window == address.as_bytes());
        assert!(!found, "{what} has {address}: {}", String::from_utf8_lossy(output));
    }
}

/// The output of a command with `--anonymize`.
fn anonymous(arguments: &[&str], log: &Path) -> String {
    let run = run([arguments, &["--anonymize", text(log)]].concat());
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    check_hidden("messages", format!("-{}", run.stderr).as_bytes());
    run.stdout
}

#[test]
fn no_output_has_an_address_of_the_log() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    for arguments in [
        &["report"][..],
        &["report", "--json", "--visitors", "--group", "client"],
        &["report", "--csv"],
        &["report", "--html", "-"],
        &["count", "--by", "client,referer", "--json"],
        &["export", "--to", "csv", "--output", "-"],
        &["export", "--to", "jsonl", "--output", "-"],
        &["export", "--to", "parquet", "--output", "-"],
        &["export", "--to", "arrow", "--output", "-"],
    ] {
        let shown = if arguments.contains(&"parquet") || arguments.contains(&"arrow") {
            // Not text.
            let file = folder.path("table");
            let name = text(&file).to_owned();
            let arguments = [&arguments[..arguments.len() - 1], &[name.as_str()]].concat();
            anonymous(&arguments, &path);
            fs::read(&file).expect("it was written")
        } else {
            anonymous(arguments, &path).into_bytes()
        };
        check_hidden(&format!("{arguments:?}"), &shown);
    }
    // The test would find them: they are there without the option.
    let plain = run(["report", "--json", text(&path)]).stdout;
    assert!(ADDRESSES[..7].iter().all(|address| plain.contains(address)), "{plain}");
    assert!(run(["report", text(&path)]).stdout.contains(ADDRESSES[7]));
}

#[test]
fn a_saved_data_set_never_had_them() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let saved = folder.path("a.weir");
    anonymous(&["save", text(&saved)], &path);
    check_hidden("the file", &fs::read(&saved).expect("it was written"));
    let shown = run(["report", "--json", text(&saved)]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    check_hidden("its report", shown.stdout.as_bytes());
    assert!(shown.stdout.contains("\"203.0.113.0\""), "{}", shown.stdout);

    let refused = run(["report", "--anonymize", text(&saved)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("weir save --anonymize"), "{}", refused.stderr);
}

#[test]
fn levels_hide_more_and_more() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    for (level, clients) in [
        ("--anonymize=1", ["203.0.113.0", "198.51.100.0", "2001:db8:7:7::"]),
        ("--anonymize=2", ["203.0.0.0", "198.51.0.0", "2001:db8:7::"]),
        ("--anonymize=3", ["203.0.0.0", "198.0.0.0", "2001:db8::"]),
    ] {
        let counted = run(["count", "--by", "client", "--csv", level, text(&path)]).stdout;
        for client in clients {
            assert!(counted.contains(&format!("\n{client},")), "{level} {client}: {counted}");
        }
    }
    let wrong = run(["report", "--anonymize=4", text(&path)]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("levels 1, 2 and 3"), "{}", wrong.stderr);
    let lines = run(["export", "--to", "lines", "--output", "-", "--anonymize", text(&path)]);
    assert_eq!(lines.code, 2, "{}", lines.stdout);
    assert!(lines.stdout.is_empty() && lines.stderr.contains("--anonymize"), "{}", lines.stderr);
    // A condition sees what is left.
    let counted = run(["count", "--where", "client=203.0.113.71", "--anonymize", text(&path)]);
    assert_eq!(counted.stdout, "0\n");
    let counted = run(["count", "--where", "client=203.0.113.0", "--anonymize", text(&path)]);
    assert_eq!(counted.stdout, "2\n");
}

#[test]
fn a_log_in_no_format_shows_no_address() {
    let folder = Folder::new();
    let mut lines: String = (0..200).map(|n| format!("failure {n} of 198.51.100.77 !\n")).collect();
    // A line that is read by chance, before a format is found.
    lines += log().lines().next().unwrap_or_default();
    let path = folder.file("a.log", lines.as_bytes());
    for arguments in [&["report"][..], &["report", "--json"], &["count", "--by", "client"]] {
        let run = run([arguments, &["--anonymize", text(&path)]].concat());
        check_hidden(
            &format!("{arguments:?}"),
            format!("-{}{}", run.stdout, run.stderr).as_bytes(),
        );
    }
}
