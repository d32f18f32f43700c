//! The modules of a crate and their syntax.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::cycles::ModulePath;
use super::syntax::Syntax;
use crate::shell::{Outcome, root};

/// The modules of one crate; modules that are compiled for tests only are left out.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// The files, relative to the repository's root.
    pub(super) files: BTreeMap<ModulePath, String>,
    pub(super) modules: BTreeMap<ModulePath, Syntax>,
}

/// Reads the crates in `crates/` out of a list of files, by the name of their folder.
pub(super) fn by_crate(files: &[PathBuf]) -> Outcome<BTreeMap<String, Sources>> {
    let mut crates: BTreeMap<String, Sources> = BTreeMap::new();
    for file in files {
        let Some((name, module)) = module_of(file) else { continue };
        let shown = file.display().to_string();
        let text = fs::read_to_string(root().join(file))?;
        let syntax = Syntax::parse(&text).map_err(|error| format!("{shown}: {error}"))?;
        let sources = crates.entry(name).or_default();
        sources.files.insert(module.clone(), shown);
        sources.modules.insert(module, syntax);
    }
    for sources in crates.values_mut() {
        sources.leave_out_tests();
    }
    Ok(crates)
}

impl Sources {
    fn leave_out_tests(&mut self) {
        let mut tests = Vec::new();
        for (module, syntax) in &self.modules {
            let names = syntax.test_modules.iter();
            tests.extend(names.map(|name| [module, &[name.clone()][..]].concat()));
        }
        let is_outside = |module: &ModulePath| !tests.iter().any(|test| module.starts_with(test));
        self.modules.retain(|module, _| is_outside(module));
        self.files.retain(|module, _| is_outside(module));
    }
}

/// The crate and module of `crates/NAME/src/a/b.rs` or `crates/NAME/src/a/b/mod.rs`.
fn module_of(file: &Path) -> Option<(String, ModulePath)> {
    let inside = file.strip_prefix("crates").ok()?;
    let mut parts = inside.with_extension("");
    if inside.extension()? != "rs" {
        return None;
    }
    if matches!(parts.file_name()?.to_str()?, "mod" | "lib" | "main") {
        parts.pop();
    }
    let mut names = parts.iter().map(|part| part.to_string_lossy().into_owned());
    let name = names.next()?;
    if names.next()? != "src" {
        return None;
    }
    Some((name, names.collect()))
}

#[cfg(test)]
mod tests {
    use super::{Sources, Syntax, module_of};
    use std::path::Path;

    #[test]
    fn a_file_is_a_module() {
        let module = |path: &str| {
            let (name, module) = module_of(Path::new(path))?;
            Some(format!("{name} {}", module.join("::")))
        };
        assert_eq!(module("crates/core/src/lib.rs"), Some("core ".to_owned()));
        assert_eq!(module("crates/core/src/a/b.rs"), Some("core a::b".to_owned()));
        assert_eq!(module("crates/core/src/a/b/mod.rs"), Some("core a::b".to_owned()));
        assert_eq!(module("crates/core/tests/a.rs"), None);
        assert_eq!(module("web/src/a.ts"), None);
    }

    #[test]
    fn modules_of_tests_are_left_out_with_all_below_them() {
        let mut sources = Sources::default();
        for (module, text) in [
            (&["a"][..], "#[cfg(test)] mod oracle;"),
            (&["a", "oracle"], ""),
            (&["a", "oracle", "b"], ""),
        ] {
            let module = module.iter().map(|name| (*name).to_owned()).collect();
            sources.modules.insert(module, Syntax::parse(text).unwrap());
        }
        sources.leave_out_tests();
        assert_eq!(sources.modules.len(), 1);
    }
}
