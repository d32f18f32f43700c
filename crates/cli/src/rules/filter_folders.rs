//! Finds the files that a jail of fail2ban names, if `--filter-dir` does not give them.

use std::path::{Path, PathBuf};

use super::load::read;
use crate::outcome::Failure;

/// Where fail2ban has its configuration and its filters.
const INSTALLED: [&str; 2] = ["/etc/fail2ban/filter.d", "/etc/fail2ban"];

/// The folders that are searched for the files of a rule, in order.
pub(super) struct FilterFolders(Vec<PathBuf>);

impl FilterFolders {
    /// The folder of the rule, if it is a file, its `filter.d`, and those of fail2ban.
    pub(super) fn of(rule_file: Option<&Path>) -> Self {
        let beside = rule_file.and_then(Path::parent);
        let beside = beside.into_iter().flat_map(|folder| [folder.into(), folder.join("filter.d")]);
        Self(beside.chain(INSTALLED.map(PathBuf::from)).collect())
    }

    /// Returns the text of a file. A `.conf` file and its `.local` file come from the same folder.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn find(&self, name: &str) -> Result<Option<String>, Failure> {
        let named = Path::new(name);
        let local = named.with_extension("local");
        let conf = named.with_extension("conf");
        let has_it = |folder: &&PathBuf| {
            [named, &local, &conf].iter().any(|file| folder.join(file).is_file())
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
