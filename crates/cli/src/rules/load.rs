//! Reads the rules of the command line.

use std::fmt::Display;
use std::fs;

use weir_rules::{Family, Rule, RuleError, RuleFiles, parse_rules};

use super::arguments::RulesArguments;
use crate::outcome::{Failure, say};

/// The largest rule file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The name of a rule without a file and without a name of its own.
const UNNAMED: &str = "rule";

/// Reads the rules, and prints what in them is not understood.
///
/// # Errors
/// If there is none, or a file cannot be read, or is not a rule; with the place.
pub(super) fn load(arguments: &RulesArguments) -> Result<Vec<Box<dyn Rule>>, Failure> {
    let family = arguments.family.map(Family::from);
    let files = filter_files(arguments)?;
    let mut rules = Vec::new();
    for file in &arguments.rule_files {
        let shown = file.display().to_string();
        let text =
            read(file).map_err(|reason| Failure::new(format_args!("--rule: {shown}: {reason}")))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        add(&mut rules, &text, (&shown, &name), (family, &files))?;
    }
    for text in &arguments.rule_texts {
        add(&mut rules, text, ("--rule-text", UNNAMED), (family, &files))?;
    }
    match rules.is_empty() {
        true => Err(Failure::new("name a rule with --rule FILE or --rule-text TEXT")),
        false => Ok(rules),
    }
}

/// The files that rules may refer to.
fn filter_files(arguments: &RulesArguments) -> Result<RuleFiles, Failure> {
    let mut files = RuleFiles::default();
    for folder in &arguments.filter_dirs {
        let shown = folder.display();
        let failure =
            |reason: &dyn Display| Failure::new(format_args!("--filter-dir: {shown}: {reason}"));
        let entries = fs::read_dir(folder).map_err(|error| failure(&error))?;
        for entry in entries {
            let path = entry.map_err(|error| failure(&error))?.path();
            let ending = path.extension().unwrap_or_default();
            if !["conf", "local", "data"].iter().any(|known| ending == *known) {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = read(&path).map_err(|reason| failure(&format!("{name}: {reason}")))?;
            files.add(name, text);
        }
    }
    Ok(files)
}

fn read(file: &std::path::Path) -> Result<String, String> {
    let too_large = || format!("larger than {} MiB, which no rule is", FILE_BYTES_MAX >> 20);
    let metadata = fs::metadata(file).map_err(|error| format!("cannot be read: {error}"))?;
    if metadata.len() > FILE_BYTES_MAX {
        return Err(too_large());
    }
    let bytes = fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "is not a text in UTF-8".to_owned())
}

fn add(
    rules: &mut Vec<Box<dyn Rule>>,
    text: &str,
    (origin, name): (&str, &str),
    (family, files): (Option<Family>, &RuleFiles),
) -> Result<(), Failure> {
    let parsed = parse_rules(text, name, family, files)
        .map_err(|error| Failure::new(placed(origin, text, &error)))?;
    for note in parsed.iter().flat_map(|rule| rule.notes()) {
        say(placed(origin, text, note));
    }
    rules.extend(parsed);
    Ok(())
}

/// An error with its place in the text.
fn placed(origin: &str, text: &str, error: &RuleError) -> String {
    if error.range.is_empty() {
        return format!("{origin}: {error}");
    }
    let excerpt = error.excerpt(text).replace('\n', "\n  ");
    format!("{origin}:{}: {error}\n  {excerpt}", error.line(text))
}
