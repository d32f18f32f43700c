//! Runs the benchmarks, which are a program of their own in `bench/harness`.

use crate::shell::{Outcome, build_workspace, command, execute};

/// Runs `weir-bench` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let program = build_workspace(&["--bin", "weir-bench"])?.join("weir-bench");
    execute(&mut command(&program.to_string_lossy(), arguments))
}

/// Checks that every benchmark runs and gets the right answers, with or without the page.
pub(crate) fn smoke(with_page: bool) -> Outcome {
    if with_page { run(&["--smoke"]) } else { run(&["--smoke", "--without-page"]) }
}

/// Fails if a table in the documents differs from the newest record.
pub(crate) fn check_documents() -> Outcome {
    run(&["docs", "--check"])
}
