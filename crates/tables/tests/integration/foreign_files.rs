//! Files of pyarrow and DuckDB in all encodings and compressions that they write; see `files/make.py`.

use std::path::Path;

use super::rows::{expected, read};

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    std::fs::read(path).expect("a file")
}

#[test]
fn all_encodings_have_the_same_rows() {
    let expected = expected();
    for name in [
        "snappy",
        "gzip",
        "lz4",
        "zstd_version_2",
        "plain",
        "deltas_1",
        "deltas_2",
        "milliseconds",
        "nanoseconds",
        "int96",
        "nested",
        // As a tool joins exports of two programs: what half of the rows lack, others have.
        "merged",
        "duckdb",
        "duckdb_version_2",
    ] {
        let (rows, result) = read(file(&format!("{name}.parquet")));
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(rows.len(), expected.len(), "{name}");
        for (index, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            assert_eq!(row, expected, "{name}, row {index}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    for (name, expected) in [
        ("brotli", "is compressed with Brotli, which Weir does not unpack"),
        (
            "decimal_bytes",
            "the column `bytes` is of the type DECIMAL, but has to be a number; cast it",
        ),
        (
            "text_time",
            "the column `time` is of the type STRING, but has to be a timestamp; cast it",
        ),
        (
            "no_fields",
            "none of its columns has the name of a field, such as time, client, path or status; \
                       it has `a`, `b`",
        ),
    ] {
        let (rows, result) = read(file(&format!("{name}.parquet")));
        let error = result.expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!(rows, [], "{name}");
    }
}
