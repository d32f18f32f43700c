//! The table of the steps.

use std::process::Stdio;

use super::programs;
use crate::shell::{FEATURES, Outcome, command, execute};
use crate::{
    abuse, bench, browsers, debian, formats, h2spec, outside, page, python, readme, supply_chain,
    tidy, types, wasm,
};

/// A part of the run.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// The steps that have to end before it starts.
    pub(super) after: &'static [&'static str],
    pub(super) kind: Kind,
    /// Whether it runs cargo, which lets only one process build at a time.
    pub(super) builds: bool,
    pub(super) work: fn() -> Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It needs only Rust.
    Quick,
    /// It needs other programs too.
    Full,
    /// It waits for downloads most of the time, and runs beside all others.
    Download,
}

use Kind::{Download, Full, Quick};

/// The compilation, which the programs of the tests are known after.
pub(super) const COMPILATION: &str = "lints and programs";

const DEBIAN: &str = "packages of Debian";
const PYTHON: &str = "packages of Python";
const NPM: &str = "packages of the page";
const H2SPEC: &str = "program h2spec";

const BENCHMARKS: &str = "benchmarks of the crates";

/// The name for the programs of the tests, which are steps too.
pub(super) const TESTS: &str = "tests";

const fn step(
    name: &'static str,
    after: &'static [&'static str],
    kind: Kind,
    work: fn() -> Outcome,
) -> Step {
    Step { name, after, kind, builds: false, work }
}

const fn build(name: &'static str, work: fn() -> Outcome) -> Step {
    Step { name, after: &[COMPILATION], kind: Quick, builds: true, work }
}

/// All steps but the programs of the tests. Those that take long come first.
const STEPS: [Step; 33] = [
    step(DEBIAN, &[], Download, debian::install),
    step(PYTHON, &[], Download, python_packages),
    step(NPM, &[], Download, weir_tools::npm::install),
    step(H2SPEC, &[], Download, h2spec::install),
    step("format", &[], Quick, format),
    step("layering", &[], Quick, tidy::run),
    step(COMPILATION, &[], Quick, programs::compile),
    step("page", &[NPM], Full, page::test),
    step("Chromium", &[COMPILATION, NPM, DEBIAN], Full, browsers::chromium),
    step("Chromium, a large log", &[COMPILATION, NPM, DEBIAN], Full, browsers::chromium_large),
    step("Firefox", &[COMPILATION, NPM, DEBIAN], Full, browsers::firefox),
    build(BENCHMARKS, benchmarks_of_crates),
    step("benchmarks", &[BENCHMARKS, NPM, DEBIAN], Full, || bench::smoke(true)),
    step("benchmarks without the page", &[BENCHMARKS], Quick, || bench::smoke(false)),
    step("nginx", &[COMPILATION, DEBIAN], Full, outside::nginx),
    step("fail2ban", &[COMPILATION, DEBIAN], Full, outside::fail2ban),
    step("CrowdSec", &[COMPILATION, DEBIAN], Full, outside::crowdsec),
    step("h2spec", &[COMPILATION, H2SPEC], Full, abuse::check_http2),
    step("readers of tables", &[COMPILATION, PYTHON], Full, outside::table_readers),
    step("DuckDB", &[COMPILATION, PYTHON], Full, outside::duckdb),
    step("PyJWT", &[COMPILATION, PYTHON], Full, outside::pyjwt),
    step("Prometheus", &[COMPILATION, PYTHON], Full, outside::prometheus),
    step("gRPC and WebSockets", &[COMPILATION, PYTHON], Full, outside::services),
    step("strace", &[COMPILATION, DEBIAN], Full, outside::strace),
    step("clock", &[COMPILATION, DEBIAN], Full, outside::clock),
    step("dependencies", &[PYTHON], Full, supply_chain::check),
    step("core for WebAssembly", &[DEBIAN], Full, wasm::check),
    build("documentation", documentation),
    build("examples in the documentation", examples),
    step("types of the page", &[COMPILATION], Quick, types::check),
    step("README", &[COMPILATION], Quick, readme::check),
    step("docs/formats.md", &[COMPILATION], Quick, formats::check),
    step("tables of the benchmarks", &[COMPILATION], Quick, bench::check_documents),
];

/// The step of a name.
pub(super) fn named(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

/// The steps that the arguments ask for.
///
/// # Errors
/// If there is no such step.
pub(super) fn chosen(arguments: &[&str]) -> Outcome<Chosen> {
    let without_page = "benchmarks without the page";
    let of = |is_chosen: &dyn Fn(&Step) -> bool| Chosen {
        steps: STEPS.iter().filter(|step| is_chosen(step)).collect(),
        has_tests: true,
    };
    match arguments {
        [] => return Ok(of(&|step| step.name != without_page)),
        ["--quick"] => return Ok(of(&|step| step.kind == Quick)),
        _ => {}
    }
    let mut wanted: Vec<&str> = Vec::new();
    let mut open = arguments.to_vec();
    while let Some(name) = open.pop() {
        if name == TESTS {
            open.push(COMPILATION);
        } else {
            let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            let step = named(name).ok_or_else(|| {
                format!("`{name}` is not a step; choose among {TESTS}, {}", names.join(", "))
            })?;
            open.extend(step.after);
            wanted.push(step.name);
        }
    }
    let has_tests = arguments.contains(&TESTS);
    Ok(Chosen { has_tests, ..of(&|step| wanted.contains(&step.name)) })
}

/// What a run consists of.
pub(super) struct Chosen {
    pub(super) steps: Vec<&'static Step>,
    /// Whether the programs of the tests run.
    pub(super) has_tests: bool,
}

fn format() -> Outcome {
    execute(&mut command("cargo", &["fmt", "--all", "--check"]))?;
    let contenders = ["fmt", "--manifest-path", "bench/contenders/Cargo.toml", "--check"];
    execute(&mut command("cargo", &contenders))
}

fn python_packages() -> Outcome {
    supply_chain::install();
    python::install()
}

/// Builds the documentation of every crate. A broken link is an error.
fn documentation() -> Outcome {
    let arguments = ["doc", "--workspace", "--no-deps", "--keep-going", "--quiet"];
    let mut cargo = command("cargo", &arguments);
    cargo.args(FEATURES);
    // The lints have been checked.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER").env("RUSTDOCFLAGS", "-D warnings");
    execute(&mut cargo)
}

fn examples() -> Outcome {
    execute(command("cargo", &["test", "--workspace", "--doc", "--quiet"]).args(FEATURES))
}

/// Runs each benchmark of a single stage once.
fn benchmarks_of_crates() -> Outcome {
    let mut cargo = command("cargo", &["test", "--workspace", "--quiet"]);
    cargo.args(FEATURES);
    for name in ["stages", "streams", "receiving", "tokens", "gate"] {
        cargo.args(["--bench", name]);
    }
    execute(cargo.args(["--", "--test"]).stdout(Stdio::null()))
}

#[cfg(test)]
mod tests {
    use super::{COMPILATION, STEPS, chosen, named};

    #[test]
    fn every_step_is_after_steps_that_exist() {
        for step in &STEPS {
            assert!(step.after.iter().all(|name| named(name).is_some()), "{}", step.name);
        }
    }

    #[test]
    fn a_named_step_brings_those_before_it() {
        let chosen = chosen(&["nginx"]).unwrap();
        let names: Vec<&str> = chosen.steps.iter().map(|step| step.name).collect();
        assert_eq!(names, ["packages of Debian", COMPILATION, "nginx"]);
        assert!(!chosen.has_tests);
        assert!(super::chosen(&["nothing"]).is_err());
    }
}
