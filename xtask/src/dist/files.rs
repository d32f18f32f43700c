//! The files of a release, apart from how they are packed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_tools::shell::{Outcome, output_of, root, target_folder};

use super::build::{Commit, Target};
use super::notices;

/// What the files are made of.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) program: &'a Path,
    /// The same program for this machine.
    pub(super) own: &'a Path,
    pub(super) commit: &'a Commit,
    pub(super) target: &'a Target,
}

/// The shells that have completions, with the name of the file in an archive.
pub(super) const SHELLS: [(&str, &str); 3] =
    [("bash", "weir.bash"), ("zsh", "_weir"), ("fish", "weir.fish")];

impl Parts<'_> {
    /// The pages of the manual, by their names.
    pub(super) fn manual(&self) -> Outcome<Vec<(String, String)>> {
        let folder = empty_folder(&root().join(target_folder()).join("dist/manual"))?;
        output_of(Command::new(self.own).args(["man", "--folder"]).arg(&folder))?;
        let mut pages = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            pages.push((name, fs::read_to_string(&path)?));
        }
        pages.sort();
        Ok(pages)
    }

    /// The completions of a shell.
    pub(super) fn completions(&self, shell: &str) -> Outcome<String> {
        self.printed(&["completions", shell])
    }

    /// The licences of what others wrote.
    pub(super) fn notices(&self) -> Outcome<String> {
        notices::collect(self.target.name)
    }

    fn printed(&self, arguments: &[&str]) -> Outcome<String> {
        output_of(Command::new(self.own).args(arguments))
    }
}

/// A new, empty folder.
pub(super) fn empty_folder(path: &Path) -> Outcome<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path)?;
    Ok(path.to_path_buf())
}

/// Writes a file, and the folders above it.
pub(super) fn write(path: &Path, content: impl AsRef<[u8]>, mode: u32) -> Outcome {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content)?;
    set_mode(path, mode)
}

/// Copies a file of the repository, or a program.
pub(super) fn copy(from: impl AsRef<Path>, to: &Path, mode: u32) -> Outcome {
    write(to, fs::read(root().join(from))?, mode)
}

fn set_mode(path: &Path, mode: u32) -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(())
}
