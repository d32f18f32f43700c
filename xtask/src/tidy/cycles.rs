//! Finds modules of a crate that import one another in a cycle.
//!
//! The children of one module are compared, folders as well as files: if anything below one child
//! imports something below another, there is an arrow between the two. A name that a
//! module re-exports counts as the module that defines it. A parent and its children may import
//! one another.

use std::collections::{BTreeMap, BTreeSet};

use super::syntax::{NamedPath, Syntax};

/// A module's path from the crate's root, which is empty for the root itself.
pub(super) type ModulePath = Vec<String>;

/// Re-exports of re-exports are followed up to this depth.
const REEXPORT_DEPTH_MAX: usize = 16;

/// Children of one module that import one another.
#[derive(Debug, PartialEq, Eq)]
struct Cycle {
    parent: ModulePath,
    /// In alphabetical order.
    members: Vec<String>,
    /// Whether one of the members has modules below it.
    has_folder: bool,
    /// For each arrow between two members, the place of one import.
    arrows: Vec<String>,
}

/// Reports the cycles of a crate. Cycles of single files are left to the reader's judgement: two
/// halves of one subject may need one another.
pub(super) fn check(
    crate_name: &str,
    modules: &BTreeMap<ModulePath, Syntax>,
    faults: &mut Vec<String>,
) {
    for cycle in cycles(modules).into_iter().filter(|cycle| cycle.has_folder) {
        let folder = format!("crates/{crate_name}/src/{}", cycle.parent.join("/"));
        faults.push(format!(
            "{}: {} import one another in a cycle; move what they share to a module below \
             them:\n    {}",
            folder.trim_end_matches('/'),
            cycle.members.join(", "),
            cycle.arrows.join("\n    ")
        ));
    }
}

/// All cycles of a crate, given the syntax of each of its modules.
fn cycles(modules: &BTreeMap<ModulePath, Syntax>) -> Vec<Cycle> {
    let mut by_parent: BTreeMap<ModulePath, Arrows> = BTreeMap::new();
    for (module, syntax) in modules {
        for path in &syntax.paths {
            let Some(target) = target(modules, module, path) else { continue };
            let shared = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
            let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) else { continue };
            let place =
                format!("{} to {} (line {})", module.join("::"), target.join("::"), path.line);
            let arrows = by_parent.entry(module[..shared].to_vec()).or_default();
            arrows.entry((from.clone(), to.clone())).or_insert(place);
        }
    }
    let mut found = Vec::new();
    for (parent, arrows) in by_parent {
        let is_folder = |name: &String| {
            let path = child(&parent, name);
            modules.keys().any(|module| module.len() > path.len() && module.starts_with(&path))
        };
        for (members, arrows) in cycles_among(&arrows) {
            let has_folder = members.iter().any(is_folder);
            found.push(Cycle { parent: parent.clone(), members, has_folder, arrows });
        }
    }
    found
}

/// From child to child: the place of the first import.
type Arrows = BTreeMap<(String, String), String>;

/// The members of each cycle, with the arrows between them.
fn cycles_among(arrows: &Arrows) -> Vec<(Vec<String>, Vec<String>)> {
    let names: BTreeSet<&String> = arrows.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        names.iter().map(|name| (*name, reachable(arrows, name))).collect();
    let mut cycles = Vec::new();
    let mut done = BTreeSet::new();
    for name in &names {
        let members: Vec<String> = names
            .iter()
            .filter(|other| reach[name].contains(*other) && reach[*other].contains(*name))
            .map(|other| (*other).clone())
            .collect();
        if members.is_empty() || !done.insert(members.clone()) {
            continue;
        }
        let is_inside =
            |(from, to): &(String, String)| members.contains(from) && members.contains(to);
        let arrows = arrows.iter().filter(|(ends, _)| is_inside(ends));
        let arrows = arrows.map(|(_, place)| place.clone()).collect();
        cycles.push((members, arrows));
    }
    cycles
}

/// Every name that arrows lead to from this one.
fn reachable<'a>(arrows: &'a Arrows, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(name) = next.pop() {
        for (_, to) in arrows.keys().filter(|(start, _)| start == name) {
            if found.insert(to) {
                next.push(to);
            }
        }
    }
    found
}

/// The module that defines what a path names; `None` for paths that lead out of the crate.
fn target(
    modules: &BTreeMap<ModulePath, Syntax>,
    module: &[String],
    path: &NamedPath,
) -> Option<ModulePath> {
    resolve(modules, module, &path.inside, &path.segments, REEXPORT_DEPTH_MAX)
}

