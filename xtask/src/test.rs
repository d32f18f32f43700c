//! The steps that a change has to pass.

use std::time::Instant;

use crate::shell::{Outcome, command, execute};
use crate::summary::{self, Summary};
use crate::{
    abuse, bench, browsers, clock, crowdsec, fail2ban, formats, metrics, nginx, page, readme,
    services, strace, supply_chain, tables, tidy, tokens, types, wasm,
};

/// The steps to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All steps.
    Everything,
    /// The steps that need only Rust.
    Quick,
}

pub(crate) fn run(scope: Scope) -> Outcome {
    let mut summary = Summary::default();
    step("format", || {
        run_command("cargo", &["fmt", "--all", "--check"])?;
        run_command("cargo", &["fmt", "--manifest-path", "bench/contenders/Cargo.toml", "--check"])
    })?;
    step("layering", tidy::run)?;
    if scope == Scope::Everything {
        step("types of the page", types::check)?;
        // Before the crates are compiled, because the server contains the page.
        summary.add(step("page", page::test)?);
    }
    step("lints", || {
        run_command(
            "cargo",
            &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
        )
    })?;
    step("documentation", documentation)?;
    summary.add(step("tests", || {
        summary::run_tests(&mut command("cargo", &["test", "--workspace", "--quiet"]))
    })?);
    step("README", readme::check)?;
    step("docs/formats.md", formats::check)?;
    step("tables of the benchmarks", bench::check_documents)?;
    if scope == Scope::Everything {
        step("core for WebAssembly", wasm::check)?;
        summary.add(step("dependencies", supply_chain::check)?);
        summary.add(step("nginx", nginx::test)?);
        summary.add(step("strace", strace::test)?);
        summary.add(step("clock", clock::test)?);
        summary.add(vec![step("h2spec", abuse::check_http2)?]);
        summary.add(step("fail2ban", fail2ban::test)?);
        summary.add(step("CrowdSec", crowdsec::test)?);
        summary.add(step("DuckDB", tables::test_duckdb)?);
        summary.add(step("readers of tables", tables::test_readers)?);
        summary.add(step("PyJWT", tokens::test)?);
        summary.add(step("Prometheus", metrics::test)?);
        summary.add(step("gRPC and WebSockets", services::test)?);
        summary.add(step("browsers", browsers::test)?);
    }
    step("benchmarks", || bench::smoke(scope == Scope::Everything))?;
    summary.print();
    Ok(())
}

/// Builds the documentation of every crate. A broken link is an error.
fn documentation() -> Outcome {
    let arguments = ["doc", "--workspace", "--no-deps", "--keep-going", "--quiet"];
    execute(command("cargo", &arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

fn run_command(program: &str, arguments: &[&str]) -> Outcome {
    execute(&mut command(program, arguments))
}

fn step<T>(name: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    println!("── {name}");
    let start = Instant::now();
    let result = work().map_err(|error| format!("{name}: {error}"))?;
    println!("── {name}: passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(result)
}
