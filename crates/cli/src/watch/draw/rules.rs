//! What the rules of the arguments would have done, and what tripped the rules in force, a sentence for
//! each address.

use super::{Frame, head, spread};
use crate::terminal::{Screen, Style, draw_blocks, wrap};
use crate::watch::answers::RulesAnswer;

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
    let Some(answer) = frame.answers.rules_of(&frame.state.selection) else { return lines };
    if columns < COLUMNS_MIN {
        lines.push(frame.line(Style::DIM, "too narrow"));
        return lines;
    }
    let mut all = replayed(frame, answer);
    match &answer.blocks {
        Some(blocks) => {
            let colour = frame.painter.colour;
            let text = draw_blocks(blocks, &Screen { columns, text_columns: columns, colour });
            all.extend(text.lines().map(str::to_owned));
        }
        None if answer.replayed.is_empty() => {
            let text = "No block stands beside the requests. Name an error log of nginx, a \
                        fail2ban.log, or a log of CrowdSec or UFW beside the access log, or a rule to \
                        try with --rule FILE or --rule-text TEXT.";
            let wrapped = wrap(text, ["", ""], columns);
            all.extend(wrapped.iter().map(|line| frame.line(Style::PLAIN, line)));
        }
        None => {}
    }
    let room = frame.size.rows.saturating_sub(lines.len() + 1);
    let first = row.min(all.len().saturating_sub(room));
    lines.extend(all.drain(first..));
    lines
}

/// What the rules of the arguments would have done, with an empty line after each.
fn replayed(frame: &Frame<'_>, answer: &RulesAnswer) -> Vec<String> {
    let lines = answer.replayed.iter().flat_map(|text| {
        let styled = text.lines().enumerate().flat_map(|(number, line)| {
            let style = if number == 0 { Style::TITLE } else { Style::PLAIN };
            // Sentences are wrapped, and tables, which have columns, are cut.
            let is_table = line.contains("  ") && number > 0;
            let parts = if is_table {
                vec![line.to_owned()]
            } else {
                wrap(line, ["", ""], frame.size.columns)
            };
            parts.into_iter().map(move |part| frame.line(style, &part)).collect::<Vec<_>>()
        });
        styled.chain([String::new()]).collect::<Vec<_>>()
    });
    lines.collect()
}
