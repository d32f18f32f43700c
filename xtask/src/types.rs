//! The page's TypeScript declarations, generated from crates/view.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Outcome, command, execute, root, target_folder};

fn folder() -> PathBuf {
    root().join("web/src/generated")
}

/// Writes the declarations.
pub(crate) fn write() -> Outcome {
    generate(&folder())
}

/// Fails if the declarations differ from what [`write()`] would write.
pub(crate) fn check() -> Outcome {
    let fresh = target_folder().join("generated-types");
    if fresh.exists() {
        fs::remove_dir_all(&fresh)?;
    }
    generate(&fresh)?;
    if files(&fresh)? != files(&folder())? {
        return Err("web/src/generated is out of date; run `cargo xtask types`".into());
    }
    Ok(())
}

fn generate(into: &Path) -> Outcome {
    fs::create_dir_all(into)?;
    // The tests of this feature write the files. Numbers fit a double, because counts of lines and
    // bytes stay below 2^53.
    execute(
        command(
            "cargo",
            &[
                "test",
                "--quiet",
                "--package",
                "weir-view",
                "--features",
                "typescript",
                "--lib",
                "export_bindings",
            ],
        )
        .env("TS_RS_EXPORT_DIR", into)
        .env("TS_RS_LARGE_INT", "number")
        .stdout(std::process::Stdio::null()),
    )
}

fn files(folder: &Path) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(files)
}
