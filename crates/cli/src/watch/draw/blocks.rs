//! What tripped the rules in force, a sentence for each address.

use super::{Frame, head, spread};
use crate::terminal::{Screen, Style, draw_blocks, wrap};

/// The least width at which sentences can be read.
const COLUMNS_MIN: usize = 20;

/// The page, from a row on.
pub(super) fn lines(frame: &Frame<'_>, row: usize) -> Vec<String> {
    let columns = frame.size.columns;
    let end = if frame.is_outdated { "counting..." } else { "" };
    let (start, end) = spread("Rules", end, columns);
    let mut lines = vec![
        frame.painter.paint(Style::TITLE, &start) + &frame.painter.paint(Style::DIM, &end),
        frame.line(Style::DIM, &head::filter_text(frame)),
    ];
    lines.extend(frame.refusal());
    match frame.answers.blocks_of(&frame.state.selection) {
        None => {}
        Some(None) => {
            let text = "No block stands beside the requests. Name an error log of nginx, a \
                        fail2ban.log, or a log of CrowdSec or UFW beside the access log.";
            let wrapped = wrap(text, ["", ""], columns.max(2));
            lines.extend(wrapped.iter().map(|line| frame.line(Style::PLAIN, line)));
        }
        Some(Some(_)) if columns < COLUMNS_MIN => lines.push(frame.line(Style::DIM, "too narrow")),
        Some(Some(blocks)) => {
            let colour = frame.painter.colour;
            let text = draw_blocks(blocks, &Screen { columns, text_columns: columns, colour });
            let all: Vec<&str> = text.lines().collect();
            let room = frame.size.rows.saturating_sub(lines.len() + 1);
            let first = row.min(all.len().saturating_sub(room));
            lines.extend(all[first..].iter().map(|line| (*line).to_owned()));
        }
    }
    lines
}
