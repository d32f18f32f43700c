//! The machine and the versions of a recorded run.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::peers::duckdb;
use crate::settings::cores;
use weir_tools::shell::{Outcome, command, output_of};

/// The machine of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor's model name.
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    /// Size of the memory.
    pub(crate) memory_bytes: u64,
    /// Load average of the minute before the run.
    pub(crate) load_before: f64,
}

impl Machine {
    /// The machine that this program runs on.
    pub(crate) fn current() -> Outcome<Self> {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Ok(Self {
            cpu: after(&cpus, "model name").unwrap_or("unknown").to_owned(),
            cores: cores()?,
            kernel: kernel(&output_of(&mut command("uname", &["-r"]))?),
            memory_bytes: after(&memory, "MemTotal")
                .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kibibytes| kibibytes << 10),
            load_before: load.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0),
        })
    }

    /// The machine's part of a file name.
    pub(crate) fn slug(&self) -> String {
        slug(&format!("{} {} cores", self.cpu, self.cores))
    }
}

/// A kernel release without the suffix of the distribution.
fn kernel(release: &str) -> String {
    let end = release.find('-').unwrap_or(release.len());
    release[..end].trim().to_owned()
}

/// The value after a name and a colon.
fn after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

/// The words of a text in lower case, joined by hyphens.
fn slug(text: &str) -> String {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    words.join("-")
}

/// The versions of the programs of a run, and of Weir. The commit also has the locks of all
/// libraries. Missing programs are left out.
pub(crate) fn versions() -> BTreeMap<String, String> {
    let questions: [(&str, &str, &[&str]); 7] = [
        ("commit", "git", &["rev-parse", "--short", "HEAD"]),
        ("rustc", "rustc", &["--version"]),
        ("wc", "wc", &["--version"]),
        ("rg", "rg", &["--version"]),
        ("goaccess", "goaccess", &["--version"]),
        ("chromium", "/usr/bin/chromium", &["--version"]),
        ("firefox", "/usr/bin/firefox-esr", &["--version"]),
    ];
    let mut versions = BTreeMap::new();
    for (name, program, arguments) in questions {
        let output = command(program, arguments).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else { continue };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let first = text.lines().next().unwrap_or_default().trim();
        versions.insert(name.to_owned(), first.to_owned());
    }
    versions.extend(duckdb::installed_version().map(|version| ("duckdb".to_owned(), version)));
    versions
}

#[cfg(test)]
mod tests {
    use super::{after, slug};

    #[test]
    fn a_slug_is_a_plain_name() {
        assert_eq!(slug("AMD EPYC  9B14 (x) 2 cores"), "amd-epyc-9b14-x-2-cores");
    }

    #[test]
    fn values_follow_a_colon() {
        let text = "processor\t: 0\nmodel name\t: Some CPU\n";
        assert_eq!(after(text, "model name"), Some("Some CPU"));
        assert_eq!(after(text, "flags"), None);
    }
}
