//! Reads the rules of the command line.

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_rules::{Family, Rule, RuleError, RuleFiles, TextSettings, TunableText, parse_rules};

use super::arguments::{FamilyArgument, RulesArguments};
use super::filter_folders::{self, FilterFolders};
use super::jail_files;
use super::rule_text::RuleText;
use crate::outcome::{Failure, say};
use crate::sources::cannot_read;

/// The largest rule file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The name of a rule without a file and without a name of its own.
const UNNAMED: &str = "rule";

/// The endings of the files in a folder of filters.
const FILTER_ENDINGS: [&str; 3] = ["conf", "local", "data"];

/// The endings of the files of a folder of rules.
const RULE_ENDINGS: [&str; 3] = ["conf", "yaml", "yml"];

/// The greatest depth of nested folders of rules.
const DEPTH_MAX: usize = 16;

/// The most files of a folder of rules.
const FOLDER_FILES_MAX: usize = 100_000;

/// The rules of the command line.
pub(super) struct LoadedRules {
    pub(super) rules: Vec<Box<dyn Rule>>,
    /// By rule: where it comes from.
    pub(super) places: Vec<RulePlace>,
    /// Whether some file of a folder has no rule that can be replayed. Such files are reported.
    pub(super) is_incomplete: bool,
}

/// A rule of a text.
#[derive(Debug, Clone)]
pub(super) struct RulePlace {
    text: Arc<str>,
    name: Arc<str>,
    family: Option<Family>,
    files: RuleFiles,
    /// The settings of all limits of the text.
    settings: Arc<[TextSettings]>,
    /// Its number among the rules of the text.
    number: usize,
}

impl RulePlace {
    /// The text that the rule stands in.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text, if the settings of the rule, or of one of its several limits, can be changed
    /// in it.
    pub(super) fn tunable_text(&self, limit: Option<&str>) -> Option<TunableText> {
        let Self { text, name, family, files, settings, number } = self;
        let is_it = |it: &TextSettings| it.rule == *number && it.name.1.as_deref() == limit;
        let at = settings.iter().position(is_it)?;
        TunableText::new(text, name, *family, files, (settings, at))
    }
}

/// Reads the rules, and prints the parts of them that are not understood.
///
/// # Errors
/// If there is no rule, or a file cannot be read or is not a rule; the message names the place. A
/// file of a folder that is not a rule is only reported.
pub(super) fn load(arguments: &RulesArguments) -> Result<LoadedRules, Failure> {
    let mut files = RuleFiles::default();
    for folder in &arguments.filter_dirs {
        let is_filter = |path: &Path| {
            let ending = path.extension().unwrap_or_default();
            FILTER_ENDINGS.iter().any(|known| ending == *known)
        };
        add_files(&mut files, "--filter-dir", folder, is_filter)?;
        add_folders_of_filters(&mut files, folder)?;
    }
    for folder in &arguments.data_dirs {
        add_files(&mut files, "--data-dir", folder, is_text)?;
    }
    let mut loader = RuleLoader {
        family: arguments.family.map(Family::from),
        is_only_limit_req: arguments.family == Some(FamilyArgument::LimitReq),
        files,
        finds_filters: arguments.filter_dirs.is_empty(),
        rules: Vec::new(),
        places: Vec::new(),
        is_incomplete: false,
    };
    for file in &arguments.rule_files {
        if file.is_dir() {
            loader.add_folder(file)?;
        } else {
            loader.add_file(file)?;
        }
    }
    for text in &arguments.rule_texts {
        loader.add(&RuleText::of_text("--rule-text", text), UNNAMED)?;
    }
    let RuleLoader { rules, places, is_incomplete, .. } = loader;
    if rules.is_empty() {
        return Err(Failure::new("name a rule with --rule FILE or --rule-text TEXT"));
    }
    Ok(LoadedRules { rules, places, is_incomplete })
}

/// Reads texts of rules.
struct RuleLoader {
    family: Option<Family>,
    /// Whether the limits of connections beside those of requests are left out.
    is_only_limit_req: bool,
    /// The files of `--filter-dir` and `--data-dir`.
    files: RuleFiles,
    /// Whether to search for the filters of jails, because no folder is given for them.
    finds_filters: bool,
    rules: Vec<Box<dyn Rule>>,
    places: Vec<RulePlace>,
    is_incomplete: bool,
}

