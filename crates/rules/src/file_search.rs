//! Finds the files that a text of rules refers to.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::files::RuleFiles;
use crate::parse;
use crate::rule::Family;

/// The most files that are looked up for one text, whether or not they are found.
const LOOKED_UP_MAX: usize = 1_000;

/// The most files of the folder of a filter.
const FOLDER_FILES_MAX: usize = 100;

/// The longest name of a file that is looked up, in bytes.
const NAME_BYTES_MAX: usize = 255;

impl RuleFiles {
    /// Adds the files that a text of rules names: the filters of fail2ban's jails, and the files
    /// that the text and the filters include. Only those that it lacks are looked up, each once.
    /// `text`, `name` and `family` are as for [`parse_rules`](crate::parse_rules).
    ///
    /// `find` returns the text of a file by its name, or `None` if there is no such file. The names
    /// are those in the text without their folders. They contain no separator of folders, and do
    /// not begin with a dot. Of each file, fail2ban reads `NAME.conf` and then `NAME.local`, if
    /// they exist.
    ///
    /// Returns the names of the files that are missing, in the order of the text. A text that names
    /// none is complete; so is one with a mistake, which [`parse_rules`](crate::parse_rules)
    /// reports.
    ///
    /// # Errors
    /// The first error of `find`. The files up to it were added.
    ///
    /// # Examples
    /// ```
    /// use std::convert::Infallible;
    /// use weir_rules::{RuleFiles, parse_rules};
    ///
    /// let jail = "[web]\nfilter = nginx-botsearch\nmaxretry = 3\n";
    /// let filter = "[Definition]\nfailregex = ^<HOST> .* 404\n";
    /// let mut files = RuleFiles::default();
    ///
    /// let missing = files.complete(jail, "jail", None, |_| Ok::<Option<&str>, Infallible>(None));
    /// assert_eq!(missing, Ok(vec!["nginx-botsearch.conf".to_owned()]));
    ///
    /// let find = |name: &str| Ok::<_, Infallible>((name == "nginx-botsearch.conf").then_some(filter));
    /// assert_eq!(files.complete(jail, "jail", None, find), Ok(Vec::new()));
    /// assert_eq!(parse_rules(jail, "jail", None, &files)?.len(), 1);
    /// # Ok::<(), weir_rules::RuleError>(())
    /// ```
    pub fn complete<T: Into<Arc<str>>, E>(
        &mut self,
        text: &str,
        name: &str,
        family: Option<Family>,
        find: impl FnMut(&str) -> Result<Option<T>, E>,
    ) -> Result<Vec<String>, E> {
        self.complete_with_folders(text, name, family, find, |_| Ok(Vec::new()))
    }

    /// As [`Self::complete`], with the files in the folders of filters, which fail2ban merges with them:
    /// after `NAME.conf` those of `NAME.d` that end with `.conf`, and after `NAME.local` those that end
    /// with `.local`. `list` returns the names and texts of the files in a folder such as `sshd.d`, if it
    /// is beside the filter; of more than a hundred the first are added.
    ///
    /// # Errors
    /// The first error of `find` or `list`.
    pub fn complete_with_folders<T: Into<Arc<str>>, E>(
        &mut self,
        text: &str,
        name: &str,
        family: Option<Family>,
        mut find: impl FnMut(&str) -> Result<Option<T>, E>,
        mut list: impl FnMut(&str) -> Result<Vec<(String, T)>, E>,
    ) -> Result<Vec<String>, E> {
        let mut looked_up = BTreeSet::new();
        let mut listed = BTreeSet::new();
        loop {
            let mut first_error = None;
            let mut used = BTreeSet::new();
            let merged = self.merged().clone();
            let missing = parse::missing_files((text, name), family, &merged, &mut |file| {
                if let Some(text) = self.shared_text(file) {
                    used.extend(folder_of(file));
                    return Some(text);
                }
                let may_look_up = first_error.is_none()
                    && is_plain_name(file)
                    && looked_up.len() < LOOKED_UP_MAX
                    && looked_up.insert(file.to_owned());
                if !may_look_up {
                    return None;
                }
                match find(file) {
                    Ok(found) => self.add(file.to_owned(), found?),
                    Err(error) => first_error = Some(error),
                }
                used.extend(folder_of(file));
                self.shared_text(file)
            });
            if let Some(error) = first_error {
                return Err(error);
            }
            // The files of a folder may include others.
            let mut has_more = false;
            for folder in used.into_iter().filter(|folder| listed.insert(folder.clone())) {
                for (name, text) in list(&folder)?.into_iter().take(FOLDER_FILES_MAX) {
                    has_more = true;
                    self.add_of_filter(&folder, &name, text);
                }
            }
            if !has_more {
                return Ok(missing);
            }
        }
    }
}

/// The folder of a filter, by the name of its file.
fn folder_of(file: &str) -> Option<String> {
    let stem = file.strip_suffix(".conf").or_else(|| file.strip_suffix(".local"))?;
    is_plain_name(file).then(|| format!("{stem}.d"))
}

/// Whether a name can be that of a file in any folder that is searched.
fn is_plain_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && !name.starts_with('.')
        && !name.contains(|char: char| ['/', '\\', ':'].contains(&char) || char.is_control())
}
