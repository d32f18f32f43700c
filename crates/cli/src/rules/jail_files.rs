//! Finds the files that fail2ban merges with `jail.conf` or `jail.local`.
//!
//! Source: `client/configreader.py` of fail2ban: `jail.conf`, `jail.d/*.conf`, `jail.local`,
//! `jail.d/*.local`, each in the order of the names.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use weir_rules::RuleFiles;

use super::load::read;
use crate::outcome::{Failure, say};
use crate::sources::cannot_read;

/// The main files. If a folder has both, the last one is changed by people.
const MAIN_FILES: [&str; 2] = ["jail.conf", "jail.local"];

/// The most files in `jail.d`.
const FILES_MAX: usize = 1_000;

/// Returns the file of jails of a configuration folder of fail2ban.
pub(super) fn main_file(folder: &Path) -> Option<PathBuf> {
    MAIN_FILES.iter().rev().map(|name| folder.join(name)).find(|file| file.is_file())
}

/// Adds the files that fail2ban merges with a file of jails, and says which.
///
/// # Errors
/// If one of them cannot be read, or there are too many.
pub(super) fn add_merged(files: &mut RuleFiles, file: &Path) -> Result<(), Failure> {
    let name = file.file_name().unwrap_or_default();
    if !MAIN_FILES.iter().any(|main| name == *main) {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let (mut is_later, mut names) = (false, Vec::new());
    for other in in_order(folder)? {
        if other == file {
            is_later = true;
            continue;
        }
        let shown = other.display();
        let text = read(&other)
            .map_err(|reason| Failure::new(format_args!("--rule: {shown}: {reason}")))?;
        let name = other.strip_prefix(folder).unwrap_or(&other).display().to_string();
        names.push(name.clone());
        if is_later {
            files.add_later(name, text);
        } else {
            files.add_earlier(name, text);
        }
    }
    if !names.is_empty() {
        let (shown, names) = (file.display(), names.join(", "));
        say(format_args!("--rule: {shown}: read with {names}, as by fail2ban"));
    }
    Ok(())
}

/// The files of jails in a folder, in the order in which fail2ban reads them.
fn in_order(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder_of_others = folder.join("jail.d");
    let mut others: Vec<PathBuf> = match fs::read_dir(&folder_of_others) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let (shown, reason) = (folder_of_others.display(), cannot_read(&error));
            return Err(Failure::new(format_args!("--rule: {shown}: {reason}")));
        }
    };
    others.retain(|other| other.is_file());
    others.sort();
    if others.len() > FILES_MAX {
        let shown = folder.display();
        let message = format_args!("--rule: {shown}/jail.d has more than {FILES_MAX} files");
        return Err(Failure::new(message));
    }
    let with = |ending: &'static str| {
        let main = folder.join(format!("jail.{ending}"));
        let others =
            others.iter().filter(move |it| it.extension().is_some_and(|end| end == ending));
        Some(main).filter(|main| main.is_file()).into_iter().chain(others.cloned())
    };
    Ok(with("conf").chain(with("local")).collect())
}
