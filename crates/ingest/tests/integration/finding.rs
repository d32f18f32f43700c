//! Rotated logs are ordered by their times.

use std::path::PathBuf;

use weir_ingest::{FormatChoice, Input, find_inputs};

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
    let (inputs, faults) = find_inputs(&named, &FormatChoice::Detect);
    std::fs::remove_dir_all(&folder).expect("it is there");
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(inputs, [oldest, other, timeless, newer, newest]);
}
