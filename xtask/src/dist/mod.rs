//! What a release consists of: programs, archives, a package for Debian, and their checksums.
//!
//! [`build`] compiles so that two builds of a commit are equal, [`notices`] collects the licences of
//! what others wrote, [`archive`] makes the archives and [`deb`] the package. [`check`] installs the
//! package.

mod archive;
mod build;
mod check;
mod deb;
mod files;
mod notices;

use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use weir_tools::shell::{Outcome, root, target_folder};

use build::{Commit, Target};

/// Makes a release in `target/dist`, of the commit that is checked out.
///
/// # Errors
/// If an argument is unknown, or a part cannot be made.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    if let ["check", rest @ ..] = arguments {
        return check::run(rest);
    }
    let targets = targets(arguments)?;
    let commit = Commit::current()?;
    let folder = folder()?;
    let mut made = Vec::new();
    let own = build::own_program(&commit)?;
    for target in targets {
        let Some(program) = build::program(target, &commit)? else { continue };
        let parts = files::Parts { program: &program, own: &own, commit: &commit, target };
        made.push(archive::make(&parts, &folder)?);
        if target.is_of_debian {
            made.push(deb::make(&parts, &commit.version, &folder)?);
        }
    }
    write_checksums(&made, &folder)
}

/// Returns the targets that the arguments name, or all.
fn targets(arguments: &[&str]) -> Outcome<Vec<&'static Target>> {
    match arguments {
        [] => Ok(build::TARGETS.iter().collect()),
        names => names.iter().map(|name| build::target(name)).collect(),
    }
}

/// The folder of the release, which exists.
fn folder() -> Outcome<PathBuf> {
    let folder = root().join(target_folder()).join("dist");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Writes the checksums of the files, as `sha256sum --check` reads them.
fn write_checksums(made: &[PathBuf], folder: &std::path::Path) -> Outcome {
    let mut text = String::new();
    for path in made {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (bytes, megabytes) = (fs::read(path)?, fs::metadata(path)?.len() as f64 / 1e6);
        let digest: String =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        println!("{}  {megabytes:.1} MB", path.display());
        text += &format!("{digest}  {name}\n");
    }
    fs::write(folder.join("SHA256SUMS"), text)?;
    Ok(())
}
