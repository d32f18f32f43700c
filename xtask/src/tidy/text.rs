//! Checks of a source file's text.

use std::path::Path;

/// A source file has at most this many lines. A longer one usually holds two subjects.
const LINES_MAX: usize = 600;

/// Properties of the DOM that take markup.
const MARKUP: [&str; 3] = ["innerHTML", "outerHTML", "insertAdjacentHTML"];

/// Reports files that are too long, and places where log text could become markup.
pub(super) fn check(path: &Path, text: &str, faults: &mut Vec<String>) {
    let shown = path.display();
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults
            .push(format!("{shown} has {lines} lines; split it by subject (at most {LINES_MAX})"));
    }
    if !path.starts_with("web/src") {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        let is_comment = line.trim_start().starts_with("//");
        if !is_comment && MARKUP.iter().any(|name| line.contains(name)) {
            faults.push(format!(
                "{shown}:{}: log text is hostile; set text nodes, never markup",
                index + 1
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, check};
    use std::path::Path;

    fn faults(path: &str, text: &str) -> usize {
        let mut faults = Vec::new();
        check(Path::new(path), text, &mut faults);
        faults.len()
    }

    #[test]
    fn long_files_are_reported() {
        assert_eq!(faults("a.rs", &"\n".repeat(LINES_MAX)), 0);
        assert_eq!(faults("a.rs", &"\n".repeat(LINES_MAX + 1)), 1);
    }

    #[test]
    fn markup_is_reported_on_the_page() {
        assert_eq!(faults("web/src/a.ts", "row.innerHTML = value;"), 1);
        assert_eq!(faults("web/src/a.ts", "// never innerHTML"), 0);
        assert_eq!(faults("web/test/a.ts", "row.innerHTML = value;"), 0);
    }
}
