//! The requests that tripped the rules in force, a sentence for each address.

use std::collections::HashSet;
use std::net::IpAddr;

use weir_view::{BlockRule, BlocksReport, Remedy};

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
        if let Some(profile) = &client.profile {
            lines.extend(wrap(&safe(&profile.sentence()), ["    ", "    "], screen.text_columns));
        }
    }
    for remark in blocks_remarks(blocks) {
        lines.extend(sentence(&remark, screen).iter().map(|line| painter.paint(Style::DIM, line)));
    }
    lines.push(String::new());
    lines
}

/// For each rule that blocked a listed address, the lines that would let the address pass.
pub(super) fn remedies(blocks: &BlocksReport, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let (mut lines, mut seen) = (Vec::new(), HashSet::new());
    for client in blocks.clients.iter().filter(|client| client.client.parse::<IpAddr>().is_ok()) {
        for rule in &client.rules {
            if !seen.insert((rule.cause, rule.name.as_deref())) {
                continue;
            }
            let Remedy { place, text } = rule.remedy_for(&client.client);
            let by = BlockRule { excess: None, ..rule.clone() }.text();
            lines.extend(sentence(&safe(&format!("Past {by}, {place}:")), screen));
            lines.extend(text.lines().map(|line| format!("    {}", safe(line))));
        }
    }
    if !lines.is_empty() {
        let title = painter.paint(Style::TITLE, "What would let an address pass");
        lines.insert(0, title);
    }
    lines
}

/// The sentence in indented lines.
fn sentence(text: &str, screen: &Screen) -> Vec<String> {
    wrap(text, ["  ", "    "], screen.text_columns)
}
