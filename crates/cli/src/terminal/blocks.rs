//! What tripped the rules in force, a sentence for each address.

use weir_view::{BlockClock, BlocksReport, ClockEstimate, ClockEvidence, span};

use super::Screen;
use super::style::{Painter, Style};
use super::text::width;
use crate::display::{safe, separated};

/// The section, with an empty line at the end.
pub(super) fn draw(blocks: &BlocksReport, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let (blocks_noun, addresses_noun) = (
        if blocks.blocks == 1 { "block" } else { "blocks" },
        if blocks.addresses == 1 { "address" } else { "addresses" },
    );
    let counts = format!(
        "  {} {blocks_noun} of {} {addresses_noun}",
        separated(blocks.blocks),
        separated(blocks.addresses)
    );
    let title = painter.paint(Style::TITLE, "What tripped your rules");
    let mut lines = vec![title + &painter.paint(Style::DIM, &counts)];
    for client in &blocks.clients {
        lines.extend(wrapped(&safe(&client.sentence), screen));
    }
    let rest = blocks.addresses.saturating_sub(blocks.clients.len() as u64);
    let mut remarks = Vec::new();
    if rest > 0 {
        remarks.push(format!("{} more, the next ones with --top.", separated(rest)));
    }
    if blocks.unknown > 0 {
        remarks.push(format!("{} blocks are of no known address.", separated(blocks.unknown)));
    }
    remarks.push(clock_text(&blocks.clock));
    if blocks.sampled {
        remarks.push("A part of the blocks is a sample: UFW logs 3 packets a minute.".to_owned());
    }
    for remark in remarks {
        lines.extend(wrapped(&remark, screen).iter().map(|line| painter.paint(Style::DIM, line)));
    }
    lines.push(String::new());
    lines
}

/// What is known of the clocks of the two logs.
fn clock_text(clock: &BlockClock) -> String {
    let ahead = |offset_s: i64| match offset_s {
        0 => "agrees with that of the requests".to_owned(),
        s if s > 0 => format!("is {} ahead of that of the requests", span(s.unsigned_abs())),
        s => format!("is {} behind that of the requests", span(s.unsigned_abs())),
    };
    match clock.estimate {
        Some(ClockEstimate { offset_s, by, pairs, agreeing }) => {
            let noun = match by {
                ClockEvidence::Rejections => "rejections",
                ClockEvidence::Bans => "bans",
            };
            let (agreeing, pairs) = (separated(agreeing), separated(pairs));
            let told = format!(
                "The clock of the blocks {}: {agreeing} of {pairs} {noun} agree.",
                ahead(offset_s)
            );
            match clock.offset_s == offset_s {
                true => told,
                false => {
                    format!("{told} Here it {}, as --clock-offset says.", ahead(clock.offset_s))
                }
            }
        }
        None if clock.offset_s != 0 => {
            format!("The clock of the blocks {}, as --clock-offset says.", ahead(clock.offset_s))
        }
        None => "Whether the clock of the blocks is that of the requests cannot be told; \
                 --clock-offset sets it."
            .to_owned(),
    }
}

/// A text in lines that fit the screen, indented; in one line if nothing is cut. A word that is
/// wider than the screen is broken.
fn wrapped(text: &str, screen: &Screen) -> Vec<String> {
    const INDENT: &str = "  ";
    const HANGING: &str = "    ";
    let mut lines = Vec::new();
    let mut line = INDENT.to_owned();
    let mut is_blank = true;
    for word in text.split(' ') {
        if !is_blank && width(&line) + 1 + width(word) > screen.text_columns {
            lines.push(std::mem::replace(&mut line, HANGING.to_owned()));
            is_blank = true;
        }
        if !is_blank {
            line.push(' ');
        }
        for character in word.chars() {
            let mut buffer = [0; 4];
            let character = character.encode_utf8(&mut buffer);
            if width(&line) + width(character) > screen.text_columns {
                lines.push(std::mem::replace(&mut line, HANGING.to_owned()));
            }
            line.push_str(character);
        }
        is_blank = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use weir_view::{BlockClock, ClockEstimate, ClockEvidence};

    use super::{Screen, clock_text, wrapped};

    #[test]
    fn sentences_are_wrapped_at_words() {
        let screen = |text_columns| Screen { columns: 40, text_columns, colour: false };
        assert_eq!(wrapped("one two three", &screen(10)), ["  one two", "    three"]);
        assert_eq!(wrapped("abcdefghij k", &screen(8)), ["  abcdef", "    ghij", "    k"]);
        assert_eq!(wrapped("one two three", &screen(usize::MAX)), ["  one two three"]);
    }

    #[test]
    fn the_clocks_are_described() {
        let by = ClockEvidence::Rejections;
        let estimate = |offset_s| Some(ClockEstimate { offset_s, by, pairs: 10, agreeing: 9 });
        let text = |offset_s, estimate| clock_text(&BlockClock { offset_s, estimate });
        assert_eq!(
            text(7_200, estimate(7_200)),
            "The clock of the blocks is 2 h ahead of that of the requests: 9 of 10 rejections \
             agree."
        );
        assert!(text(0, estimate(-60)).ends_with(
            "is 1 min behind that of the requests: 9 of 10 rejections agree. Here it agrees with \
             that of the requests, as --clock-offset says."
        ));
        assert!(text(0, None).contains("cannot be told"));
        assert!(text(5, None).contains("is 5 s ahead"));
    }
}
