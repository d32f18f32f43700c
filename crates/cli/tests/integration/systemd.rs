//! The units of docs/service.md, as systemd reads them.

use std::path::Path;
use std::process::Command;

use crate::support::Folder;

/// The units of the document with their names. They start the program under test.
fn units() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/service.md");
    let document = std::fs::read_to_string(path).expect("the document");
    let mut units = Vec::new();
    for part in document.split("`/etc/systemd/system/").skip(1) {
        let Some((name, rest)) = part.split_once("`:\n\n") else { continue };
        let is_of_unit = |line: &&str| line.is_empty() || line.starts_with("    ");
        let lines = rest.lines().take_while(is_of_unit).map(|line| line.trim_start());
        let text = lines.collect::<Vec<_>>().join("\n");
        units.push((
            name.to_owned(),
            text.replace("/usr/local/bin/weir", env!("CARGO_BIN_EXE_weir")),
        ));
    }
    units
}

/// What systemd says about these units.
fn verify(folder: &Folder, units: &[(String, String)]) -> String {
    let paths = units.iter().map(|(name, text)| folder.file(name, text.as_bytes()));
    let mut command = Command::new("systemd-analyze");
    let output = command.arg("verify").args(paths).output().expect("it runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs systemd; cargo xtask test runs it"]
fn the_documented_units_have_no_mistakes() {
    let mut units = units();
    let names: Vec<&str> = units.iter().map(|(name, _)| &**name).collect();
    let expected = ["weir.socket", "weir.service", "weir-gateway.socket", "weir-gateway.service"];
    assert_eq!(names, expected);
    let folder = Folder::new();
    assert_eq!(verify(&folder, &units), "");
    // A mistake would be found.
    units[1].1 = units[1].1.replace("MemoryMax", "MemryMax");
    assert!(verify(&folder, &units).contains("MemryMax"));
}
