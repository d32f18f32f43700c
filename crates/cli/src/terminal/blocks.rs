//! The requests that tripped the rules in force, a sentence for each address.

use weir_view::BlocksReport;

use super::Screen;
use super::style::{Painter, Style};
use super::text::wrap;
use crate::display::{blocks_counts, blocks_remarks, safe};

/// The section, with an empty line at the end.
pub(super) fn draw(blocks: &BlocksReport, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let counts = format!("  {}", blocks_counts(blocks));
    let title = painter.paint(Style::TITLE, "What tripped your rules");
    let mut lines = vec![title + &painter.paint(Style::DIM, &counts)];
    for client in &blocks.clients {
        lines.extend(sentence(&safe(&client.sentence), screen));
    }
    for remark in blocks_remarks(blocks) {
        lines.extend(sentence(&remark, screen).iter().map(|line| painter.paint(Style::DIM, line)));
    }
    lines.push(String::new());
    lines
}

/// The sentence in indented lines.
fn sentence(text: &str, screen: &Screen) -> Vec<String> {
    wrap(text, ["  ", "    "], screen.text_columns)
}
