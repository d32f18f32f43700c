//! Rules of all families through the binary: each file of `tests/golden/rules` has files between
//! lines that begin with `--- `, commands, and what they print. In the files, `<ESC>` and `<RLO>`
//! stand for those control characters. `BLESS=1` writes the files again; review them before they
//! are committed.

use std::fs;
use std::path::Path;

use serde_json::Value;
use weir_testkit::json_schema::check;

use crate::support::{Folder, finish, weir};

/// A case: the files that it needs, and its commands.
#[derive(Default)]
struct Case {
    files: Vec<(String, String)>,
    commands: Vec<String>,
}

impl Case {
    fn parse(text: &str) -> Self {
        let mut case = Self::default();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("--- ") {
                case.files.push((name.to_owned(), String::new()));
            } else if let Some(command) = line.strip_prefix("$ weir ") {
                case.commands.push(command.to_owned());
            } else if let (Some((_, content)), true) =
                (case.files.last_mut(), case.commands.is_empty())
            {
                *content += line;
                content.push('\n');
            }
        }
        case
    }

    /// Runs the commands. Returns the whole text of the case, with what they print.
    fn run(&self) -> String {
        let folder = Folder::new();
        let mut text = String::new();
        for (name, content) in &self.files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let written = content.replace("<ESC>", "\x1b").replace("<RLO>", "\u{202e}");
            fs::write(path, written).expect("a file");
            text += &format!("--- {name}\n{content}");
        }
        for command in &self.commands {
            let run = finish(weir(words(command)).current_dir(folder.path("")));
            run.stdout.lines().filter(|line| line.starts_with('{')).for_each(assert_fits);
            text += &format!("$ weir {command}\n{}{}[{}]\n", run.stdout, run.stderr, run.code);
        }
        text
    }
}

/// The arguments of a command; apostrophes keep spaces in them.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (number, part) in command.split('\'').enumerate() {
        let mut pieces = if number % 2 == 1 { vec![part] } else { part.split(' ').collect() };
        words.last_mut().expect("a word").push_str(pieces.remove(0));
        words.extend(pieces.into_iter().map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Validates a line of JSON against the schema of its command.
fn assert_fits(line: &str) {
    let object: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let name = if object["verdict"].is_null() { "rules" } else { "decisions" };
    let path = format!("{}/../../docs/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let schema = fs::read_to_string(path).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    check(&schema, &object).unwrap_or_else(|error| panic!("{error}: {line}"));
}

#[test]
fn every_family_prints_what_was_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rules");
    let mut families = 0;
    for entry in fs::read_dir(&folder).expect("the cases") {
        let path = entry.expect("a case").path();
        let expected = fs::read_to_string(&path).expect("UTF-8");
        let actual = Case::parse(&expected).run();
        families += 1;
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &actual).expect("a golden file");
            continue;
        }
        assert_eq!(actual, expected, "{}: write it with BLESS=1 and review it", path.display());
    }
    assert!(families >= 10, "{families}");
}
