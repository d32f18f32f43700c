//! Paths that crates may not name.

use super::syntax::Syntax;

/// A path that some crates may not name.
pub(super) struct Rule {
    /// A module, type or macro. Everything below it is forbidden as well.
    pub(super) path: &'static str,
    pub(super) crates: Crates,
    /// What to do instead.
    pub(super) remedy: &'static str,
}

/// The crates that a rule applies to.
pub(super) enum Crates {
    Only(&'static [&'static str]),
    AllExcept(&'static [&'static str]),
}

impl Crates {
    fn contain(&self, name: &str) -> bool {
        match self {
            Self::Only(names) => names.contains(&name),
            Self::AllExcept(names) => !names.contains(&name),
        }
    }
}

/// A file that may name a forbidden path.
pub(super) struct Exception {
    pub(super) file: &'static str,
    pub(super) path: &'static str,
    pub(super) reason: &'static str,
}

/// The rules, and which of the exceptions were needed.
pub(super) struct Check<'a> {
    rules: &'a [Rule],
    exceptions: &'a [Exception],
    is_needed: Vec<bool>,
}

impl<'a> Check<'a> {
    pub(super) fn new(rules: &'a [Rule], exceptions: &'a [Exception]) -> Self {
        Self { rules, exceptions, is_needed: vec![false; exceptions.len()] }
    }

    /// Reports each forbidden path of a file once.
    pub(super) fn file(
        &mut self,
        crate_name: &str,
        file: &str,
        syntax: &Syntax,
        faults: &mut Vec<String>,
    ) {
        for rule in self.rules.iter().filter(|rule| rule.crates.contain(crate_name)) {
            let forbidden: Vec<&str> = rule.path.split("::").collect();
            let mut paths = syntax.paths.iter();
            let Some(path) = paths.find(|path| is_below(&syntax.expanded(path), &forbidden)) else {
                continue;
            };
            let mut exceptions = self.exceptions.iter();
            match exceptions.position(|known| known.file == file && known.path == rule.path) {
                Some(index) => self.is_needed[index] = true,
                None => {
                    faults.push(format!("{file}:{}: `{}`: {}", path.line, rule.path, rule.remedy));
                }
            }
        }
    }

    /// Reports the exceptions that no file needed.
    pub(super) fn finish(self, faults: &mut Vec<String>) {
        for (exception, is_needed) in self.exceptions.iter().zip(self.is_needed) {
            if !is_needed {
                let Exception { file, path, reason } = exception;
                faults.push(format!(
                    "{file} does not name `{path}`; remove its exception ({reason}) from \
                     xtask/src/tidy/layers.rs"
                ));
            }
        }
    }
}

/// Whether a path names the forbidden one or something below it. A glob may name all that is
/// below it.
fn is_below(path: &[String], forbidden: &[&str]) -> bool {
    let mut pairs = path.iter().zip(forbidden);
    match pairs.position(|(name, forbidden)| name != forbidden) {
        Some(first_difference) => path[first_difference] == "*",
        None => path.len() >= forbidden.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, Crates, Exception, Rule, Syntax};

    const RULES: [Rule; 2] = [
        Rule { path: "std::sync::Mutex", crates: Crates::Only(&["core"]), remedy: "take no lock" },
        Rule { path: "serde", crates: Crates::AllExcept(&["view"]), remedy: "use view" },
    ];

    fn faults(crate_name: &str, text: &str, exceptions: &[Exception]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut check = Check::new(&RULES, exceptions);
        check.file(crate_name, "a.rs", &Syntax::parse(text).unwrap(), &mut faults);
        check.finish(&mut faults);
        faults
    }

    #[test]
    fn a_forbidden_path_is_reported_once_for_a_file() {
        let text = "use std::sync::{Arc, Mutex};\nfn f(x: Mutex<u8>) { Mutex::new(1); }";
        assert_eq!(faults("core", text, &[]), ["a.rs:1: `std::sync::Mutex`: take no lock"]);
        assert!(faults("ingest", text, &[]).is_empty());
        assert_eq!(faults("ingest", "use serde::de;", &[]), ["a.rs:1: `serde`: use view"]);
        assert!(faults("view", "use serde::de;", &[]).is_empty());
    }

    #[test]
    fn globs_and_aliases_do_not_hide_a_path() {
        for text in [
            "use std::sync::*;",
            "use std::*;",
            "use std::sync; struct S(sync::Mutex<u8>);",
            "use std::sync::Mutex as Cell;",
        ] {
            assert_eq!(faults("core", text, &[]).len(), 1, "{text}");
        }
        for text in ["use std::sync::Arc;", "use std::sync;", "use serde_json::Value;"] {
            assert!(faults("core", text, &[]).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_exception_is_for_one_file_and_has_to_be_needed() {
        let exception = |file| Exception { file, path: "serde", reason: "it is old" };
        assert!(faults("core", "use serde::de;", &[exception("a.rs")]).is_empty());
        assert_eq!(faults("core", "use serde::de;", &[exception("b.rs")]).len(), 2);
        let stale = faults("core", "", &[exception("a.rs")]);
        assert!(stale[0].starts_with("a.rs does not name `serde`"), "{stale:?}");
    }
}
