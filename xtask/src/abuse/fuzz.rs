//! libFuzzer with the targets of `fuzz`, beginning with its corpus.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{Setting, Verdict};
use crate::shell::{Outcome, command, execute, is_installed, root, target_folder};

/// The passes of the compiler that libFuzzer needs.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// The platform of the build. If it is named, build scripts are not instrumented.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !is_installed("c++") {
        return Ok(Verdict::Skipped("it needs a C++ compiler on Linux for x86-64".to_owned()));
    }
    let (engine, work) = (build()?, root().join(target_folder()).join("fuzz/work"));
    let mut targets: Vec<PathBuf> = Vec::new();
    for folder in fs::read_dir(root().join("fuzz/corpus"))? {
        targets.push(folder?.path());
    }
    targets.sort();
    let mut lines = Vec::new();
    for corpus in targets {
        let name = corpus.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (found, log) = (work.join(&name), work.join(format!("{name}.log")));
        fs::create_dir_all(&found)?;
        let mut fuzzer = Command::new(&engine);
        fuzzer.arg(&found).arg(&corpus).env("WEIR_FUZZ_TARGET", &name);
        fuzzer.arg(format!("-max_total_time={}", setting.fuzz_s));
        fuzzer.args(["-timeout=10", "-rss_limit_mb=1500", "-max_len=4096"]);
        fuzzer.arg(format!("-artifact_prefix={}/{name}-", work.display()));
        fuzzer.stdout(Stdio::null()).stderr(fs::File::create(&log)?);
        execute(&mut fuzzer).map_err(|error| format!("{name}: {error}; see {}", log.display()))?;
        let text = fs::read_to_string(&log)?;
        lines.push(format!("{name}: {}", text.lines().last().unwrap_or_default()));
    }
    Ok(Verdict::Passed(lines))
}

/// Builds the engine in a folder of its own, because the flags build each dependency again.
fn build() -> Outcome<PathBuf> {
    let target = root().join(target_folder()).join("fuzz");
    let arguments = ["build", "--release", "--quiet", "--target", PLATFORM];
    let mut cargo = command("cargo", &arguments);
    // The passes are not stable options of the compiler.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &target);
    execute(cargo.current_dir(root().join("fuzz/engine")))?;
    Ok(target.join(PLATFORM).join("release/weir-fuzz-engine"))
}
