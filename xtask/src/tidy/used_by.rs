//! Checks that the table of dependencies in docs/decisions.md names the crates that use each of
//! them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The head of the table.
const HEAD: &str = "| crate | used by | reason |";

/// The crate that only tests use. The table does not name it.
const OF_TESTS: &str = "testkit";

/// The crates that use each dependency.
type Users = BTreeMap<String, BTreeSet<String>>;

/// Reports every dependency for which the column "used by" differs from the manifests.
pub(super) fn check(document: &str, metadata: &Value, faults: &mut Vec<String>) {
    let (manifests, crates) = of_manifests(metadata);
    for (name, listed) in of_table(document, &crates) {
        let used = manifests.get(&name).cloned().unwrap_or_default();
        if listed != used {
            faults.push(format!(
                "docs/decisions.md: {name} is used by {}, not by {}; correct its row",
                shown(&used),
                shown(&listed)
            ));
        }
    }
}

fn shown(crates: &BTreeSet<String>) -> String {
    match crates.is_empty() {
        true => "no crate".to_owned(),
        false => crates.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the users of each dependency by the manifests, and the names of all crates.
fn of_manifests(metadata: &Value) -> (Users, BTreeSet<String>) {
    let (mut users, mut crates) = (Users::new(), BTreeSet::new());
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let mut folders = manifest.rsplit('/').skip(1);
        let (Some(folder), Some("crates")) = (folders.next(), folders.next()) else { continue };
        if folder == OF_TESTS {
            continue;
        }
        crates.insert(folder.to_owned());
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["name"].as_str().unwrap_or_default().to_owned();
            if dependency["kind"] != "dev" {
                users.entry(name).or_default().insert(folder.to_owned());
            }
        }
    }
    (users, crates)
}

/// Returns the users of each dependency by the table. What else the column says, such as "on Unix",
/// is not the name of a crate.
fn of_table(document: &str, crates: &BTreeSet<String>) -> Users {
    let rows = document.lines().skip_while(|line| *line != HEAD).skip(2);
    let mut users = Users::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let mut cells = row.split('|').skip(1).map(without_parentheses);
        let (Some(names), Some(used_by)) = (cells.next(), cells.next()) else { continue };
        let words = used_by.split(',').map(|word| word.trim().to_owned());
        let named: BTreeSet<String> = words.filter(|word| crates.contains(word)).collect();
        for name in names.split(',') {
            users.entry(name.trim().to_owned()).or_default().extend(named.clone());
        }
    }
    users
}

fn without_parentheses(cell: &str) -> String {
    let mut depth = 0;
    let is_outside = |c: &char| {
        depth += i32::from(*c == '(');
        let is_outside = depth == 0;
        depth -= i32::from(*c == ')');
        is_outside
    };
    cell.chars().filter(is_outside).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn the_column_is_that_of_the_manifests() {
        let package = |name: &str, dependencies: &[&str]| {
            let dependencies: Vec<_> =
                dependencies.iter().map(|name| json!({"name": name, "kind": null})).collect();
            let path = format!("/somewhere/crates/{name}/Cargo.toml");
            json!({"manifest_path": path, "dependencies": dependencies})
        };
        let metadata = json!({"packages": [
            package("net", &["hyper", "rustls", "libc"]),
            package("cli", &["libc"]),
            package("testkit", &["hyper"]),
        ]});
        let faults = |row: &str| {
            let document =
                format!("text\n| crate | used by | reason |\n|---|---|---|\n{row}\n\n| x | cli |");
            let mut faults = Vec::new();
            check(&document, &metadata, &mut faults);
            faults
        };
        for row in [
            "| hyper, rustls (with, b) | net (`sync` only), on Unix | why, cli |",
            "| libc | cli | why |\n| libc | net, on Linux | why |",
            "| proptest | tests | why |",
        ] {
            assert_eq!(faults(row), [""; 0], "{row}");
        }
        for (row, fault) in [
            ("| hyper | net, cli | why |", "hyper is used by net, not by cli, net;"),
            ("| libc | net | why |", "libc is used by cli, net, not by net;"),
            ("| proptest | cli | why |", "proptest is used by no crate, not by cli;"),
        ] {
            let faults = faults(row);
            assert!(faults.len() == 1 && faults[0].contains(fault), "{faults:?}");
        }
    }
}
