//! What the result of a step depends on, as digests. Two runs of a step whose digests are equal had
//! the same inputs.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::programs::{self, Program};
use crate::python;
use crate::shell::{Outcome, command, output_of, root, target_folder};

/// What the result of a step depends on, beside the chores themselves, the variables and the
/// programs of the machine, which every step depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inputs {
    /// What is not in the tree. Such a step always runs.
    Outside,
    /// Every file of the tree. This is right for every step; a step that depends on less says so.
    Tree,
    /// The files in these folders.
    Folders(&'static [&'static str]),
    /// These programs, by their names in `target/debug` or as programs of tests, and every file of
    /// the tree but Rust source and the sources of the page.
    Programs(&'static [&'static str]),
    /// The binary `weir`, and every file of the tree that is not Rust source.
    Browser,
}

/// The digests of a step's inputs, each with what it is of.
pub(super) type Digests = BTreeMap<String, String>;

/// Starts of the names of variables that may change what a step does.
const VARIABLES: [&str; 9] =
    ["CARGO", "LANG", "LC_", "NODE_", "PROPTEST_", "RUST", "TZ", "WEIR_", "ADVISORY_"];

/// Where Debian keeps which packages of which version are installed.
const DEBIAN_PACKAGES: &str = "/var/lib/dpkg/status";

/// Logs beside the repository, which a test of core reads if they are there.
const LOGS_BESIDE: &str = "../shared/logs";

/// The packages whose programs of tests read no Rust source when they run. Those of others depend on
/// the whole tree.
const READ_NO_SOURCE: [&str; 20] = [
    "weir",
    "weir-core",
    "weir-demo",
    "weir-export",
    "weir-feed",
    "weir-fuzz",
    "weir-gateway",
    "weir-geo",
    "weir-ingest",
    "weir-inside",
    "weir-net",
    "weir-observe",
    "weir-profile",
    "weir-query",
    "weir-rules",
    "weir-server",
    "weir-sync",
    "weir-tables",
    "weir-testkit",
    "weir-view",
];

/// The files of the tree and of the build folder, each read once.
pub(super) struct Files {
    /// Digests by path from the root.
    tree: BTreeMap<String, String>,
    /// Digests of programs.
    programs: HashMap<PathBuf, String>,
    /// The versions of the compiler and of what runs scripts.
    versions: String,
}

