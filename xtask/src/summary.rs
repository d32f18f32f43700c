//! Adds up the results of the test runners.

use std::process::Command;

use crate::shell::{Outcome, execute_and_keep};

/// The closing lines of the runners and their sums.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    lines: Vec<String>,
    passed: u64,
    failed: u64,
}

impl Summary {
    /// Whether a test runner prints this line at its end.
    pub(crate) fn is_closing_line(line: &str) -> bool {
        counts(line).is_some()
    }

    pub(crate) fn add(&mut self, lines: Vec<String>) {
        for line in lines {
            if let Some((passed, failed)) = counts(&line) {
                self.passed += passed;
                self.failed += failed;
            }
            // Crates without tests are left out.
            if !line.contains(" 0 passed; 0 failed") {
                self.lines.push(line);
            }
        }
    }

    pub(crate) fn print(&self) {
        println!();
        for line in &self.lines {
            println!("{}", line.trim());
        }
        println!("{} passed, {} failed", self.passed, self.failed);
    }
}

/// Runs tests, and returns the closing lines of their runners.
///
/// # Errors
/// If one fails, or if none was run, as after a module was renamed.
pub(crate) fn run_tests(tests: &mut Command) -> Outcome<Vec<String>> {
    let lines = execute_and_keep(tests, Summary::is_closing_line)?;
    let passed: u64 = lines.iter().filter_map(|line| Some(counts(line)?.0)).sum();
    if passed == 0 {
        return Err(format!("no test was run by {tests:?}").into());
    }
    Ok(lines)
}

/// Passed and failed tests, from a closing line of `cargo test`, vitest or node.
fn counts(line: &str) -> Option<(u64, u64)> {
    let line = line.trim();
    if line.starts_with("test result:") {
        return Some((before(line, " passed")?, before(line, " failed")?));
    }
    if let Some(rest) = line.strip_prefix("Tests  ") {
        return Some((before(rest, " passed")?, before(rest, " failed").unwrap_or(0)));
    }
    let number = |prefix: &str| line.strip_prefix(prefix)?.trim().parse().ok();
    if let Some(passed) = number("ℹ pass ").or_else(|| number("# pass ")) {
        return Some((passed, 0));
    }
    Some((0, number("ℹ fail ").or_else(|| number("# fail "))?))
}

/// The number before a word.
fn before(line: &str, word: &str) -> Option<u64> {
    let end = line.find(word)?;
    line[..end].rsplit([' ', '|', '.']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn reads_the_runners() {
        let cargo = "test result: ok. 36 passed; 1 failed; 0 ignored; 0 measured";
        assert_eq!(counts(cargo), Some((36, 1)));
        assert_eq!(counts("      Tests  61 passed (61)"), Some((61, 0)));
        assert_eq!(counts("      Tests  2 failed | 61 passed (63)"), Some((61, 2)));
        assert_eq!(counts("ℹ pass 12"), Some((12, 0)));
        assert_eq!(counts("# fail 1"), Some((0, 1)));
        assert_eq!(counts("running 3 tests"), None);
    }
}
