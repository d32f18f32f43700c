//! Finds the files that jails of fail2ban and rules of ModSecurity name, if `--filter-dir` does not give them.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::load::read;
use crate::outcome::Failure;
use crate::sources::cannot_read;

/// The endings of the files that fail2ban merges with a filter.
const MERGED_ENDINGS: [&str; 2] = ["conf", "local"];

/// Where fail2ban has its configuration and its filters.
const INSTALLED: [&str; 2] = ["/etc/fail2ban/filter.d", "/etc/fail2ban"];

/// The folders that are searched for the files of a rule, in order.
pub(super) struct FilterFolders(Vec<PathBuf>);

impl FilterFolders {
    /// The folders of the rule's files, the `filter.d` in each of them, and those of fail2ban.
    pub(super) fn of(rule_folders: &[PathBuf]) -> Self {
        let beside = rule_folders.iter().flat_map(|it| [it.clone(), it.join("filter.d")]);
        Self(beside.chain(INSTALLED.map(PathBuf::from)).collect())
    }

    /// Returns the text of a file. A `.conf` file and its `.local` file come from the same folder,
    /// but not from one in which such a file is the rule itself: a jail `sshd.local` is not a part
    /// of the filter `sshd`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn find(&self, name: &str, rule: &str) -> Result<Option<String>, Failure> {
        let named = Path::new(name);
        let Some(folder) = self.folder_of(named, rule) else { return Ok(None) };
        let path = folder.join(named);
        if !path.is_file() {
            return Ok(None);
        }
        let text = read(&path);
        text.map(Some).map_err(|reason| Failure::new(format_args!("{}: {reason}", path.display())))
    }

    /// Returns the files of a folder such as `sshd.d` that is beside a filter, by their names.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub(super) fn list(&self, name: &str, rule: &str) -> Result<Vec<(String, String)>, Failure> {
        match self.folder_of(&Path::new(name).with_extension("conf"), rule) {
            Some(folder) => files_of(&folder.join(name)),
            None => Ok(Vec::new()),
        }
    }

    /// The first folder that has a file or its `.conf` or `.local` file.
    fn folder_of(&self, named: &Path, rule: &str) -> Option<&PathBuf> {
        let local = named.with_extension("local");
        let conf = named.with_extension("conf");
        let has_it = |folder: &&PathBuf| {
            let files = [named, &local, &conf].map(|file| folder.join(file));
            let is_rule = |file: &PathBuf| read(file).is_ok_and(|text| text == rule);
            files.iter().any(|file| file.is_file()) && !files.iter().any(is_rule)
        };
        self.0.iter().find(has_it)
    }
}

/// Returns the files in the folder of a filter that fail2ban merges with it, in the order of their
/// names; none if there is no such folder.
///
/// # Errors
/// If one of them cannot be read.
pub(super) fn files_of(folder: &Path) -> Result<Vec<(String, String)>, Failure> {
    let shown = folder.display();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => {
            return Err(Failure::new(format_args!("{shown}: {}", cannot_read(&error))));
        }
    };
    let is_merged = |ending: &OsStr| MERGED_ENDINGS.iter().any(|known| ending == OsStr::new(known));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(is_merged) && path.is_file());
    paths.sort();
    let file = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read(path)
            .map_err(|reason| Failure::new(format_args!("{}: {reason}", path.display())))?;
        Ok((name, text))
    };
    paths.iter().map(file).collect()
}
