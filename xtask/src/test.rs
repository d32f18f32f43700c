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
        step("page", || {
            summary.add(page::test()?);
            Ok(())
        })?;
    }
    step("lints", || {
        run_command(
            "cargo",
            &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
        )
    })?;
    step("documentation", documentation)?;
    step("tests", || {
        let mut tests = command("cargo", &["test", "--workspace", "--quiet"]);
        summary.add(summary::run_tests(&mut tests)?);
        Ok(())
    })?;
    step("README", readme::check)?;
    step("docs/formats.md", formats::check)?;
    step("tables of the benchmarks", bench::check_documents)?;
    if scope == Scope::Everything {
        step("core for WebAssembly", wasm::check)?;
        step("dependencies", || {
            summary.add(supply_chain::check()?);
            Ok(())
        })?;
        step("nginx", || {
            summary.add(nginx::test()?);
            Ok(())
        })?;
        step("strace", || {
            summary.add(strace::test()?);
            Ok(())
        })?;
        step("clock", || {
            summary.add(clock::test()?);
            Ok(())
        })?;
        step("h2spec", || {
            summary.add(vec![abuse::check_http2()?]);
            Ok(())
        })?;
        step("fail2ban", || {
            summary.add(fail2ban::test()?);
            Ok(())
        })?;
        step("CrowdSec", || {
            summary.add(crowdsec::test()?);
            Ok(())
        })?;
        step("DuckDB", || {
            summary.add(tables::test_duckdb()?);
            Ok(())
        })?;
        step("readers of tables", || {
            summary.add(tables::test_readers()?);
            Ok(())
        })?;
        step("PyJWT", || {
            summary.add(tokens::test()?);
            Ok(())
        })?;
        step("Prometheus", || {
            summary.add(metrics::test()?);
            Ok(())
        })?;
        step("gRPC and WebSockets", || {
            summary.add(services::test()?);
            Ok(())
        })?;
        step("browsers", || {
            summary.add(browsers::test()?);
            Ok(())
        })?;
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

fn step(name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    println!("── {name}");
    let start = Instant::now();
    work().map_err(|error| format!("{name}: {error}"))?;
    println!("── {name}: passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
