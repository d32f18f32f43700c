//! The files that a text of rules refers to: those sent with it, and fail2ban's own on this machine.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use weir_rules::{Family, RuleFiles};
use weir_view::RuleText;

use super::rules::RULE_BYTES_MAX;
use crate::refusal::Refusal;

/// The folders in which fail2ban's packages install filters and what they include.
const INSTALLED: [&str; 2] = ["/etc/fail2ban/filter.d", "/etc/fail2ban"];

/// The most files that are sent with a text.
const FILES_MAX: usize = 256;

/// The files that a text refers to.
pub(super) struct FoundFiles {
    pub(super) files: RuleFiles,
    /// The names of those that are neither sent nor installed.
    pub(super) missing: Vec<String>,
}

/// Collects the files that a text refers to.
///
/// # Errors
/// If there are too many.
pub(super) fn files_of(
    rule: &RuleText,
    name: &str,
    family: Option<Family>,
) -> Result<FoundFiles, Refusal> {
    if rule.files.len() > FILES_MAX {
        let found = rule.files.len();
        let why = format!("there are {found} files beside the rule; send at most {FILES_MAX}");
        return Err(Refusal::BadRequest(why));
    }
    let mut files = RuleFiles::default();
    for file in &rule.files {
        files.add(file.name.clone(), file.text.as_str());
    }
    let find = |name: &str| Ok::<_, std::convert::Infallible>(installed(name));
    let list = |folder: &str| Ok(installed_in(folder));
    let Ok(missing) = files.complete_with_folders(&rule.text, name, family, find, list);
    Ok(FoundFiles { files, missing })
}

/// Says what is missing, and what to do.
pub(super) fn missing_text(missing: &[String]) -> String {
    format!(
        "the rule refers to {}, which this server has not: drop the rule and these files together",
        missing.join(", ")
    )
}

/// Returns the text of an installed file.
fn installed(name: &str) -> Option<String> {
    INSTALLED.iter().find_map(|folder| read(&Path::new(folder).join(name)))
}

/// Returns the files of the folder of an installed filter, such as `sshd.d`, in the order of their
/// names.
fn installed_in(folder: &str) -> Vec<(String, String)> {
    let has_filter = |place: &&&str| {
        let files = ["conf", "local"].map(|ending| Path::new(folder).with_extension(ending));
        files.iter().any(|file| Path::new(place).join(file).is_file())
    };
    let Some(place) = INSTALLED.iter().find(has_filter) else { return Vec::new() };
    let entries = fs::read_dir(Path::new(place).join(folder)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let file = |path: &PathBuf| Some((path.file_name()?.to_str()?.to_owned(), read(path)?));
    paths.iter().take(FILES_MAX).filter_map(file).collect()
}

/// Returns the text of a file, if it is not too long.
fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    // One more byte shows that it is too long.
    let file = File::open(path).ok()?.take(RULE_BYTES_MAX as u64 + 1).read_to_string(&mut text);
    (file.ok()? <= RULE_BYTES_MAX).then_some(text)
}
