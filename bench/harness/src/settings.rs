//! The arguments of the benchmarks, and the paths that depend on them.

use std::path::{Path, PathBuf};

use weir_tools::shell::{Outcome, target_folder};

/// A gigabyte of log.
const SIZE_MEBIBYTES: u64 = 1_000;
/// The smallest log in which every answer has some rows.
const SMOKE_MEBIBYTES: u64 = 4;
/// Recorded runs of each contender.
const RUNS: usize = 5;

const USAGE: &str = "usage: cargo xtask bench [NAME...] [--record] [--smoke] [--without-page] \
                     [--size MEBIBYTES] [--runs N]\n       cargo xtask bench docs [--check]";

/// The arguments of `cargo xtask bench`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The benchmarks to run. Empty for all.
    pub(crate) names: Vec<String>,
    /// Whether to write the measurements to `bench/record` and to the documents.
    pub(crate) is_recorded: bool,
    /// Whether only the answers matter: little input, programs of the debug build, nothing
    /// installed, and meaningless times.
    pub(crate) is_smoke: bool,
    /// Whether to leave out the benchmark that needs browsers.
    pub(crate) skips_page: bool,
    /// Size of the main input.
    pub(crate) mebibytes: u64,
    /// Recorded runs of each contender. Slow contenders get fewer.
    pub(crate) runs: usize,
}

impl Settings {
    /// Reads the arguments.
    pub(crate) fn parse(arguments: &[&str]) -> Outcome<Self> {
        let is_smoke = arguments.contains(&"--smoke");
        let mut settings = Self {
            names: Vec::new(),
            is_recorded: false,
            is_smoke,
            skips_page: false,
            mebibytes: if is_smoke { SMOKE_MEBIBYTES } else { SIZE_MEBIBYTES },
            runs: if is_smoke { 1 } else { RUNS },
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--record" => settings.is_recorded = true,
                "--smoke" => {}
                "--without-page" => settings.skips_page = true,
                "--size" => settings.mebibytes = number(argument, rest.next())?,
                "--runs" => settings.runs = number(argument, rest.next())? as usize,
                option if option.starts_with('-') => {
                    return Err(format!("`{option}` is not a known option\n{USAGE}").into());
                }
                name => settings.names.push(name.to_owned()),
            }
        }
        if settings.is_smoke && settings.is_recorded {
            return Err("the times of --smoke mean nothing; leave out --record".into());
        }
        Ok(settings)
    }

    /// Runs of a contender that is many times slower than the others.
    pub(crate) fn runs_if_slow(&self) -> usize {
        self.runs.min(3)
    }

    /// The folder of the programs that are measured.
    pub(crate) fn program_folder(&self) -> PathBuf {
        target_folder().join(if self.is_smoke { "debug" } else { "release" })
    }

    /// The path of the program `weir`.
    pub(crate) fn weir(&self) -> String {
        text(&self.program_folder().join("weir"))
    }

    /// The path of an example of one of the crates.
    pub(crate) fn example(&self, name: &str) -> String {
        text(&self.program_folder().join("examples").join(name))
    }
}

/// A path inside the repository as text.
pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The folder of inputs and installed peers.
pub(crate) fn folder() -> Outcome<PathBuf> {
    let folder = target_folder().join("bench");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The number of cores that the benchmarks may use.
pub(crate) fn cores() -> Outcome<usize> {
    Ok(std::thread::available_parallelism()?.get())
}

fn number(option: &str, value: Option<&&str>) -> Outcome<u64> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("{option} needs a number above 0\n{USAGE}").into())
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn arguments_are_read() {
        let settings = Settings::parse(&["parse", "--size", "64", "filter", "--record"]).unwrap();
        assert_eq!(settings.names, ["parse", "filter"]);
        assert_eq!(
            (settings.mebibytes, settings.is_recorded, settings.is_smoke),
            (64, true, false)
        );
        let smoke = Settings::parse(&["--runs", "2", "--smoke", "--without-page"]).unwrap();
        assert_eq!((smoke.runs, smoke.is_smoke, smoke.mebibytes), (2, true, 4));
        assert!(smoke.skips_page);
        for wrong in [&["--size"][..], &["--runs", "0"], &["--fast"], &["--smoke", "--record"]] {
            assert!(Settings::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
