//! Texts of rules that are spread over files: those that `Include` others, and the files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::load::read;

/// The most files of one text.
const FILES_MAX: usize = 10_000;

/// The most bytes of one text.
const BYTES_MAX: usize = 64 << 20;

/// The most files that lie in each other.
const DEPTH_MAX: usize = 16;

/// A text of rules, with the places in the files that its parts come from.
#[derive(Debug, Default)]
pub(super) struct RuleText {
    pub(super) text: String,
    /// The offset of each part, its file, and the number of its first line there.
    parts: Vec<(usize, String, usize)>,
    /// The folders of the files.
    pub(super) folders: Vec<PathBuf>,
    /// What could not be included, each a sentence with its place.
    pub(super) mistakes: Vec<String>,
    files: usize,
    /// Whether a limit was reached, so that nothing more is included.
    is_full: bool,
}

/// A line that includes files.
struct Include<'t> {
    pattern: &'t str,
    is_optional: bool,
}

impl RuleText {
    /// A text without a file.
    pub(super) fn of_text(shown: &str, text: &str) -> Self {
        let parts = vec![(0, shown.to_owned(), 1)];
        Self { text: text.to_owned(), parts, ..Self::default() }
    }

    /// Whether a text includes others, in the way of Apache and ModSecurity.
    pub(super) fn has_includes(text: &str) -> bool {
        text.lines().any(|line| Include::of(line).is_some())
    }

    /// Appends the text of a file, with those that it includes in their places.
    pub(super) fn add_file(&mut self, file: &Path, text: &str) {
        self.append(file, text, 0);
    }

    fn append(&mut self, file: &Path, text: &str, depth: usize) {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        if !self.folders.contains(&folder) {
            self.folders.push(folder);
        }
        let shown = file.display().to_string();
        self.parts.push((self.text.len(), shown.clone(), 1));
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let Some(include) = Include::of(line) else {
                self.text += line;
                continue;
            };
            self.include(file, &include, depth, &format!("{shown}:{}", number + 1));
            self.parts.push((self.text.len(), shown.clone(), number + 2));
        }
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Appends the files that a line of a file includes.
    fn include(&mut self, file: &Path, include: &Include<'_>, depth: usize, place: &str) {
        if self.is_full {
            return;
        }
        let paths = include.paths(file);
        if paths.is_empty() && !include.is_optional {
            let pattern = include.pattern;
            self.mistakes.push(format!(
                "{place}: there is no file `{pattern}`, so its rules are missing; check its name, \
                 or give it as a rule"
            ));
        }
        for path in paths {
            if self.is_full {
                return;
            }
            let text = match read(&path) {
                Ok(text) => text,
                Err(reason) => {
                    self.mistakes.push(format!("{place}: {}: {reason}", path.display()));
                    continue;
                }
            };
            self.files += 1;
            let limit = match () {
                () if depth >= DEPTH_MAX => format!("{DEPTH_MAX} files include each other"),
                () if self.files > FILES_MAX => format!("{FILES_MAX} files are included"),
                () if self.text.len() + text.len() > BYTES_MAX => {
                    format!("{} MiB are included", BYTES_MAX >> 20)
                }
                () => {
                    self.append(&path, &text, depth + 1);
                    continue;
                }
            };
            self.mistakes.push(format!("{place}: more than {limit}; the rest is left out"));
            self.is_full = true;
        }
    }

    /// The file and the line there, from 1, of a place in the text.
    pub(super) fn place(&self, offset: usize) -> (&str, usize) {
        let after = self.parts.partition_point(|(start, ..)| *start <= offset);
        let Some((start, shown, first)) = self.parts.get(after.saturating_sub(1)) else {
            return ("", 1);
        };
        let part = self.text.as_bytes().get(*start..offset).unwrap_or_default();
        (shown, first + part.iter().filter(|byte| **byte == b'\n').count())
    }
}

impl<'t> Include<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let (name, pattern) = line.trim().split_once(char::is_whitespace)?;
        let is_optional = name.eq_ignore_ascii_case("IncludeOptional");
        // nginx ends its directives with a semicolon, and has its own `include`.
        let is_include = is_optional || name.eq_ignore_ascii_case("Include");
        let pattern = pattern.trim().trim_matches('"');
        (is_include && !pattern.ends_with([';', '{', ':'])).then_some(Self { pattern, is_optional })
    }

    /// The files, by name. Only the last part of the pattern may have a `*`.
    fn paths(&self, file: &Path) -> Vec<PathBuf> {
        let path = file.parent().unwrap_or(Path::new("")).join(self.pattern);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains('*') {
            return Some(path).filter(|path| path.is_file()).into_iter().collect();
        }
        let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
        let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let matches = |path: &PathBuf| {
            path.file_name().is_some_and(|found| has_form(&found.to_string_lossy(), &name))
                && path.is_file()
        };
        let mut paths: Vec<PathBuf> = paths.filter(matches).collect();
        paths.sort();
        paths
    }
}

/// Whether a name has the form of a pattern with `*`.
fn has_form(name: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::has_form;

    #[test]
    fn names_have_the_form_of_patterns() {
        for (name, pattern, expected) in [
            ("a.conf", "*.conf", true),
            ("a.conf.example", "*.conf", false),
            ("REQUEST-901.conf", "REQUEST-*.conf", true),
            ("ab", "a*b*", true),
            ("ba", "a*b*", false),
            ("a", "a*a", false),
        ] {
            assert_eq!(has_form(name, pattern), expected, "{name} {pattern}");
        }
    }
}
