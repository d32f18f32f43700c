//! Checks that the crates follow ARCHITECTURE.md. Most checks look for something that must not be
//! there. Each message states what to do.

mod cycles;
mod dependencies;
mod forbidden;
mod layers;
mod sources;
mod syntax;
mod text;
mod used_by;

use std::fs;
use std::path::PathBuf;

use crate::shell::{Outcome, command, output_of, root};
use layers::{EXCEPTIONS, FORBIDDEN};

pub(crate) fn run() -> Outcome {
    let mut faults = Vec::new();
    dependencies::check(&mut faults)?;
    let files = tracked_files()?;
    for file in &files {
        text::check(file, &fs::read_to_string(root().join(file))?, &mut faults);
    }
    let mut forbidden = forbidden::Check::new(FORBIDDEN, EXCEPTIONS);
    for (name, sources) in sources::by_crate(&files)? {
        for (module, file) in &sources.files {
            let syntax = &sources.modules[module];
            forbidden.file(&name, file, syntax, &mut faults);
            faults.extend(syntax.glob_exports.iter().map(|line| {
                format!("{file}:{line}: re-export by name, so that a reader sees what there is")
            }));
        }
        cycles::check(&name, &sources.modules, &mut faults);
    }
    forbidden.finish(&mut faults);
    if faults.is_empty() {
        return Ok(());
    }
    Err(faults.join("\n").into())
}

/// Rust and TypeScript sources that git tracks, or would track; generated ones are left out.
fn tracked_files() -> Outcome<Vec<PathBuf>> {
    let list = output_of(&mut command(
        "git",
        &["ls-files", "--cached", "--others", "--exclude-standard"],
    ))?;
    let is_source = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("rs" | "ts" | "tsx"))
            && !path.starts_with("web/src/generated")
            && root().join(path).is_file()
    };
    Ok(list.lines().map(PathBuf::from).filter(is_source).collect())
}
