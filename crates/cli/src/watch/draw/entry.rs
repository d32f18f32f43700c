//! The line in which a filter is typed, and below it what is wrong with it, or its candidates.

use super::{Frame, safe_lines};
use crate::display::safe;
use crate::terminal::{Style, fit, width};
use crate::watch::state::Entry;

/// The cursor. A terminal without colours shows it too.
const CURSOR: &str = "▏";

/// The line, and the line below it.
pub(super) fn lines(frame: &Frame<'_>, entry: &Entry) -> [String; 2] {
    let columns = frame.size.columns;
    let (before, after) = entry.parts();
    let (mut before, after) = (safe(&before), safe(&after));
    // The end of a long text is more important than its start.
    let room = columns.saturating_sub(width("filter: ") + 2);
    while width(&before) > room {
        before = before.chars().skip(1).collect();
    }
    let text = format!("filter: {before}{CURSOR}{after}");
    [frame.line(Style::TITLE, &text), below(frame, entry)]
}

fn below(frame: &Frame<'_>, entry: &Entry) -> String {
    let columns = frame.size.columns;
    if let Some((candidates, chosen)) = entry.candidates() {
        return candidate_line(frame, candidates, chosen);
    }
    match entry.error() {
        Some(error) => {
            let first = safe_lines(&error).into_iter().next().unwrap_or_default();
            frame.painter.paint(Style::WRONG, &fit(&first, columns))
        }
        None => frame.line(Style::DIM, "such as status=5xx and path^=/api; docs/conditions.md"),
    }
}

/// As many candidates as fit, from the chosen one on.
fn candidate_line(frame: &Frame<'_>, candidates: &[String], chosen: usize) -> String {
    let mut line = String::new();
    // There is no room for a mark and the space after it.
    if frame.size.columns < 2 {
        return line;
    }
    let mut used = 0;
    for (index, candidate) in candidates[chosen..].iter().enumerate() {
        let text = safe(candidate.trim_end());
        let room = frame.size.columns.saturating_sub(used + 2);
        if index > 0 && width(&text) > room {
            break;
        }
        let text = fit(&text, room);
        let style = if index == 0 { Style::SELECTED } else { Style::DIM };
        // A mark as well as a colour.
        let mark = if index == 0 { ">" } else { " " };
        line.push_str(mark);
        line.push_str(&frame.painter.paint(style, &text));
        line.push(' ');
        used += width(&text) + 2;
    }
    line
}
