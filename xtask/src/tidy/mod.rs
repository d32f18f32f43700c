//! Checks that the layers are what ARCHITECTURE.md says: mostly of things that must not be
//! there. Each message says what to do.

mod layers;

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Outcome, command, output_of, root};
use layers::LAYERS;

/// Words that may not stand in a crate's sources, and what to do instead.
const FORBIDDEN: [(&str, &str, &str); 9] = [
    ("core", "std::fs", "core does no I/O; read files in ingest and give core the bytes"),
    ("core", "std::io", "core does no I/O; give it slices of bytes"),
    ("core", "std::thread", "core starts no threads; ingest does"),
    ("core", "std::sync::Mutex", "core takes no locks; share its values in ingest"),
    ("core", "std::time", "core knows no clock; pass the time in"),
    ("core", "tokio", "core is not asynchronous"),
    ("core", "serde", "only view serialises; give it plain values"),
    ("ingest", "serde", "only view serialises"),
    ("net", "serde", "net carries bytes; view serialises"),
];

/// Lines a source file may have; the longest hold two things and want to be split.
const LINES_MAX: usize = 600;

pub(crate) fn run() -> Outcome {
    let mut faults = Vec::new();
    for (name, may_know) in LAYERS {
        check_dependencies(name, may_know, &mut faults)?;
    }
    for file in tracked_files()? {
        check_file(&file, &mut faults)?;
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(faults.join("\n").into())
}

fn check_dependencies(name: &str, may_know: &[&str], faults: &mut Vec<String>) -> Outcome {
    let path = root().join("crates").join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(&path)?;
    let mut section = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let Some(dependency) = line.split(['.', ' ', '=']).next() else { continue };
        let is_ours = dependency.starts_with("weir-");
        if section == "[dependencies]" && is_ours && !may_know.contains(&dependency) {
            faults.push(format!(
                "crates/{name} depends on {dependency}, which its layer must not know; see ARCHITECTURE.md"
            ));
        }
    }
    Ok(())
}

fn tracked_files() -> Outcome<Vec<PathBuf>> {
    let list = output_of(&mut command(
        "git",
        &["ls-files", "--cached", "--others", "--exclude-standard"],
    ))?;
    Ok(list.lines().map(PathBuf::from).filter(|path| root().join(path).is_file()).collect())
}

fn check_file(path: &Path, faults: &mut Vec<String>) -> Outcome {
    let shown = path.display();
    let is_source = path
        .extension()
        .is_some_and(|extension| extension == "rs" || extension == "ts" || extension == "tsx");
    if !is_source || path.starts_with("web/src/generated") {
        return Ok(());
    }
    let text = fs::read_to_string(root().join(path))?;
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults
            .push(format!("{shown} has {lines} lines; split it by subject ({LINES_MAX} at most)"));
    }
    for (number, line) in text.lines().enumerate() {
        let at = format!("{shown}:{}", number + 1);
        let code = line.trim_start();
        if code.starts_with("//") || path.starts_with("xtask") {
            continue;
        }
        if code.starts_with("pub use") && code.trim_end().ends_with("::*;") {
            faults.push(format!("{at}: re-export by name, so that a reader sees what there is"));
        }
        for (name, word, instead) in FORBIDDEN {
            let folder = Path::new("crates").join(name).join("src");
            if path.starts_with(folder) && code.contains(word) {
                faults.push(format!("{at}: `{word}`: {instead}"));
            }
        }
        if path.starts_with("web/src")
            && ["innerHTML", "outerHTML", "insertAdjacentHTML"]
                .iter()
                .any(|word| code.contains(word))
        {
            faults.push(format!("{at}: log text is hostile; set text nodes, never markup"));
        }
    }
    Ok(())
}
