//! The keys.

use crate::full_screen::Size;
use crate::terminal::{Painter, Style, fit, left, wrap};

const KEYS: [(&str, &str); 17] = [
    ("Tab, Shift-Tab", "the next pane, the one before: the chart and the lists"),
    ("arrows, hjkl", "move in a list or in the chart, and to the pane beside"),
    ("PgUp PgDn g G", "a page, the first, the last"),
    ("Enter", "a client: its story; another value: include it; the chart: zoom"),
    ("= i, ! x", "include a value, exclude it"),
    ("/", "type the filter; Tab completes fields and values"),
    ("Backspace u", "drop the last condition"),
    ("Space v", "in the chart, mark the start of a part"),
    ("+", "in the chart, zoom in"),
    ("-, 0", "zoom out; to the whole time"),
    ("o", "the lines of the log"),
    ("b", "what rules of your own would do, and what tripped those in force"),
    ("1 2 3", "requests, error-log lines, firewall events: those that there are"),
    ("f", "freeze what is followed, and go on"),
    ("Esc", "back: to the page below, or undo the last change"),
    ("Ctrl-L, Ctrl-Z", "draw again; to the shell"),
    ("q, Ctrl-C", "quit"),
];

const KEY_COLUMNS: usize = 16;

/// The keys, and what they do.
pub(super) fn lines(size: Size, painter: Painter) -> Vec<String> {
    let mut lines =
        vec![painter.paint(Style::TITLE, &fit("Keys; any key goes back", size.columns))];
    let columns = size.columns.saturating_sub(KEY_COLUMNS);
    for (keys, meaning) in KEYS {
        let keys = left(&fit(keys, size.columns.min(KEY_COLUMNS)), KEY_COLUMNS);
        let keys = fit(&keys, size.columns);
        let mut meanings = wrap(meaning, ["", ""], columns.max(1)).into_iter();
        let first = if columns == 0 { String::new() } else { meanings.next().unwrap_or_default() };
        lines.push(painter.paint(Style::TITLE, &keys) + &first);
        if columns > 0 {
            lines.extend(meanings.map(|meaning| " ".repeat(KEY_COLUMNS) + &meaning));
        }
    }
    lines
}