impl RuleLoader {
    /// Adds the rules of a folder and its subfolders, in the order of their names. Files that are
    /// not rules are reported and skipped.
    fn add_folder(&mut self, folder: &Path) -> Result<(), Failure> {
        if let Some(file) = jail_files::main_file(folder) {
            return self.add_file(&file);
        }
        let mut paths = Vec::new();
        list(folder, &mut paths, 0)?;
        let (mut failed, before) = (0, self.rules.len());
        let of_modsecurity = self.add_modsecurity_folder(folder, &paths)?;
        if of_modsecurity > 0 {
            let others = paths.len() - of_modsecurity;
            if others > 0 {
                say(format_args!(
                    "--rule: {}: {others} files that have no rules of ModSecurity are left out",
                    folder.display()
                ));
            }
            return Ok(());
        }
        for path in &paths {
            match self.add_file(path) {
                Ok(()) => {}
                Err(Failure::Message(message)) => {
                    say(message);
                    failed += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
        let shown = folder.display();
        if self.rules.len() == before {
            let message =
                format_args!("--rule: {shown}: the folder has no rule that can be replayed");
            return Err(Failure::new(message));
        }
        if failed > 0 {
            self.is_incomplete = true;
            let files = paths.len();
            say(format_args!("--rule: {shown}: {failed} of {files} files are not replayed"));
        }
        Ok(())
    }

    /// Adds the rules of ModSecurity in the files of a folder as one set. Returns the number of
    /// these files.
    fn add_modsecurity_folder(
        &mut self,
        folder: &Path,
        paths: &[PathBuf],
    ) -> Result<usize, Failure> {
        let (mut whole, mut count) = (RuleText::default(), 0);
        let endings = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "conf");
        for path in paths.iter().filter(endings) {
            let Ok(text) = read(path) else { continue };
            if text.lines().any(|line| line.trim_start().starts_with("Sec")) {
                whole.add_file(path, &text);
                count += 1;
            }
        }
        if count > 0 {
            let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
            self.add(&whole, &name)?;
        }
        Ok(count)
    }

    fn add_file(&mut self, file: &Path) -> Result<(), Failure> {
        let without = self.files.clone();
        let added = jail_files::add_merged(&mut self.files, file);
        let result = added.and_then(|()| self.add_file_alone(file));
        self.files = without;
        result
    }

    fn add_file_alone(&mut self, file: &Path) -> Result<(), Failure> {
        let shown = file.display().to_string();
        let text =
            read(file).map_err(|reason| Failure::new(format_args!("--rule: {shown}: {reason}")))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let mut whole = RuleText::of_text(&shown, &text);
        if RuleText::has_includes(&text) {
            whole = RuleText::default();
            whole.add_file(file, &text);
        }
        whole
            .folders
            .extend(file.parent().map(Path::to_owned).filter(|_| whole.folders.is_empty()));
        self.add(&whole, &name)
    }

    fn add(&mut self, whole: &RuleText, name: &str) -> Result<(), Failure> {
        let text = &whole.text;
        whole.mistakes.iter().for_each(say);
        self.is_incomplete |= !whole.mistakes.is_empty();
        let mut files = self.files.clone();
        if self.finds_filters {
            let folders = FilterFolders::of(&whole.folders);
            // The error about the text names what is missing.
            let _missing = files.complete_with_folders(
                text,
                name,
                self.family,
                |name| folders.find(name, text),
                |folder| folders.list(folder, text),
            )?;
        }
        let mut parsed = parse_rules(text, name, self.family, &files)
            .map_err(|error| Failure::new(locate_error(whole, &error)))?;
        let (text, name): (Arc<str>, Arc<str>) = (text.as_str().into(), name.into());
        let settings: Arc<[TextSettings]> = TextSettings::of_rules(&parsed).into();
        for (number, rule) in parsed.iter().enumerate() {
            if !self.is_only_limit_req || rule.family() == Family::LimitReq {
                let (text, name, files) = (text.clone(), name.clone(), files.clone());
                let (family, settings) = (self.family, settings.clone());
                self.places.push(RulePlace { text, name, family, files, settings, number });
            }
        }
        if self.is_only_limit_req {
            parsed.retain(|rule| rule.family() == Family::LimitReq);
        }
        say_notes(&parsed, whole);
        self.rules.extend(parsed);
        Ok(())
    }
}

/// Lists the rule files of a folder and its subfolders.
fn list(folder: &Path, paths: &mut Vec<PathBuf>, depth: usize) -> Result<(), Failure> {
    let shown = folder.display();
    let failure = |reason: &dyn Display| Failure::new(format_args!("--rule: {shown}: {reason}"));
    let entries = fs::read_dir(folder).map_err(|error| failure(&cannot_list(&error)))?;
    let mut found = Vec::new();
    for entry in entries {
        found.push(entry.map_err(|error| failure(&error))?.path());
    }
    found.sort();
    for path in found {
        // A link may lead back to the folder.
        if path.is_dir() && !path.is_symlink() {
            if depth >= DEPTH_MAX {
                return Err(failure(&format!("more than {DEPTH_MAX} folders lie in each other")));
            }
            list(&path, paths, depth + 1)?;
        } else if path.extension().is_some_and(|end| RULE_ENDINGS.iter().any(|known| end == *known))
        {
            paths.push(path);
        }
        if paths.len() > FOLDER_FILES_MAX {
            return Err(failure(&format!("more than {FOLDER_FILES_MAX} files")));
        }
    }
    Ok(())
}

/// Returns a sentence about a folder whose files cannot be listed: why, and what to do.
fn cannot_list(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "the folder does not exist; check the name".to_owned(),
        io::ErrorKind::NotADirectory => "is not a folder; name one".to_owned(),
        _ => cannot_read(error),
    }
}

/// Adds the files of a folder that rules may refer to.
fn add_files(
    files: &mut RuleFiles,
    option: &str,
    folder: &Path,
    is_kept: impl Fn(&Path) -> bool,
) -> Result<(), Failure> {
    let shown = folder.display();
    let failure = |reason: &dyn Display| Failure::new(format_args!("{option}: {shown}: {reason}"));
    let entries = fs::read_dir(folder).map_err(|error| failure(&cannot_list(&error)))?;
    for entry in entries {
        let path = entry.map_err(|error| failure(&error))?.path();
        if path.is_dir() || !is_kept(&path) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read(&path).map_err(|reason| failure(&format!("{name}: {reason}")))?;
        files.add(name, text);
    }
    Ok(())
}

/// Adds the files of the folders of filters, such as `sshd.d`, in a folder of filters.
fn add_folders_of_filters(files: &mut RuleFiles, folder: &Path) -> Result<(), Failure> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        paths
            .extend(Some(entry.path()).filter(|path| path.extension().is_some_and(|it| it == "d")));
    }
    paths.sort();
    for path in paths.iter().take(FOLDER_FILES_MAX) {
        let of_filter = path.file_name().unwrap_or_default().to_string_lossy();
        for (name, text) in filter_folders::files_of(path)? {
            files.add_of_filter(&of_filter, &name, text);
        }
    }
    Ok(())
}

