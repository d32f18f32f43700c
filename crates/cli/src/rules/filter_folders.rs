//! Finds the files that jails of fail2ban and rules of ModSecurity name, if `--filter-dir` does not give them.

use std::path::{Path, PathBuf};

use super::load::read;
use crate::outcome::Failure;

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
        let local = named.with_extension("local");
        let conf = named.with_extension("conf");
        let has_it = |folder: &&PathBuf| {
            let files = [named, &local, &conf].map(|file| folder.join(file));
            let is_rule = |file: &PathBuf| read(file).is_ok_and(|text| text == rule);
            files.iter().any(|file| file.is_file()) && !files.iter().any(is_rule)
        };
        let Some(folder) = self.0.iter().find(has_it) else { return Ok(None) };
        let path = folder.join(named);
        if !path.is_file() {
            return Ok(None);
        }
        let text = read(&path);
        text.map(Some).map_err(|reason| Failure::new(format_args!("{}: {reason}", path.display())))
    }
}
