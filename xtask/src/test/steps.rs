//! The table of the steps.

use std::process::Stdio;

use super::inputs::Inputs;
use super::programs;
use crate::shell::{FEATURES, Outcome, command, execute};
use crate::{
    abuse, bench, browsers, debian, formats, h2spec, outside, page, peers, python, readme,
    supply_chain, tidy, types, wasm,
};

/// A part of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// The steps that have to end before it starts.
    pub(super) after: &'static [&'static str],
    pub(super) kind: Kind,
    /// Whether it runs cargo, which lets only one process build at a time.
    pub(super) builds: bool,
    /// What its result depends on.
    pub(super) inputs: Inputs,
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

/// The binary, and the program of its tests.
const WEIR: &str = "weir";
const OF_WEIR: &str = "weir integration";

const DEBIAN: &str = "packages of Debian";
const PYTHON: &str = "packages of Python";
const LAKES: &str = "packages of data lakes";
const NPM: &str = "packages of the page";
const H2SPEC: &str = "program h2spec";
const PEERS: &str = "programs of others";

const BENCHMARKS: &str = "benchmarks of the crates";

/// The name for the programs of the tests, which are steps too.
pub(super) const TESTS: &str = "tests";

/// A step whose result depends on any file of the tree.
const fn step(
    name: &'static str,
    after: &'static [&'static str],
    kind: Kind,
    work: fn() -> Outcome,
) -> Step {
    Step { name, after, kind, builds: false, inputs: Inputs::Tree, work }
}

const fn build(name: &'static str, work: fn() -> Outcome) -> Step {
    Step { builds: true, ..step(name, &[COMPILATION], Quick, work) }
}

/// A step that fetches what other steps need.
const fn download(name: &'static str, work: fn() -> Outcome) -> Step {
    step(name, &[], Download, work).with(Inputs::Outside)
}

/// A part of the suite of the browsers.
const fn browser(name: &'static str, work: fn() -> Outcome) -> Step {
    step(name, &[COMPILATION, NPM, DEBIAN], Full, work).with(Inputs::Browser)
}

/// Tests of a program of tests that need a program of others.
const fn outside(
    name: &'static str,
    after: &'static [&'static str],
    program: &'static [&'static str],
    work: fn() -> Outcome,
) -> Step {
    step(name, after, Full, work).with(Inputs::Programs(program))
}

impl Step {
    const fn with(self, inputs: Inputs) -> Self {
        Self { inputs, ..self }
    }
}

const BUILT_DEBIAN: &[&str] = &[COMPILATION, DEBIAN];
const BUILT_PEERS: &[&str] = &[COMPILATION, DEBIAN, PEERS];
const BUILT_PYTHON: &[&str] = &[COMPILATION, PYTHON];

