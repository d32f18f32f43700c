//! The programs of the tests, which are compiled once, with the lints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::folder;
use crate::shell::{FEATURES, Outcome, command, execute, output_of, root, target_folder};

/// A program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    package: String,
    /// `unit` for the tests in the sources of a library.
    suite: String,
    path: PathBuf,
    /// The folder of the package, where its tests run.
    folder: PathBuf,
}

/// Clippy as the compiler of the crates of the workspace: then one compilation is for lints and
/// for tests. Everything below this step has to have the same variables, or else it would compile
/// the crates again.
///
/// # Errors
/// If rustc does not say where it is.
pub(super) fn compiler() -> Outcome<[(&'static str, String); 2]> {
    let root = output_of(&mut command("rustc", &["--print", "sysroot"]))?;
    let clippy = Path::new(root.trim()).join("bin/clippy-driver");
    if !clippy.exists() {
        return Err(format!("there is no {}; install Clippy", clippy.display()).into());
    }
    // This is how `cargo clippy` hands its arguments on.
    let arguments = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
    let clippy = clippy.to_string_lossy().into_owned();
    Ok([("RUSTC_WORKSPACE_WRAPPER", clippy), ("CLIPPY_ARGS", arguments.to_owned())])
}

/// Compiles everything but the benchmarks of the crates, and writes a list of the programs.
///
/// # Errors
/// If it does not compile, or there is a warning.
pub(super) fn compile() -> Outcome {
    let format = "--message-format=json-render-diagnostics";
    let mut cargo = command("cargo", &["test", "--workspace", "--no-run", "--quiet", format]);
    let output = cargo.args(FEATURES).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("the workspace does not compile without warnings".into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let programs: Vec<Value> = messages.lines().filter_map(program).collect();
    fs::write(list_path(), serde_json::to_vec(&programs)?)?;
    // The tests of a package have its binaries only if some of them are in files of their own.
    let rest = ["build", "--workspace", "--bins", "--examples", "--quiet"];
    execute(command("cargo", &rest).args(FEATURES))
}

/// What a message of cargo says about a program of tests.
fn program(message: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let path = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    // `path+file:///FOLDER#NAME@VERSION`, without a name if that is the folder's.
    let (place, version) = message["package_id"].as_str()?.split_once('#')?;
    let package = match version.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next()?,
    };
    let suite = match message["target"]["kind"][0].as_str()? {
        "lib" => "unit",
        _ => message["target"]["name"].as_str()?,
    };
    Some(json!({ "package": package, "suite": suite, "path": path, "folder": folder }))
}

/// Runs the tests of a program, given its name.
///
/// # Errors
/// If there is no such program, or a test fails.
pub(super) fn run(name: &str) -> Outcome {
    let found = all()?.into_iter().find(|program| program.name() == name);
    let program = found.ok_or_else(|| format!("there is no program of tests `{name}`"))?;
    execute(program.command().args(["--quiet", "--test-threads", &threads().to_string()]))
}

/// How many tests of a program run at a time: more than there are cores, because most tests wait for
/// sockets and for other processes.
fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// All programs of tests.
///
/// # Errors
/// If they have not been compiled.
pub(super) fn all() -> Outcome<Vec<Program>> {
    let list: Vec<Value> = serde_json::from_slice(&fs::read(list_path())?)?;
    let read = |program: &Value| {
        let text = |name: &str| program[name].as_str().unwrap_or_default().to_owned();
        Program {
            package: text("package"),
            suite: text("suite"),
            path: text("path").into(),
            folder: text("folder").into(),
        }
    };
    Ok(list.iter().map(read).collect())
}

/// The path of a binary of the workspace.
pub(super) fn binary(name: &str) -> PathBuf {
    root().join(target_folder()).join("debug").join(name)
}

fn list_path() -> PathBuf {
    folder().join("programs.json")
}

impl Program {
    /// The program of a suite.
    ///
    /// # Errors
    /// If it has not been compiled, as after it was renamed.
    pub(crate) fn named(package: &str, suite: &str) -> Outcome<Self> {
        let mut all = all()?.into_iter();
        let found = all.find(|program| program.package == package && program.suite == suite);
        found.ok_or_else(|| format!("there are no tests `{suite}` in {package}").into())
    }

    /// What starts it, as `cargo test` would.
    pub(crate) fn command(&self) -> Command {
        let mut command = command(&self.path.to_string_lossy(), &[]);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.package, self.suite)
    }

    pub(super) fn package(&self) -> &str {
        &self.package
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The program, and the binary of its package, which tests can start. Every binary of the
    /// workspace has the name of its package.
    pub(super) fn executables(&self) -> Vec<PathBuf> {
        let binary = Some(binary(&self.package)).filter(|path| path.exists());
        std::iter::once(self.path.clone()).chain(binary).collect()
    }

    /// The size of its file.
    pub(super) fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |file| file.len())
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn a_message_names_a_program_of_tests() {
        let message = |test: bool, kind: &str| {
            format!(
                r#"{{"reason": "compiler-artifact",
                    "package_id": "path+file:///w/crates/core#weir-core@0.1.0",
                    "manifest_path": "/w/crates/core/Cargo.toml", "executable": "/w/target/it",
                    "target": {{"kind": ["{kind}"], "name": "integration"}},
                    "profile": {{"test": {test}}}}}"#
            )
        };
        let found = program(&message(true, "lib")).unwrap();
        assert_eq!(found["package"], "weir-core");
        assert_eq!(found["suite"], "unit");
        assert_eq!(found["folder"], "/w/crates/core");
        let xtask = message(true, "bin").replace("crates/core#weir-core@", "xtask#");
        assert_eq!(super::program(&xtask).unwrap()["package"], "xtask");
        assert_eq!(program(&message(true, "test")).unwrap()["suite"], "integration");
        assert_eq!(program(&message(false, "bin")), None);
        assert_eq!(program("no JSON"), None);
    }
}
