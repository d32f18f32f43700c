//! Repository chores: `cargo xtask test` runs everything that has to pass.

mod abuse;
mod bench;
mod browsers;
mod debian;
mod dist;
mod formats;
mod h2spec;
mod lists;
mod outside;
mod page;
mod peers;
mod python;
mod readme;
mod summary;
mod supply_chain;
mod test;
mod tidy;
mod types;
mod wasm;

use std::process::ExitCode;

use weir_tools::shell;

use shell::Outcome;

const HELP: &str = "\
cargo xtask test            everything that has to pass, but for steps whose inputs have not changed
                            since they passed; docs/testing.md lists the steps
cargo xtask test --all      everything that has to pass
cargo xtask test --quick    only the steps that need nothing but Rust
cargo xtask test STEP...    only these steps, and those that have to be before
cargo xtask tidy            the layering checks alone
cargo xtask dependencies    licences, versions, sources and known vulnerabilities of dependencies
cargo xtask dist [TARGET...]
                            a release in target/dist: archives, a package for Debian, checksums;
                            two builds of a commit are equal
cargo xtask dist check [--binary FILE]
                            installs, upgrades, removes and purges the package on a clean Debian
cargo xtask wasm            checks that core compiles for WebAssembly
cargo xtask types           writes web/src/generated from crates/view
cargo xtask formats         writes docs/formats.md from the files of the known formats
cargo xtask lists           writes the lists of crates/agents from the packages of npm
cargo xtask page            lints the page and builds it into web/dist
cargo xtask readme          writes the output of its commands to README.md
cargo xtask abuse [SUITE...] [--binary FILE] [--seconds N]
                            suites that try to break the server: slow, idle, bombs, tls,
                            http2, websocket, users, fuzz; N seconds for each fuzz target; about
                            twenty minutes in all
cargo xtask bench [NAME...] [--record] [--smoke] [--size MEBIBYTES] [--runs N]
                            all benchmarks or some, beside peers, with every answer checked;
                            --record writes bench/record and the tables of the documents
cargo xtask bench docs      writes the tables of the documents from the newest record";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["test", ref rest @ ..] => test::run(rest),
        // A process that `test` starts for each step.
        ["step", name] => test::perform(name),
        ["tidy"] => tidy::run(),
        ["dependencies"] => supply_chain::check(),
        ["dist", ref rest @ ..] => dist::run(rest),
        ["wasm"] => wasm::fetch_compiler().and_then(|()| wasm::check()),
        ["types"] => types::write(),
        ["formats"] => formats::write(),
        ["lists"] => lists::write(),
        ["page"] => page::build(),
        ["readme"] => readme::write(),
        ["abuse", ref rest @ ..] => abuse::run(rest),
        ["bench", ref rest @ ..] => bench::run(rest),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        ref words => {
            Err(format!("`{}` is not a chore; choose one of\n{HELP}", words.join(" ")).into())
        }
    };
    report(outcome)
}

fn report(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
