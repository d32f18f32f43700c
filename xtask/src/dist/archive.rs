//! The archive of a release: the program with its manual, completions and units.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_tools::shell::{Outcome, execute};

use super::files::{Parts, SHELLS, copy, empty_folder, write};

/// Makes the archive of a target in a folder, and returns its path.
pub(super) fn make(parts: &Parts<'_>, folder: &Path) -> Outcome<PathBuf> {
    let name = format!("weir-{}-{}", parts.commit.version, parts.target.name);
    let staged = empty_folder(&folder.join("staged").join(&name))?;
    copy(parts.program, &staged.join("weir"), 0o755)?;
    for document in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(document, &staged.join(document), 0o644)?;
    }
    write(&staged.join("THIRD-PARTY.md"), parts.notices()?, 0o644)?;
    for (page, text) in parts.manual()? {
        write(&staged.join(format!("man/{page}.1")), text, 0o644)?;
    }
    for (shell, file) in SHELLS {
        write(&staged.join("completions").join(file), parts.completions(shell)?, 0o644)?;
    }
    for unit in ["weir.service", "weir-gateway.service"] {
        let path = format!("packaging/systemd/{unit}");
        copy(path, &staged.join("systemd").join(unit), 0o644)?;
    }
    for file in ["default", "gateway.toml", "weir.toml"] {
        copy(format!("packaging/etc/{file}"), &staged.join("etc").join(file), 0o644)?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    pack(&folder.join("staged"), &name, parts.commit.time_s, &archive)?;
    Ok(archive)
}

/// Packs a folder. Names are sorted, and times and owners are those of no machine.
fn pack(parent: &Path, name: &str, time_s: u64, archive: &Path) -> Outcome {
    let mut tar = Command::new("tar");
    tar.current_dir(parent).args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--format=ustar", "--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n"]);
    tar.arg(format!("--mtime=@{time_s}")).arg("--create").arg("--file").arg(archive).arg(name);
    execute(&mut tar)
}
