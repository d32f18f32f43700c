//! Runs the benchmarks, which are a program of their own in `bench/harness`.

use crate::shell::{Outcome, command, execute};

/// Runs `weir-bench` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let program = ["run", "--quiet", "--package", "weir-bench", "--"];
    execute(command("cargo", &program).args(arguments))
}

/// Checks that every benchmark runs and gets the right answers, with or without the page.
pub(crate) fn smoke(with_page: bool) -> Outcome {
    if with_page { run(&["--smoke"]) } else { run(&["--smoke", "--without-page"]) }
}

/// Fails if a table in the documents differs from the newest record.
pub(crate) fn check_documents() -> Outcome {
    run(&["docs", "--check"])
}
