//! How the benchmarks are to be run.

use std::path::{Path, PathBuf};

use crate::shell::{Outcome, target_folder};

/// What a gigabyte of log comes to, in mebibytes.
const SIZE_MEBIBYTES: u64 = 1_000;
/// Enough of a log for every answer to mean something.
const SMOKE_MEBIBYTES: u64 = 4;
/// Recorded runs of a contender.
const RUNS: usize = 5;

pub(crate) const USAGE: &str =
    "usage: cargo xtask bench [NAME...] [--record] [--smoke] [--size MEBIBYTES] [--runs N]";

/// The arguments of `cargo xtask bench`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The benchmarks to run; none for all.
    pub(crate) names: Vec<String>,
    /// Keep what was measured in the repository.
    pub(crate) record: bool,
    /// See that everything runs and answers rightly, with little input, programs that are
    /// hardly optimised and no installation: the times mean nothing.
    pub(crate) smoke: bool,
    /// Size of the main input.
    pub(crate) mebibytes: u64,
    /// Recorded runs of each contender; slow ones get fewer.
    pub(crate) runs: usize,
}

impl Settings {
    /// Reads the arguments.
    pub(crate) fn parse(arguments: &[&str]) -> Outcome<Self> {
        let smoke = arguments.contains(&"--smoke");
        let mut settings = Self {
            names: Vec::new(),
            record: false,
            smoke,
            mebibytes: if smoke { SMOKE_MEBIBYTES } else { SIZE_MEBIBYTES },
            runs: if smoke { 1 } else { RUNS },
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--record" => settings.record = true,
                "--smoke" => {}
                "--size" => settings.mebibytes = number(argument, rest.next())?,
                "--runs" => settings.runs = number(argument, rest.next())? as usize,
                option if option.starts_with('-') => {
                    return Err(format!("unknown option {option}\n{USAGE}").into());
                }
                name => settings.names.push(name.to_owned()),
            }
        }
        if settings.smoke && settings.record {
            return Err("--smoke measures nothing worth recording; leave out --record".into());
        }
        Ok(settings)
    }

    /// Runs of a contender that takes many times as long as the others.
    pub(crate) fn runs_if_slow(&self) -> usize {
        self.runs.min(3)
    }

    /// Where cargo puts what is measured.
    pub(crate) fn built(&self) -> PathBuf {
        target_folder().join(if self.smoke { "debug" } else { "release" })
    }

    /// The program `weir`.
    pub(crate) fn weir(&self) -> String {
        text(&self.built().join("weir"))
    }

    /// An example of one of the crates.
    pub(crate) fn example(&self, name: &str) -> String {
        text(&self.built().join("examples").join(name))
    }
}

/// A path of this repository as text; they have no bytes that are none.
pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Where inputs and installed contenders are kept.
pub(crate) fn folder() -> Outcome<PathBuf> {
    let folder = target_folder().join("bench");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The cores that the benchmarks may use.
pub(crate) fn cores() -> Outcome<usize> {
    Ok(std::thread::available_parallelism()?.get())
}

fn number(option: &str, value: Option<&&str>) -> Outcome<u64> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("{option} wants a number above 0\n{USAGE}").into())
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn arguments_are_read() {
        let settings = Settings::parse(&["parse", "--size", "64", "filter", "--record"]).unwrap();
        assert_eq!(settings.names, ["parse", "filter"]);
        assert_eq!((settings.mebibytes, settings.record, settings.smoke), (64, true, false));
        let smoke = Settings::parse(&["--runs", "2", "--smoke"]).unwrap();
        assert_eq!((smoke.runs, smoke.smoke, smoke.mebibytes), (2, true, 4));
        for wrong in [&["--size"][..], &["--runs", "0"], &["--fast"], &["--smoke", "--record"]] {
            assert!(Settings::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
