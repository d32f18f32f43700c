//! The licences of the parts of the program that others wrote: crates, with the C sources in some of
//! them, and the packages that the page is built with. Both come from the lock files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::lists::{self, ListPart};
use weir_tools::shell::{Outcome, command, output_of, root};

/// A part that others wrote.
#[derive(Debug)]
struct Part {
    name: String,
    version: String,
    licence: String,
    address: String,
    /// The folder of its files, or the file of its licence.
    texts: PathBuf,
}

/// How deep below the folder of a part texts are looked for: C sources are one folder deeper.
const DEPTH_MAX: usize = 2;

/// Returns the notices of a program for a target, as Markdown.
///
/// # Errors
/// If a part has no licence, or the sources of the parts are not there.
pub(super) fn collect(target: &str) -> Outcome<String> {
    let mut parts = crates(target)?;
    parts.extend(page_packages()?);
    parts.extend(lists::parts().into_iter().map(list_part));
    parts.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for part in &parts {
        list +=
            &format!("- {} {}, {}: <{}>\n", part.name, part.version, part.licence, part.address);
        for text in texts_at(&part.texts)? {
            let of_part = format!("{} {}", part.name, part.version);
            texts.entry(text).or_default().push(of_part);
        }
    }
    let mut page = format!(
        "# What others wrote\n\nWeir contains these parts. Where a licence offers a choice, it is \
         used under MIT or Apache-2.0.\n\n{list}\n# The texts of their licences\n"
    );
    for (text, names) in texts {
        let names: BTreeSet<String> = names.into_iter().collect();
        let names: Vec<String> = names.into_iter().collect();
        page += &format!("\n## {}\n\n{}\n", names.join(", "), indented(&text));
    }
    Ok(page)
}

/// The crates that are linked into the program.
fn crates(target: &str) -> Outcome<Vec<Part>> {
    let arguments = ["metadata", "--locked", "--format-version=1", "--filter-platform", target];
    let metadata: Value = serde_json::from_str(&output_of(&mut command("cargo", &arguments))?)?;
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).map(|package| (text(&package["id"]), package)).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).map(|node| (text(&node["id"]), node)).collect();
    let own = packages.values().find(|package| package["name"] == "weir");
    let mut waiting: Vec<&str> = own.map(|package| text(&package["id"])).into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut parts = Vec::new();
    while let Some(id) = waiting.pop() {
        let Some((package, node)) = packages.get(id).zip(nodes.get(id)) else { continue };
        if !seen.insert(id) || is_macro(package) {
            continue;
        }
        let linked = list(&node["deps"]).filter(|dependency| is_linked(dependency));
        waiting.extend(linked.map(|dependency| text(&dependency["pkg"])));
        if !package["source"].is_null() {
            parts.push(crate_part(package)?);
        }
    }
    Ok(parts)
}

fn crate_part(package: &Value) -> Outcome<Part> {
    let name = text(&package["name"]).to_owned();
    let licence = package["license"].as_str();
    let licence = licence.ok_or_else(|| format!("the crate {name} names no licence"))?.to_owned();
    let folder = Path::new(text(&package["manifest_path"])).parent();
    let folder = folder.unwrap_or_else(|| Path::new("/")).to_path_buf();
    let version = text(&package["version"]).to_owned();
    let address = format!("https://crates.io/crates/{name}");
    Ok(Part { name, version, licence, address, texts: folder })
}

/// Whether a crate only makes code at compile time.
fn is_macro(package: &Value) -> bool {
    list(&package["targets"]).any(|target| list(&target["kind"]).any(|kind| kind == "proc-macro"))
}

/// Whether a dependency is linked, and not only used by build scripts or tests.
fn is_linked(dependency: &Value) -> bool {
    list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null())
}

/// The packages whose code is in the page.
fn page_packages() -> Outcome<Vec<Part>> {
    let web = root().join("web");
    let lock: Value = serde_json::from_str(&fs::read_to_string(web.join("package-lock.json"))?)?;
    let packages = lock["packages"].as_object().ok_or("web/package-lock.json has no packages")?;
    let used = packages.iter().filter(|(path, package)| {
        !path.is_empty() && package["dev"] != true && package["devOptional"] != true
    });
    used.map(|(path, package)| {
        let name = path.trim_start_matches("node_modules/").to_owned();
        let folder = web.join(path);
        if !folder.exists() {
            return Err(format!("{} is missing; run `npm ci` in web", folder.display()).into());
        }
        let licence = package["license"].as_str();
        let licence = licence.ok_or_else(|| format!("the package {name} names no licence"))?;
        let version = text(&package["version"]).to_owned();
        let address = format!("https://www.npmjs.com/package/{name}");
        Ok(Part { name, version, licence: licence.to_owned(), address, texts: folder })
    })
    .collect()
}

/// A list of agents or crawlers.
fn list_part(list: ListPart) -> Part {
    let ListPart { name, version, licence, text } = list;
    let address = format!("https://www.npmjs.com/package/{name}");
    let (version, licence) = (version.to_owned(), licence.to_owned());
    Part { name: name.to_owned(), version, licence, address, texts: text }
}

/// The texts of licences and notices of a part.
fn texts_at(path: &Path) -> Outcome<Vec<String>> {
    if path.is_file() {
        return Ok(vec![fs::read_to_string(path)?.trim().to_owned()]);
    }
    texts_of(path, DEPTH_MAX)
}

/// The texts of licences and notices in a folder. Crates offer a choice of licences, and C sources
/// have parts that are not compiled, so texts of the GPL are left out.
fn texts_of(folder: &Path, depth: usize) -> Outcome<Vec<String>> {
    let mut texts = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            if depth > 1 && name != "node_modules" {
                texts.extend(texts_of(&path, depth - 1)?);
            }
        } else if is_notice(&name.to_string_lossy()) {
            let text = String::from_utf8_lossy(&fs::read(&path)?).replace("\r\n", "\n");
            texts.push(text.trim().to_owned());
        }
    }
    Ok(texts)
}

/// Whether a file of that name holds a licence or a notice.
fn is_notice(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let starts = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    let is_source = [".RS", ".H", ".C", ".JS", ".TS"].iter().any(|end| name.ends_with(end));
    starts.iter().any(|start| name.starts_with(start)) && !name.contains("GPL") && !is_source
}

fn indented(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{collect, is_notice};

    #[test]
    fn notices_are_recognised_by_name() {
        for name in ["LICENSE-MIT", "license.md", "COPYING", "NOTICE.txt", "LICENSE_Apache-2.0"] {
            assert!(is_notice(name), "{name}");
        }
        for name in ["README.md", "COPYING.GPLv2", "license.rs", "COPYING.LGPLv2.1"] {
            assert!(!is_notice(name), "{name}");
        }
    }

    #[test]
    fn the_notices_name_what_is_linked_and_nothing_else() {
        // The page's packages are there only after `npm ci`.
        let page = match collect("x86_64-unknown-linux-gnu") {
            Err(error) if error.to_string().contains("npm ci") => return,
            collected => collected.expect("the notices"),
        };
        for part in
            ["- ring 0.", "- zstd-sys ", "- liblzma-sys ", "- preact ", "- clap ", "- uap-core "]
        {
            assert!(page.contains(part), "{part}");
        }
        // Macros, and what only tests need.
        for part in ["- syn ", "- proptest ", "- vite ", "- serde_derive "] {
            assert!(!page.contains(part), "{part}");
        }
        assert!(page.contains("Permission is hereby granted"));
        assert!(page.contains("Facebook"), "the C sources of zstd have a licence of their own");
    }
}
