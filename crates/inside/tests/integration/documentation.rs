//! Tests that `docs/metrics.md` lists every metric.

use std::fmt::Write;
use std::path::PathBuf;

use weir_inside::METRICS;

/// Returns the path of a file in `docs`.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

pub(crate) fn read(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const HEAD: &str = "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n";

fn table() -> String {
    let mut table = HEAD.to_owned();
    for metric in METRICS {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind) = (metric.full_name(), metric.kind.name());
        let (unit, labels) = (metric.unit().unwrap_or_default(), labels.join(", "));
        writeln!(table, "| `{name}` | {kind} | {unit} | {labels} | {} |", metric.help)
            .expect("a string takes all");
    }
    table
}

/// With `BLESS=1` it writes the table.
#[test]
fn the_table_has_every_metric() {
    let text = read("metrics.md");
    let (before, rest) = text.split_once(HEAD).expect("the head of the table");
    let rows: String = rest.split_inclusive('\n').take_while(|it| it.starts_with('|')).collect();
    let after = &rest[rows.len()..];
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path("metrics.md"), format!("{before}{}{after}", table())).expect("written");
        return;
    }
    assert_eq!(format!("{HEAD}{rows}"), table(), "BLESS=1 writes the table anew");
}

#[test]
fn names_follow_the_conventions() {
    for metric in METRICS {
        let name = metric.name;
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(name.bytes().all(is_plain), "{name}");
        assert!(name.starts_with("weir_") || name.starts_with("process_"), "{name}");
        // These suffixes are reserved in one of the formats.
        for suffix in ["_total", "_count", "_sum", "_bucket", "_info", "_created"] {
            assert!(!name.ends_with(suffix), "{name}");
        }
        assert!(!metric.labels.contains(&"le") && !metric.labels.contains(&"instance"), "{name}");
        assert!(metric.help.ends_with('.') && !metric.help.contains('|'), "{name}");
    }
    let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), METRICS.len(), "each name once");
}
