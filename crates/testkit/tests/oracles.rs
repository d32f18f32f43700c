//! The oracles in Rust and Python agree with each other and with the generator.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use weir_demo::{Traffic, TrafficOptions};
use weir_testkit::fixtures;
use weir_testkit::oracle::{Layout, Oracle};

const LAYOUTS: [(Layout, &str); 4] = [
    (Layout::Combined, "combined"),
    (Layout::Vcombined, "vcombined"),
    (Layout::Common, "common"),
    (Layout::Vcommon, "vcommon"),
];

/// A file that is deleted on drop.
struct TemporaryLog(PathBuf);

impl TemporaryLog {
    fn new(name: &str, log: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("weir-{}-{name}", std::process::id()));
        std::fs::write(&path, log).expect("the temporary folder can be written");
        Self(path)
    }
}

impl Drop for TemporaryLog {
    fn drop(&mut self) {
        // A file that remains in the temporary folder does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Whether Python is installed. If not, prints a notice, and fails in continuous integration.
fn has_python() -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        eprintln!("python3 is not installed: the oracle in Python was not compared");
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "python3 is not installed");
    }
    has
}

fn python(path: &Path, layout: &str, offset_s: i64) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/report.py");
    let output = Command::new("python3")
        .arg(script)
        .args(["--layout", layout, "--top", "50", "--step", "3600"])
        .arg(format!("--offset={offset_s}"))
        .arg(path)
        .output()
        .expect("python3 runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", path.display());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn compare(path: &Path, offset_s: i64) {
    let log = std::fs::read(path).expect("a log that can be read");
    for (layout, name) in LAYOUTS {
        let rust = Oracle::read(layout, &log).to_json(50, 3600, offset_s);
        assert!(rust == python(path, name, offset_s), "{} as {name}", path.display());
    }
}

fn generate(bytes: u64, dirt_every: u32) -> (Vec<u8>, weir_demo::Ledger) {
    let options = TrafficOptions { bytes: Some(bytes), ..TrafficOptions::default() };
    let mut traffic = Traffic::new(options).with_ledger().with_dirt_every(dirt_every);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 20) > 0 {}
    (log, traffic.ledger().expect("the traffic has a ledger").clone())
}

#[test]
fn rust_and_python_agree_on_generated_traffic() {
    if has_python() {
        let (mut log, _) = generate(4 << 20, 20);
        log.extend_from_slice(b"\0\0\0\r\n\0\0");
        log.extend_from_slice(&vec![b'x'; (1 << 20) + 1]);
        compare(&TemporaryLog::new("generated.log", &log).0, 12_600);
    }
}

#[test]
fn rust_and_python_agree_on_real_logs() {
    if has_python() {
        let mut paths = vec![
            fixtures::elastic_near_8899(),
            fixtures::hackers_first_1000(),
            fixtures::shop_first_300(),
            fixtures::bad_access_log(),
            fixtures::crlf(),
            fixtures::invalid_utf8(),
            fixtures::dirt(),
        ];
        paths.extend(fixtures::apache_common());
        paths.extend(fixtures::apache_vhost());
        paths.extend(fixtures::nginx_combined().into_iter().take(3));
        for path in paths {
            compare(&path, 0);
        }
    }
}

#[test]
fn the_oracle_agrees_with_the_generator() {
    for dirt_every in [0, 10] {
        let (log, ledger) = generate(3 << 20, dirt_every);
        let oracle = Oracle::read(Layout::Combined, &log);
        assert_eq!((oracle.lines, oracle.unparsed_lines), (ledger.lines, ledger.unparsed_lines));
        assert_eq!((oracle.bytes_sent(), oracle.time_s()), (ledger.bytes_sent, ledger.time));
        assert_eq!(oracle.top("status", 99).len(), ledger.by_status.len());
        for row in oracle.top("status", 99) {
            let status = String::from_utf8_lossy(&row.value).parse().expect("a number");
            assert_eq!(ledger.by_status[&status], row.count);
        }
        for row in oracle.top("method", 99) {
            assert_eq!(ledger.by_method[&*String::from_utf8_lossy(&row.value)], row.count);
        }
        let not_http: u64 = oracle.top("request", 99).iter().map(|row| row.count).sum();
        assert_eq!(not_http, ledger.not_http);
    }
}

#[test]
fn fixtures_have_the_documented_records() {
    let read = |layout, path: PathBuf| {
        Oracle::read(layout, &std::fs::read(&path).expect("a fixture that can be read"))
    };
    let near = read(Layout::Combined, fixtures::elastic_near_8899());
    assert_eq!((near.lines, near.unparsed_lines), (41, 1));
    assert_eq!(read(Layout::Combined, fixtures::elastic_first_2000()).records_read, 2000);
    assert_eq!(read(Layout::Combined, fixtures::hackers_first_1000()).records_read, 1000);
    assert_eq!(read(Layout::Combined, fixtures::bad_access_log()).unparsed_lines, 1);
    let lists = [
        (Layout::Combined, fixtures::nginx_combined(), 24),
        (Layout::Combined, fixtures::apache_combined(), 2),
        (Layout::Combined, fixtures::access_logs(), 2),
        (Layout::Common, fixtures::apache_common(), 2),
        (Layout::Vcombined, fixtures::apache_vhost(), 1),
    ];
    for (layout, paths, count) in lists {
        assert_eq!(paths.len(), count);
        for path in paths {
            let oracle = read(layout, path.clone());
            assert!(
                oracle.lines > 0 && oracle.unparsed_lines == 0,
                "{} {}",
                path.display(),
                oracle.unparsed_lines
            );
        }
    }
    assert_eq!(read(Layout::Combined, fixtures::dirt()).lines, 265);
    assert_eq!(read(Layout::Combined, fixtures::parser_cases()).lines, 91);
    assert!(fixtures::caddy().iter().all(|path| path.exists()));
}