impl Files {
    /// Reads the tree: all files that git knows or would add.
    ///
    /// # Errors
    /// If git is missing, or the tree is no checkout.
    pub(super) fn read() -> Outcome<Self> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let list = output_of(&mut command("git", &list))?;
        // A file that is gone is an input too.
        let digest = |path: &str| fs::read(root().join(path)).map_or_else(|_| gone(), digest);
        let tree = list.split_terminator('\0').map(|path| (path.to_owned(), digest(path)));
        Ok(Self { tree: tree.collect(), programs: HashMap::new(), versions: versions() })
    }

    /// A tree with these files, by their contents.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let tree = files.iter().map(|(path, content)| ((*path).to_owned(), digest(content)));
        Self { tree: tree.collect(), programs: HashMap::new(), versions: String::new() }
    }

    /// Whether the tree is still what it was when it was read.
    pub(super) fn are_unchanged(&self) -> bool {
        Self::read().is_ok_and(|now| now.tree == self.tree)
    }

    /// The digests of the inputs of a step of the table. `None` if they are not known.
    pub(super) fn of_step(&mut self, inputs: Inputs) -> Option<Digests> {
        match inputs {
            Inputs::Outside => None,
            Inputs::Tree => Some(self.digests(|_| true, &[])),
            Inputs::Folders(folders) => {
                Some(self.digests(|path| folders.iter().any(|it| is_below(path, it)), &[]))
            }
            Inputs::Programs(names) => {
                let paths: Option<Vec<PathBuf>> = names.iter().map(|name| path_of(name)).collect();
                Some(self.digests(is_data, &paths?))
            }
            Inputs::Browser => {
                let is_input = |path: &str| is_data(path) || is_below(path, "web");
                Some(self.digests(is_input, &[path_of("weir")?]))
            }
        }
    }

    /// The digests of the inputs of a program of tests.
    pub(super) fn of_program(&mut self, program: &Program) -> Digests {
        if READ_NO_SOURCE.contains(&program.package()) {
            self.digests(is_data, &program.executables())
        } else {
            self.digests(|_| true, &program.executables())
        }
    }

    fn digests(&mut self, has: impl Fn(&str) -> bool, programs: &[PathBuf]) -> Digests {
        let programs: Vec<String> = programs.iter().map(|path| self.program(path)).collect();
        Digests::from([
            ("files".to_owned(), self.tree_digest(has)),
            ("programs".to_owned(), digest(programs.join("\n"))),
            ("chores".to_owned(), self.tree_digest(|path| is_below(path, "xtask"))),
            ("machine".to_owned(), digest(format!("{}\n{}", self.versions, installed()))),
            ("variables".to_owned(), variables(std::env::vars_os())),
        ])
    }

    /// The digest of those files of the tree that `has` accepts, with their paths.
    fn tree_digest(&self, has: impl Fn(&str) -> bool) -> String {
        let files = self.tree.iter().filter(|(path, _)| has(path));
        digest(files.map(|(path, digest)| format!("{digest}  {path}\n")).collect::<String>())
    }

    fn program(&mut self, path: &Path) -> String {
        let read = || fs::read(path).map_or_else(|_| gone(), digest);
        self.programs.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

/// Whether a file may be read by a program of tests. The program contains the Rust source already,
/// and of the page only what is built.
fn is_data(path: &str) -> bool {
    let is_rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    !is_rust && (!is_below(path, "web") || is_below(path, "web/dist"))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The program of a name, if it has been compiled.
fn path_of(name: &str) -> Option<PathBuf> {
    let program = programs::all().ok()?.into_iter().find(|program| program.name() == name);
    let path = program.map_or_else(|| programs::binary(name), |program| program.path().to_owned());
    path.exists().then_some(path)
}

/// The versions of the compiler, Node.js and Python.
fn versions() -> String {
    let version = |program: &str, option| output_of(&mut command(program, &[option]));
    let versions = [("rustc", "-vV"), ("node", "--version"), ("python3", "--version")];
    versions.map(|(program, option)| version(program, option).unwrap_or_default()).concat()
}

/// What else the machine brings, which may come while the steps run: the packages of Debian, the
/// modules of Python, h2spec, other servers, and the logs beside the repository.
fn installed() -> String {
    let mut parts = vec![fs::read(DEBIAN_PACKAGES).map_or_else(|_| gone(), digest)];
    parts.extend(names_below(&python::folder().join("lib"), 4));
    for folder in ["h2spec", "peers"] {
        parts.extend(names_below(&root().join(target_folder()).join(folder), 2));
    }
    parts.extend(names_below(&root().join(LOGS_BESIDE), 4));
    parts.join("\n")
}

/// The paths in a folder down to this depth, with the sizes of files.
fn names_below(folder: &Path, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && depth > 1 {
            names.extend(names_below(&path, depth - 1));
        }
        let bytes =
            fs::metadata(&path).map_or(0, |file| if file.is_dir() { 0 } else { file.len() });
        names.push(format!("{} {bytes}", path.display()));
    }
    names.sort_unstable();
    names
}

/// The digest of the variables that may change what a step does.
fn variables(all: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>) -> String {
    let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let mut lines: Vec<String> = all
        .map(|(name, value)| (lossy(name), lossy(value)))
        .filter(|(name, _)| VARIABLES.iter().any(|start| name.starts_with(start)))
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    lines.sort_unstable();
    digest(lines.concat())
}

fn digest(content: impl AsRef<[u8]>) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands for the digest of a file that cannot be read.
fn gone() -> String {
    "gone".to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Digests, Files, Inputs, is_below, is_data, variables};

    const TREE: [(&str, &str); 4] =
        [("README.md", "a"), ("web/main.ts", "b"), ("webs/c.ts", "c"), ("crates/core/lib.rs", "d")];

    /// Which of the inputs differ after a file has got another content.
    fn differ(inputs: Inputs, path: &str) -> bool {
        let digests =
            |tree: &[(&str, &str)]| -> Digests { Files::of(tree).of_step(inputs).unwrap() };
        let before = digests(&TREE);
        let after =
            digests(&TREE.map(|(it, content)| (it, if it == path { "!" } else { content })));
        before != after
    }

    #[test]
    fn every_file_is_an_input_of_a_step_that_does_not_say_less() {
        assert!(TREE.iter().all(|(path, _)| differ(Inputs::Tree, path)));
        let more = [TREE.as_slice(), &[("new", "")]].concat();
        let (mut before, mut after) = (Files::of(&TREE), Files::of(&more));
        assert_ne!(before.of_step(Inputs::Tree), after.of_step(Inputs::Tree), "a new file");
        let (mut before, mut after) = (Files::of(&TREE), Files::of(&TREE[1..]));
        assert_ne!(before.of_step(Inputs::Tree), after.of_step(Inputs::Tree), "a deleted file");
    }

    #[test]
    fn a_step_of_folders_depends_on_their_files_alone() {
        let web = Inputs::Folders(&["web"]);
        assert!(differ(web, "web/main.ts"));
        assert!(!differ(web, "webs/c.ts"));
        assert!(!differ(web, "README.md"));
    }

    #[test]
    fn a_change_of_the_chores_changes_every_step() {
        let chores = |content| [TREE.as_slice(), &[("xtask/src/main.rs", content)]].concat();
        let digests = |content| Files::of(&chores(content)).of_step(Inputs::Folders(&["web"]));
        assert_ne!(digests("a"), digests("b"));
    }

    #[test]
    fn a_step_with_a_program_depends_on_its_content_and_on_all_data() {
        let folder = std::env::temp_dir().join(format!("weir-inputs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("program");
        let digests = |tree: &[(&str, &str)], content: &str| {
            std::fs::write(&program, content).unwrap();
            Files::of(tree).digests(is_data, std::slice::from_ref(&program))
        };
        let before = digests(&TREE, "1");
        assert_eq!(digests(&TREE, "1"), before);
        assert_ne!(digests(&TREE, "2"), before, "another program");
        assert_ne!(digests(&TREE[1..], "1"), before, "other data");
        assert_eq!(digests(&TREE[..3], "1"), before, "the source is in the program");
        let of_page = |path| [TREE.as_slice(), &[(path, "")]].concat();
        assert_eq!(digests(&of_page("web/src/new.ts"), "1"), before, "a source of the page");
        assert_ne!(digests(&of_page("web/dist/new.js"), "1"), before, "the built page");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_outside_of_the_tree_has_no_digest() {
        assert_eq!(Files::of(&TREE).of_step(Inputs::Outside), None);
        assert_eq!(Files::of(&TREE).of_step(Inputs::Programs(&["no such program"])), None);
    }

    #[test]
    fn variables_that_tests_read_are_inputs() {
        let of = |name: &str, value: &str| variables([(name.into(), value.into())].into_iter());
        assert_ne!(of("PROPTEST_CASES", "32"), of("PROPTEST_CASES", "64"));
        assert_eq!(of("SHLVL", "1"), of("SHLVL", "2"));
    }

    #[test]
    fn a_file_of_the_tree_that_changes_meanwhile_is_noticed() {
        assert!(!Files::of(&[("Cargo.toml", "not what it contains")]).are_unchanged());
        assert!(is_below("web", "web"));
    }
}
