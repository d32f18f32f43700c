//! docs/formats.md, generated from the files of the known formats.

use std::fs;
use std::path::PathBuf;

use crate::shell::{Outcome, command, output_of, root};

fn path() -> PathBuf {
    root().join("docs/formats.md")
}

/// Writes the page.
pub(crate) fn write() -> Outcome {
    fs::write(path(), rendered()?)?;
    Ok(())
}

/// Fails if the page differs from what [`write()`] would write.
pub(crate) fn check() -> Outcome {
    if fs::read_to_string(path()).unwrap_or_default() == rendered()? {
        return Ok(());
    }
    Err("docs/formats.md is out of date; run `cargo xtask formats`".into())
}

/// Runs the example of core that prints the page. So xtask itself does not depend on core, which
/// keeps its build short.
fn rendered() -> Outcome<String> {
    let folder = crate::shell::build_workspace(&["--example", "formats_page"])?;
    let program = folder.join("examples/formats_page");
    output_of(&mut command(&program.to_string_lossy(), &[]))
}
