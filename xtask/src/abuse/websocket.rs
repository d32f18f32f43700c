//! The Autobahn TestSuite, sections 1 to 7, 9 and 10, against the echo server of `crates/net`.
//!
//! Sections 12 and 13 are about compression, which Weir does not offer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::server::Server;
use super::{Setting, Verdict};
use crate::shell::{Outcome, execute, root, target_folder};

/// The last version that pip for Python 2.7 installs with all that it needs.
const PACKAGE: &str = "autobahntestsuite==0.8.2";

/// Names a Python 2.7 that is not in the search path.
const PYTHON_VARIABLE: &str = "PYTHON2";

const SECTIONS: [&str; 9] = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*"];

/// The paths of the echo server, one for each way of reading.
const READ_PATHS: [&str; 2] = ["next", "next_into"];

/// The results of a case, and of the end of its connection, that pass. The standard leaves cases
/// open whose result is informational.
const GOOD: [&str; 2] = ["OK", "INFORMATIONAL"];

pub(super) fn run(_: &Setting) -> Outcome<Verdict> {
    let Some(python) = python() else {
        let why = format!(
            "the Autobahn TestSuite is written in Python 2, and there is no python2.7; name one in \
             the variable {PYTHON_VARIABLE}"
        );
        return Ok(Verdict::Skipped(why));
    };
    let folder = root().join(target_folder()).join("autobahn");
    if let Err(error) = install(&python, &folder) {
        return Ok(Verdict::Skipped(format!("{PACKAGE} cannot be installed: {error}")));
    }
    super::build_examples()?;
    let mut echo = Command::new(super::example("echo"));
    let server = Server::start_program(echo.arg("tcp://127.0.0.1:0"), 1)?;
    let mut lines = Vec::new();
    for path in READ_PATHS {
        test(&python, &folder, server.host(), path)?;
        let index = fs::read_to_string(folder.join(path).join("index.json"))?;
        lines.push(format!("{path}: {}", judge(&serde_json::from_str(&index)?)?));
    }
    Ok(Verdict::Passed(lines))
}

/// A program that is Python 2.7.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os(PYTHON_VARIABLE).map(PathBuf::from);
    let candidates = named.into_iter().chain(["python2.7".into(), "python2".into()]);
    candidates.chain(pyenv()).find(|program| {
        let mut version = Command::new(program);
        version.args(["-c", "import sys; sys.exit(sys.version_info[:2] != (2, 7))"]);
        let status = version.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    })
}

/// The paths at which pyenv may have a Python 2.7.
fn pyenv() -> Vec<PathBuf> {
    let Some(root) = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".pyenv")))
    else {
        return Vec::new();
    };
    let versions = fs::read_dir(root.join("versions")).into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin/python2.7")).collect()
}

/// Installs the suite into a folder of its own, without virtualenv, which Python 2.7 may lack.
fn install(python: &Path, folder: &Path) -> Outcome {
    fs::create_dir_all(folder)?;
    let mut import = suite(python, folder);
    import.args(["-c", "import autobahntestsuite"]).stdout(Stdio::null()).stderr(Stdio::null());
    if import.status()?.success() {
        return Ok(());
    }
    let mut pip = suite(python, folder);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--user", PACKAGE]);
    execute(pip.stderr(Stdio::null()))
}

/// Python with the packages of the folder.
fn suite(python: &Path, folder: &Path) -> Command {
    let mut command = Command::new(python);
    command.current_dir(folder).env("PYTHONUSERBASE", folder);
    command
}

/// Runs all cases with one way of reading. The reports are in the folder of its name.
fn test(python: &Path, folder: &Path, host: &str, path: &str) -> Outcome {
    let server = json!({"agent": path, "url": format!("ws://{host}/{path}")});
    let specification = json!({
        "outdir": folder.join(path), "servers": [server], "cases": SECTIONS,
        "exclude-cases": [], "exclude-agent-cases": {},
    });
    let file = folder.join(format!("{path}.json"));
    fs::write(&file, specification.to_string())?;
    let _ = fs::remove_dir_all(folder.join(path));
    let mut client = suite(python, folder);
    client.args(["-m", "autobahntestsuite.wstest", "--mode", "fuzzingclient", "--spec"]).arg(&file);
    let log = fs::File::create(folder.join(format!("{path}.log")))?;
    execute(client.stdout(log.try_clone()?).stderr(log))
}

/// Counts the results of an index, which names each case of each agent.
///
/// # Errors
/// With the cases that are not good, or if there are none.
fn judge(index: &Value) -> Outcome<String> {
    let cases = index.as_object().into_iter().flatten().filter_map(|(_, cases)| cases.as_object());
    let (mut counts, mut bad) = (BTreeMap::<String, usize>::new(), Vec::new());
    for (case, result) in cases.flatten() {
        let behavior = |key: &str| result[key].as_str().unwrap_or("MISSING").to_owned();
        let (answer, close) = (behavior("behavior"), behavior("behaviorClose"));
        if !GOOD.contains(&answer.as_str()) || !GOOD.contains(&close.as_str()) {
            bad.push(format!("case {case}: {answer}, its close {close}"));
        }
        *counts.entry(answer).or_default() += 1;
    }
    if !bad.is_empty() {
        return Err(bad.join("\n").into());
    }
    if counts.is_empty() {
        return Err("the Autobahn TestSuite has run no case".into());
    }
    let counts = counts.iter().map(|(result, cases)| format!("{cases} {result}"));
    Ok(counts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::judge;

    #[test]
    fn results_are_counted() {
        let case = |answer: &str, close: &str| json!({"behavior": answer, "behaviorClose": close});
        let good = json!({"next": {
            "1.1.1": case("OK", "OK"), "1.1.2": case("OK", "INFORMATIONAL"),
            "7.1.6": case("INFORMATIONAL", "INFORMATIONAL"),
        }});
        assert_eq!(judge(&good).unwrap(), "1 INFORMATIONAL, 2 OK");
        for bad in [case("NON-STRICT", "OK"), case("OK", "UNCLEAN"), json!({})] {
            assert!(judge(&json!({"next": {"6.4.1": bad}})).is_err());
        }
        assert!(judge(&json!({})).is_err());
    }
}