fn resolve(
    modules: &BTreeMap<ModulePath, Syntax>,
    module: &[String],
    inside: &[String],
    segments: &[String],
    depth: usize,
) -> Option<ModulePath> {
    if depth == 0 {
        return None;
    }
    let (mut at, mut inside) = (module.to_vec(), inside.to_vec());
    let mut rest = segments;
    match segments.first()?.as_str() {
        "crate" => {
            (at, inside) = (Vec::new(), Vec::new());
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                if inside.pop().is_none() {
                    at.pop();
                }
                rest = &rest[1..];
            }
        }
        first => {
            let is_child = inside.is_empty() && modules.contains_key(&child(&at, first));
            let import = modules.get(&at)?.import(&inside, first);
            if !is_child && import.is_none_or(|target| target == segments) {
                return None;
            }
        }
    }
    for (index, name) in rest.iter().enumerate() {
        let below = child(&at, name);
        if inside.is_empty() && modules.contains_key(&below) {
            at = below;
        } else if let Some(import) = modules.get(&at).and_then(|here| here.import(&inside, name)) {
            let whole = [import, &rest[index + 1..]].concat();
            let resolved =
                (whole != segments).then(|| resolve(modules, &at, &inside, &whole, depth - 1));
            // An item of another crate that is re-exported here counts as defined here.
            return Some(resolved.flatten().unwrap_or(at));
        } else {
            break;
        }
    }
    Some(at)
}

fn child(parent: &[String], name: &str) -> ModulePath {
    [parent, &[name.to_owned()]].concat()
}

#[cfg(test)]
mod tests {
    use super::{ModulePath, Syntax, check, cycles};
    use std::collections::BTreeMap;

    fn parsed(modules: &[(&str, &str)]) -> BTreeMap<ModulePath, Syntax> {
        let parsed = modules.iter().map(|(path, text)| {
            let path: ModulePath =
                path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            (path, Syntax::parse(text).unwrap())
        });
        parsed.collect()
    }

    /// Parents and members of the cycles of a crate, given the path and text of its modules.
    fn found(modules: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
        let cycles = cycles(&parsed(modules)).into_iter();
        cycles.map(|cycle| (cycle.parent.join("::"), cycle.members)).collect()
    }

    fn cycle(parent: &str, members: &[&str]) -> Vec<(String, Vec<String>)> {
        vec![(parent.to_owned(), members.iter().map(|name| (*name).to_owned()).collect())]
    }

    #[test]
    fn two_files_that_import_one_another_are_a_cycle() {
        let modules = [("", "mod a; mod b;"), ("a", "use crate::b::B;"), ("b", "use super::a::A;")];
        assert_eq!(found(&modules), cycle("", &["a", "b"]));
    }

    #[test]
    fn folders_are_compared_by_all_that_is_below_them() {
        let modules = [
            ("", "mod source; mod pipeline;"),
            ("source", "mod push;"),
            ("source::push", "fn f(job: &crate::pipeline::queue::Job) {}"),
            ("pipeline", "mod queue; mod worker;"),
            ("pipeline::queue", ""),
            ("pipeline::worker", "use crate::source::push::Push;"),
        ];
        assert_eq!(found(&modules), cycle("", &["pipeline", "source"]));
    }

    #[test]
    fn a_reexport_leads_to_the_module_that_defines_the_name() {
        let modules = [
            ("", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a", "use crate::B;"),
            ("b", "use crate::A as Other;"),
        ];
        assert_eq!(found(&modules), cycle("", &["a", "b"]));
    }

    #[test]
    fn longer_cycles_are_found_inside_folders() {
        let modules = [
            ("", "mod f;"),
            ("f", "mod a; mod b; mod c; mod d;"),
            ("f::a", "use super::b::B;"),
            ("f::b", "use super::c::{self, C};"),
            ("f::c", "use crate::f::a::A; use super::d::D;"),
            ("f::d", ""),
        ];
        assert_eq!(found(&modules), cycle("f", &["a", "b", "c"]));
    }

    #[test]
    fn one_direction_parents_and_other_crates_are_no_cycle() {
        let modules = [
            ("", "mod a; mod b; use a::A; pub struct Error; use weir_core::a;"),
            ("a", "use crate::Error; use super::b::B; use weir_core::b::X;"),
            ("b", "use std::fmt; use weir_core::a::Y; #[cfg(test)] mod tests { use crate::a::A; }"),
        ];
        assert_eq!(found(&modules), []);
    }

    #[test]
    fn cycles_with_a_folder_are_faults() {
        let faults = |modules: &[(&str, &str)]| {
            let mut faults = Vec::new();
            check("core", &parsed(modules), &mut faults);
            faults
        };
        let files = [("", ""), ("a", "use crate::b::B;"), ("b", "use crate::a::A;")];
        let folder = [&files[..], &[("b::c", "")]].concat();
        assert!(faults(&files).is_empty());
        assert!(faults(&folder)[0].starts_with("crates/core/src: a, b import one another"));
    }
}
