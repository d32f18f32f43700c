//! Samples of unparsed lines, with a mark where they differ from the format.

use weir_ingest::{SourceSample, SourceSnapshot};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit, width};
use crate::display::{safe, separated};

/// The most samples of each source, and of all sources.
const PER_SOURCE_MAX: usize = 3;
const SAMPLES_MAX: usize = 8;

/// The samples, line by line; nothing if every line was parsed.
pub(crate) fn draw(sources: &[SourceSnapshot], screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let unparsed: u64 = sources.iter().map(|source| source.unparsed_lines).sum();
    let samples: Vec<(&SourceSnapshot, &SourceSample)> = sources
        .iter()
        .flat_map(|source| {
            source.samples.iter().take(PER_SOURCE_MAX).map(move |sample| (source, sample))
        })
        .take(SAMPLES_MAX)
        .collect();
    if samples.is_empty() {
        return Vec::new();
    }
    let number = format!("  {} of {}", samples.len(), separated(unparsed));
    let mut lines =
        vec![painter.paint(Style::TITLE, "Unparsed lines") + &painter.paint(Style::DIM, &number)];
    for (source, sample) in samples {
        lines.extend(one(source, sample, screen, painter));
    }
    lines
}

fn one(
    source: &SourceSnapshot,
    sample: &SourceSample,
    screen: &Screen,
    painter: Painter,
) -> Vec<String> {
    let SourceSample { line, column, reason, .. } = sample;
    let place = format!("  {}, line {}", safe(&source.name), separated(*line));
    let why = format!("column {}: {}", separated(*column), safe(reason));
    let mut lines = if width(&place) + 2 + width(&why) <= screen.columns {
        vec![format!("{place}, {why}")]
    } else {
        vec![fit(&place, screen.text_columns), fit(&format!("  {why}"), screen.text_columns)]
    };
    let (text, mark) = marked(&sample.text, *column as usize - 1, screen.columns - 4);
    if !text.is_empty() {
        lines.push(painter.paint(Style::DIM, &format!("    {text}")));
        if let Some(mark) = mark {
            let caret = painter.paint(Style::WRONG, "^");
            lines.push(format!("    {}{caret}", " ".repeat(mark)));
        }
    }
    lines
}

/// The most characters that a column may hold on average, such as accents that combine with a letter.
const CHARACTERS_IN_COLUMN_MAX: usize = 8;

/// Returns the part of a line around byte `at` that fits `columns`, and the column of that byte, if
/// the sample is long enough to have it.
pub(crate) fn marked(line: &[u8], at: usize, columns: usize) -> (String, Option<usize>) {
    let shown = |bytes: &[u8]| safe(&String::from_utf8_lossy(bytes));
    if at > line.len() {
        return (fit(&shown(line), columns), None);
    }
    let (before, after) = (shown(&line[..at]), shown(&line[at..]));
    // The text before the byte explains more than the text after it.
    let before_columns = columns * 2 / 3;
    // Each step below looks at the whole text.
    let near = before.char_indices().rev().nth(before_columns * CHARACTERS_IN_COLUMN_MAX);
    let mut start = &before[near.map_or(0, |(at, _)| at)..];
    let is_cut = near.is_some() || width(start) > before_columns;
    while width(start) + usize::from(is_cut) > before_columns {
        let mut characters = start.chars();
        characters.next();
        start = characters.as_str();
    }
    let start = if is_cut { format!("…{start}") } else { start.to_owned() };
    let mark = width(&start);
    (start + &fit(&after, columns - mark), Some(mark))
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn marks_the_byte() {
        assert_eq!(marked(b"abcdef", 2, 20), ("abcdef".to_owned(), Some(2)));
        assert_eq!(marked(b"a\x1bcdef", 2, 20), ("a\\x1bcdef".to_owned(), Some(5)));
        assert_eq!(marked("日x".as_bytes(), 3, 20), ("日x".to_owned(), Some(2)));
        assert_eq!(marked(b"abc", 3, 20), ("abc".to_owned(), Some(3)), "the end");
        assert_eq!(marked(b"abc", 1_500, 20), ("abc".to_owned(), None), "beyond the sample");
        assert_eq!(marked(b"0123456789abcdef", 12, 9), ("…789abcd…".to_owned(), Some(6)));
        let long = [b'p'; 1 << 20];
        assert_eq!(marked(&long, long.len() - 1, 9), ("…pppppp".to_owned(), Some(6)));
    }
}
