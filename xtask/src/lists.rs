//! The lists of crates/agents, from the packages of npm that publish them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shell::{Outcome, command, execute, output_of, root, target_folder};

/// A package that is made into a list.
struct Package {
    name: &'static str,
    version: &'static str,
    licence: &'static str,
    file: &'static str,
    list: &'static str,
    about: &'static str,
    lines: fn(&str) -> Outcome<String>,
}

const PACKAGES: [Package; 2] = [
    Package {
        name: "uap-core",
        version: "0.18.0",
        licence: "Apache-2.0",
        file: "regexes.yaml",
        list: "agents.txt",
        about: "Families and systems of agents: expression, replacements of the name and of the major version.",
        lines: families,
    },
    Package {
        name: "crawler-user-agents",
        version: "1.60.0",
        licence: "MIT",
        file: "crawler-user-agents.json",
        list: "crawlers.txt",
        about: "Crawlers: pattern, tags.",
        lines: crawlers,
    },
];

/// Writes the lists.
///
/// # Errors
/// If a package cannot be fetched, or has another form than the lists are made from.
pub(crate) fn write() -> Outcome {
    let today = output_of(&mut command("date", &["--utc", "+%F"]))?;
    for package in &PACKAGES {
        let name = format!("{}@{}", package.name, package.version);
        let folder = fetched(package, &name)?;
        let times = output_of(&mut command("npm", &["view", package.name, "time", "--json"]))?;
        let times: Value = serde_json::from_str(&times)?;
        let published = times[package.version].as_str().and_then(|time| time.get(..10));
        let published = published.ok_or_else(|| format!("npm tells no date of {name}"))?;
        let lines = (package.lines)(&fs::read_to_string(folder.join(package.file))?)?;
        let text = format!(
            "# {}\n# Written by `cargo xtask lists`.\nsource\t{} {}\npublished\t{published}\n\
             taken\t{}\nlicence\t{}\n{lines}",
            package.about,
            package.name,
            package.version,
            today.trim(),
            package.licence,
        );
        let lists = root().join("crates/agents/lists");
        fs::write(lists.join(package.list), text)?;
        let licence = fs::read_to_string(folder.join("LICENSE"))?;
        let licence = format!("{}\n", licence.replace("\r\n", "\n").trim());
        fs::write(lists.join(format!("LICENSE-{}", package.name)), licence)?;
    }
    Ok(())
}

/// Fetches a package, and returns the folder of its files.
fn fetched(package: &Package, name: &str) -> Outcome<PathBuf> {
    let folder = root().join(target_folder()).join("lists").join(package.name);
    fs::create_dir_all(&folder)?;
    execute(command("npm", &["pack", "--silent", "--pack-destination"]).arg(&folder).arg(name))?;
    let archive = folder.join(format!("{}-{}.tgz", package.name, package.version));
    execute(command("tar", &["-xzf"]).arg(archive).arg("-C").arg(&folder))?;
    Ok(folder.join("package"))
}

/// The families and systems of uap-core. The file is YAML of a plain form, and any other form is an
/// error.
fn families(yaml: &str) -> Outcome<String> {
    const PARSERS: [(&str, &str); 3] =
        [("user_agent_parsers:", "family"), ("os_parsers:", "system"), ("device_parsers:", "")];
    // A kind with the expression and the replacements.
    let mut entries: Vec<(&str, [String; 3])> = Vec::new();
    let mut kind = "";
    for (number, line) in (1..).zip(yaml.lines()) {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Some(parser) = PARSERS.iter().find(|parser| parser.0 == line) {
            kind = parser.1;
            continue;
        }
        if kind.is_empty() {
            continue;
        }
        let wrong = || format!("line {number} of the expressions is of another form: {line}");
        let (name, value) = text.split_once(": ").ok_or_else(wrong)?;
        let value = value.trim().strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
        let value = value.ok_or_else(wrong)?.replace("''", "'");
        if value.contains('\t') {
            return Err(wrong().into());
        }
        let place = match name {
            "- regex" => {
                entries.push((kind, [value, String::new(), String::new()]));
                continue;
            }
            "family_replacement" | "os_replacement" => 1,
            "v1_replacement" | "os_v1_replacement" => 2,
            "v2_replacement" | "v3_replacement" | "os_v2_replacement" | "os_v3_replacement" => {
                continue;
            }
            _ => return Err(wrong().into()),
        };
        entries.last_mut().ok_or_else(wrong)?.1[place] = value;
    }
    Ok(entries.iter().fold(String::new(), |text, (kind, columns)| {
        text + format!("{kind}\t{}", columns.join("\t")).trim_end_matches('\t') + "\n"
    }))
}

/// The patterns and tags of crawler-user-agents.
fn crawlers(json: &str) -> Outcome<String> {
    let crawlers: Vec<Value> = serde_json::from_str(json)?;
    let mut text = String::new();
    for crawler in &crawlers {
        let pattern = crawler["pattern"].as_str().ok_or("a crawler has no pattern")?;
        let tags: Option<Vec<&str>> =
            crawler["tags"].as_array().map(|tags| tags.iter().filter_map(Value::as_str).collect());
        let tags = tags.ok_or_else(|| format!("the crawler {pattern} has no tags"))?;
        writeln!(text, "crawler\t{pattern}\t{}", tags.join(","))?;
    }
    Ok(text)
}

/// A part of the program that these lists are, for the notices.
pub(crate) struct ListPart {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) licence: &'static str,
    /// The text of the licence.
    pub(crate) text: PathBuf,
}

/// The packages that the lists in the program were made from.
pub(crate) fn parts() -> Vec<ListPart> {
    let lists = root().join(Path::new("crates/agents/lists"));
    let part = |package: &Package| ListPart {
        name: package.name,
        version: package.version,
        licence: package.licence,
        text: lists.join(format!("LICENSE-{}", package.name)),
    };
    PACKAGES.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::{crawlers, families};

    #[test]
    fn families_and_systems_are_taken_without_devices() {
        let yaml = "user_agent_parsers:\n  # x\n  - regex: '(It''s)/(\\d+)'\n  - regex: 'b'\n    \
                    family_replacement: 'B'\n    v2_replacement: '1'\nos_parsers:\n  - regex: 'c'\n    \
                    os_v1_replacement: '7'\ndevice_parsers:\n  - regex: 'd'\n    x: y\n";
        let expected = "family\t(It's)/(\\d+)\nfamily\tb\tB\nsystem\tc\t\t7\n";
        assert_eq!(families(yaml).expect("it is of the known form"), expected);
        for other in
            ["user_agent_parsers:\n  - regex: \"a\"\n", "os_parsers:\n  - regex: 'a'\n    y: 'z'\n"]
        {
            assert!(families(other).is_err(), "{other}");
        }
    }

    #[test]
    fn crawlers_have_a_pattern_and_tags() {
        let json = r#"[{"pattern": "a\\/", "tags": ["seo", "x"], "url": ""}]"#;
        assert_eq!(crawlers(json).expect("it is valid"), "crawler\ta\\/\tseo,x\n");
        assert!(crawlers(r#"[{"pattern": "a"}]"#).is_err());
    }
}
