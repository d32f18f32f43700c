//! The results of the test runners.

use std::process::Command;

use crate::shell::{Outcome, execute_and_keep};

/// Numbers of tests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// Adds what a line of output says, if it is the closing line of `cargo test`, vitest or node,
    /// or a line of ours about skipped tests.
    pub(crate) fn add_line(&mut self, line: &str) {
        let line = line.trim();
        let number =
            |prefix: &str| line.strip_prefix(prefix)?.split(' ').next()?.parse::<u64>().ok();
        if line.starts_with("test result:") {
            self.passed += before(line, " passed").unwrap_or(0);
            self.failed += before(line, " failed").unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("Tests  ") {
            self.passed += before(rest, " passed").unwrap_or(0);
            self.failed += before(rest, " failed").unwrap_or(0);
        } else {
            self.passed += number("ℹ pass ").or_else(|| number("# pass ")).unwrap_or(0);
            self.failed += number("ℹ fail ").or_else(|| number("# fail ")).unwrap_or(0);
            self.skipped += number("skipped: ").unwrap_or(0);
        }
    }

    /// The sum of two.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// Runs tests.
///
/// # Errors
/// If one fails, or if none was run, as after a module was renamed.
pub(crate) fn run_tests(tests: &mut Command) -> Outcome {
    let mut counts = Counts::default();
    for line in execute_and_keep(tests, |_| true)? {
        counts.add_line(&line);
    }
    if counts.passed == 0 {
        return Err(format!("no test was run by {tests:?}").into());
    }
    Ok(())
}

/// The number before a word.
fn before(line: &str, word: &str) -> Option<u64> {
    let end = line.find(word)?;
    line[..end].rsplit([' ', '|', '.']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn reads_the_runners() {
        let counts = |line: &str| {
            let mut counts = Counts::default();
            counts.add_line(line);
            (counts.passed, counts.failed, counts.skipped)
        };
        let cargo = "test result: ok. 36 passed; 1 failed; 3 ignored; 0 measured";
        assert_eq!(counts(cargo), (36, 1, 0));
        assert_eq!(counts("      Tests  61 passed (61)"), (61, 0, 0));
        assert_eq!(counts("      Tests  2 failed | 61 passed (63)"), (61, 2, 0));
        assert_eq!(counts("ℹ pass 12"), (12, 0, 0));
        assert_eq!(counts("# fail 1"), (0, 1, 0));
        assert_eq!(counts("skipped: 3 with nginx: it is not installed"), (0, 0, 3));
        assert_eq!(counts("running 3 tests"), (0, 0, 0));
    }
}
