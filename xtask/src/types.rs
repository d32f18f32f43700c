//! The TypeScript that the page shares with the server, generated from crates/view.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{FEATURES, Outcome, command, execute, is_built, root, target_folder};

fn folder() -> PathBuf {
    root().join("web/src/generated")
}

/// Writes the files, and removes those of types that are gone.
pub(crate) fn write() -> Outcome {
    let folder = folder();
    for name in files(&folder)?.into_keys() {
        fs::remove_file(folder.join(name))?;
    }
    generate(&folder)
}

/// Fails if the files differ from what [`write()`] would write.
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

/// Runs the example of view that writes the files.
fn generate(into: &Path) -> Outcome {
    fs::create_dir_all(into)?;
    if !is_built() {
        let mut cargo = command("cargo", &["build", "--quiet", "--workspace"]);
        execute(cargo.args(FEATURES).args(["--example", "page_types"]))?;
    }
    let program = root().join(target_folder()).join("debug/examples/page_types");
    execute(command(&program.to_string_lossy(), &[]).arg(into))
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