/// Whether a data file is a list. Geographic databases may be in the same folder.
fn is_text(path: &Path) -> bool {
    path.extension().is_none_or(|end| end != "mmdb" && end != "db")
}

/// Reads a rule file, or a file that a rule names.
///
/// # Errors
/// If the file cannot be read, is too large or is not a text.
pub(super) fn read(file: &Path) -> Result<String, UnreadableRule> {
    if fs::metadata(file)?.len() > FILE_BYTES_MAX {
        return Err(UnreadableRule::TooLarge);
    }
    String::from_utf8(fs::read(file)?).map_err(|_| UnreadableRule::NotText)
}

/// A rule file is of no use.
#[derive(Debug)]
pub(super) enum UnreadableRule {
    Io(io::Error),
    TooLarge,
    NotText,
}

impl From<io::Error> for UnreadableRule {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Display for UnreadableRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => formatter.write_str(&cannot_read(error)),
            Self::TooLarge => {
                write!(formatter, "larger than {} MiB, which no rule is", FILE_BYTES_MAX >> 20)
            }
            Self::NotText => formatter.write_str("is not a text in UTF-8"),
        }
    }
}

/// Prints which parts of a text are not followed. Several rules of it may have the same notes.
fn say_notes(rules: &[Box<dyn Rule>], whole: &RuleText) {
    let mut said = HashSet::new();
    for note in rules.iter().flat_map(|rule| rule.notes().iter().chain(rule.omitted_rules())) {
        if said.insert((note.range.start, &note.message)) {
            say(locate_error(whole, note));
        }
    }
}

/// Formats an error with its place in the text.
fn locate_error(whole: &RuleText, error: &RuleError) -> String {
    let (shown, line) = whole.place(error.range.start);
    if error.range.is_empty() {
        return format!("{shown}: {error}");
    }
    let excerpt = error.excerpt(&whole.text).replace('\n', "\n  ");
    format!("{shown}:{line}: {error}\n  {excerpt}")
}
