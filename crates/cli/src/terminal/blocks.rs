//! What tripped the rules in force, a sentence for each address.

use weir_view::BlocksReport;

use super::Screen;
use super::style::{Painter, Style};
use super::text::width;
use crate::display::{blocks_counts, blocks_remarks, safe};

/// The section, with an empty line at the end.
pub(super) fn draw(blocks: &BlocksReport, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let counts = format!("  {}", blocks_counts(blocks));
    let title = painter.paint(Style::TITLE, "What tripped your rules");
    let mut lines = vec![title + &painter.paint(Style::DIM, &counts)];
    for client in &blocks.clients {
        lines.extend(wrapped(&safe(&client.sentence), screen));
    }
    for remark in blocks_remarks(blocks) {
        lines.extend(wrapped(&remark, screen).iter().map(|line| painter.paint(Style::DIM, line)));
    }
    lines.push(String::new());
    lines
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
    use super::{Screen, wrapped};

    #[test]
    fn sentences_are_wrapped_at_words() {
        let screen = |text_columns| Screen { columns: 40, text_columns, colour: false };
        assert_eq!(wrapped("one two three", &screen(10)), ["  one two", "    three"]);
        assert_eq!(wrapped("abcdefghij k", &screen(8)), ["  abcdef", "    ghij", "    k"]);
        assert_eq!(wrapped("one two three", &screen(usize::MAX)), ["  one two three"]);
    }
}