/// All steps but the programs of the tests. Those that take long come first.
const STEPS: [Step; 46] = [
    download(DEBIAN, debian::install),
    download(PYTHON, python_packages),
    // One pip at a time.
    step(LAKES, &[PYTHON], Download, python::install_lakes).with(Inputs::Outside),
    download(NPM, weir_tools::npm::install),
    download(H2SPEC, h2spec::install),
    download(PEERS, peers::install),
    step("format", &[], Quick, format),
    step("layering", &[], Quick, tidy::run),
    // Cargo knows what has changed.
    step(COMPILATION, &[], Quick, programs::compile).with(Inputs::Outside),
    step("page", &[NPM], Full, page::test).with(Inputs::Folders(&["web"])),
    browser("Chromium, outputs", || browsers::test("chromium-outputs")),
    browser("Chromium, files", || browsers::test("chromium-files")),
    browser("Chromium, inside", || browsers::test("chromium-inside")),
    browser("Chromium, questions", || browsers::test("chromium-questions")),
    browser("Chromium, a large log", || browsers::test("chromium-large")),
    browser("Firefox", || browsers::test("firefox-small")),
    browser("Firefox, a large log", || browsers::test("firefox-large")),
    build(BENCHMARKS, benchmarks_of_crates),
    step("benchmarks", &[BENCHMARKS, NPM, DEBIAN], Full, || bench::smoke(true)),
    step("benchmarks without the page", &[BENCHMARKS], Quick, || bench::smoke(false)),
    outside("nginx", BUILT_DEBIAN, &[OF_WEIR, WEIR], outside::nginx),
    outside(
        "clients and servers of others",
        BUILT_PEERS,
        &["weir-gateway integration"],
        outside::peers,
    ),
    outside("fail2ban", BUILT_DEBIAN, &["weir-rules integration"], outside::fail2ban),
    outside("CrowdSec", BUILT_DEBIAN, &[OF_WEIR, WEIR], outside::crowdsec),
    outside("HAProxy and modules of Apache", BUILT_DEBIAN, &[OF_WEIR, WEIR], outside::limiters),
    step("h2spec", &[COMPILATION, H2SPEC], Full, abuse::check_http2),
    outside("readers of tables", BUILT_PYTHON, &[OF_WEIR, WEIR], outside::table_readers),
    outside(
        "engines of data lakes",
        &[COMPILATION, DEBIAN, LAKES],
        &[OF_WEIR, WEIR],
        outside::lake_readers,
    ),
    outside("DuckDB", BUILT_PYTHON, &[OF_WEIR, WEIR], outside::duckdb),
    outside(
        "databases of addresses",
        &[COMPILATION, PYTHON, PEERS],
        &["weir-geo integration"],
        outside::geography,
    ),
    outside("PyJWT", BUILT_PYTHON, &["weir-gateway token"], outside::pyjwt),
    outside("Prometheus", &[COMPILATION, DEBIAN, PYTHON], &[OF_WEIR, WEIR], outside::prometheus),
    outside("gRPC and WebSockets", BUILT_PYTHON, &["weir-gateway integration"], outside::services),
    outside("OpenTelemetry", BUILT_PYTHON, &["weir-gateway integration"], outside::otlp),
    outside("systemd", BUILT_DEBIAN, &[OF_WEIR, WEIR], outside::systemd),
    outside("shells", BUILT_DEBIAN, &[OF_WEIR, WEIR], outside::shells),
    outside("strace", BUILT_DEBIAN, &["weir-net integration"], outside::strace),
    outside("clock", BUILT_DEBIAN, &[OF_WEIR, WEIR], outside::clock),
    // A vulnerability becomes known without a change of the tree.
    step("dependencies", &[PYTHON], Full, supply_chain::check).with(Inputs::Outside),
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
        leaves_out: !arguments.contains(&"--all"),
    };
    let names: Vec<&str> = arguments.iter().copied().filter(|it| *it != "--all").collect();
    match names[..] {
        [] => return Ok(of(&|step| step.name != without_page)),
        ["--quick"] => return Ok(of(&|step| step.kind == Quick)),
        _ => {}
    }
    let mut wanted: Vec<&str> = Vec::new();
    let mut open: Vec<&str> = names.iter().flat_map(|name| with_parts(name)).collect();
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
    let has_tests = names.contains(&TESTS);
    // What is named runs.
    Ok(Chosen { has_tests, leaves_out: false, ..of(&|step| wanted.contains(&step.name)) })
}

/// The step of a name, and those of its parts: `Firefox` has `Firefox, a large log` too.
fn with_parts(name: &str) -> Vec<&str> {
    let is_part = |step: &&Step| step.name.strip_prefix(name).is_some_and(|it| it.starts_with(','));
    let parts: Vec<&str> = STEPS.iter().filter(is_part).map(|step| step.name).collect();
    match parts[..] {
        [_, ..] if named(name).is_none() => parts,
        _ => std::iter::once(name).chain(parts).collect(),
    }
}

/// What a run consists of.
pub(super) struct Chosen {
    pub(super) steps: Vec<&'static Step>,
    /// Whether the programs of the tests run.
    pub(super) has_tests: bool,
    /// Whether a step is left out that passed and whose inputs have not changed since.
    pub(super) leaves_out: bool,
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
    use super::{COMPILATION, Inputs, STEPS, chosen, named};

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

    #[test]
    fn the_name_of_several_parts_brings_them_all() {
        let names = |name: &str| -> Vec<&str> {
            let steps = chosen(&[name]).unwrap().steps;
            steps.iter().map(|step| step.name).filter(|it| it.starts_with(name)).collect()
        };
        assert_eq!(names("Firefox"), ["Firefox", "Firefox, a large log"]);
        assert_eq!(names("Chromium").len(), 5);
    }

    #[test]
    fn a_step_is_left_out_only_if_none_is_named_and_not_all_are_asked_for() {
        assert!(chosen(&[]).unwrap().leaves_out);
        assert!(chosen(&["--quick"]).unwrap().leaves_out);
        assert!(!chosen(&["--all"]).unwrap().leaves_out);
        assert!(!chosen(&["nginx"]).unwrap().leaves_out);
        assert_eq!(chosen(&["--all"]).unwrap().steps.len(), chosen(&[]).unwrap().steps.len());
    }

    /// A step that does not say what it depends on depends on the whole tree.
    #[test]
    fn only_steps_that_say_so_depend_on_less_than_the_tree() {
        let inputs = |name: &str| named(name).unwrap().inputs;
        for name in ["documentation", "README", "core for WebAssembly", "h2spec", "benchmarks"] {
            assert_eq!(inputs(name), Inputs::Tree, "{name}");
        }
        assert_eq!(inputs("Firefox"), Inputs::Browser);
    }
}
