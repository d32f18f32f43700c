//! Damaged files end with an error or other rows, but never in a panic or a claim of memory.

use std::path::Path;

use super::rows::read;

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    std::fs::read(path).expect("a file")
}

/// The places of a file to damage: all of the footer and the first pages, and some between.
fn places(length: usize) -> impl Iterator<Item = usize> {
    (0..length).filter(move |at| *at < 100 || at % 37 == 0 || length - at < 800)
}

#[test]
fn cut_files_are_errors() {
    for name in ["snappy.parquet", "duckdb.parquet"] {
        let whole = file(name);
        for length in places(whole.len()) {
            let (rows, result) = read(whole[..length].to_vec());
            let error = result.expect_err("a cut file").to_string();
            assert!(error.contains("damaged or truncated"), "{name}, {length} bytes: {error}");
            assert!(rows.is_empty());
        }
    }
}

#[test]
fn flipped_bytes_are_survived() {
    for name in ["zstd_version_2.parquet", "deltas_1.parquet", "plain.parquet", "nested.parquet"] {
        let whole = file(name);
        for at in places(whole.len()) {
            for mask in [0xFF, 0x01] {
                let mut damaged = whole.clone();
                damaged[at] ^= mask;
                // Some bytes are not used, and others are those of a value.
                let (rows, _) = read(damaged);
                assert!(rows.len() <= 100_000, "{name}: byte {at} with {mask:#x}: {}", rows.len());
            }
        }
    }
}

#[test]
fn encrypted_and_foreign_files_are_named() {
    let mut encrypted = file("plain.parquet");
    let end = encrypted.len();
    encrypted[end - 4..].copy_from_slice(b"PARE");
    let error = read(encrypted).1.expect_err("an encrypted file").to_string();
    assert_eq!(error, "is an encrypted Parquet file; write it again without encryption");

    for (bytes, expected) in [
        (b"PAR1".to_vec(), "it is too short"),
        (b"PAR1\xFF\xFF\xFF\x01PAR1".to_vec(), "its footer is longer than the file"),
        (b"PAR1\xFF\xFF\xFF\xFFPAR1".to_vec(), "has a footer of 4095 MiB"),
        (b"PAR1\0\0\0\0PAR1".to_vec(), "its structures end too early"),
    ] {
        let error = read(bytes).1.expect_err("no table").to_string();
        assert!(error.contains(expected), "{error}");
    }
}
