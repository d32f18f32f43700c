//! What stands on the screen, so that only the lines that differ are written again: nothing
//! flickers, and a slow connection carries little.

use super::Size;

/// Clears the rest of a line.
const CLEAR_LINE: &str = "\x1b[K";

/// The lines on the screen.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    /// `None` if the screen is unknown.
    shown: Option<(Size, Vec<String>)>,
}

impl Picture {
    /// Forgets what stands on the screen: the next picture is written whole.
    pub(crate) fn forget(&mut self) {
        self.shown = None;
    }

    /// Returns what a terminal of this size has to be sent to show these lines; empty if it does.
    /// The lines are not wider than the terminal, and have at most as many rows.
    pub(crate) fn changes(&mut self, size: Size, mut lines: Vec<String>) -> String {
        lines.resize(size.rows, String::new());
        let known = match &self.shown {
            Some((shown_size, shown)) if *shown_size == size => Some(shown),
            _ => None,
        };
        let mut changes = String::new();
        for (row, line) in lines.iter().enumerate() {
            if known.is_some_and(|known| known[row] == *line) {
                continue;
            }
            // Cleared first: after a line as wide as the terminal, the cursor is still on its last
            // character.
            changes.push_str(&format!("\x1b[{};1H{CLEAR_LINE}{line}", row + 1));
        }
        self.shown = Some((size, lines));
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::{Picture, Size};

    #[test]
    fn only_lines_that_differ_are_written() {
        let size = Size { columns: 5, rows: 3 };
        let lines = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        let mut picture = Picture::default();
        assert_eq!(
            picture.changes(size, lines(["one", "two"])),
            "\x1b[1;1H\x1b[Kone\x1b[2;1H\x1b[Ktwo\x1b[3;1H\x1b[K"
        );
        assert_eq!(picture.changes(size, lines(["one", "two"])), "");
        assert_eq!(picture.changes(size, lines(["one", "2"])), "\x1b[2;1H\x1b[K2");
        let wider = Size { columns: 6, rows: 1 };
        assert_eq!(picture.changes(wider, vec!["one".to_owned()]), "\x1b[1;1H\x1b[Kone");
        picture.forget();
        assert_eq!(picture.changes(wider, vec!["one".to_owned()]), "\x1b[1;1H\x1b[Kone");
    }
}
