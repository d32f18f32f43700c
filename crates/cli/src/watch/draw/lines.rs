//! Lines of the log.

use weir_view::{LinesAnswer, SelectedLine, from_hex, separated};

use super::{Frame, head, spread};
use crate::display::{LocalTime, safe, safe_bytes};
use crate::terminal::{Style, fit};
use crate::watch::question::LinesOf;
use crate::watch::state::LinesPage;

/// The page.
pub(super) fn lines(frame: &Frame<'_>, page: &LinesPage) -> Vec<String> {
    let columns = frame.size.columns;
    let answer = frame.answers.lines_of(&page.of, &frame.state.selection);
    let range = answer.map_or_else(String::new, range);
    let end = if frame.is_outdated { "looking..." } else { "" };
    let (start, end) = spread(&range, end, columns);
    let title = frame.painter.paint(Style::TITLE, &start) + &frame.painter.paint(Style::DIM, &end);
    let filter = match &page.of {
        LinesOf::Selection => head::filter_text(frame),
        LinesOf::Client(condition) => format!("{}, in the whole log", safe(condition)),
    };
    let mut lines = vec![title, frame.line(Style::DIM, &filter)];
    lines.extend(frame.refusal());
    let Some(answer) = answer else { return lines };
    // The texts of a source that cannot be read are replaced by their fields.
    if let Some(message) = answer.sources.iter().find_map(|source| source.message.as_deref()) {
        lines.push(frame.line(Style::WRONG, &safe(message)));
    }
    lines.extend(answer.lines.iter().map(|line| {
        let text = text(line);
        let shown: String = text.chars().skip(page.column).collect();
        fit(&shown, columns)
    }));
    lines
}

/// The numbers of the lines on the screen.
fn range(answer: &LinesAnswer) -> String {
    let total = separated(answer.total);
    let about = if answer.estimated { "about " } else { "" };
    match answer.lines.len() as u64 {
        0 => format!("{about}{total} lines"),
        shown => {
            let (first, last) = (separated(answer.from + 1), separated(answer.from + shown));
            format!("Lines {first} to {last} of {about}{total}")
        }
    }
}

/// The text of a line as it is in the log, or else what is known of it.
fn text(line: &SelectedLine) -> String {
    let bytes = line.text_hex.as_deref().and_then(from_hex);
    match (bytes, &line.text) {
        (Some(bytes), _) => safe_bytes(&bytes),
        (None, Some(text)) => safe(text),
        (None, None) => {
            let time = line.time.as_deref().map(|time| {
                LocalTime::parse(time).map_or_else(|| time.to_owned(), |time| time.full() + " UTC")
            });
            let SelectedLine { client, method, path, status, user_agent, .. } = line;
            let fields = [&time, client, method, path, status, user_agent];
            let fields = fields.into_iter().flatten().map(|field| safe(field));
            fields.collect::<Vec<_>>().join("  ")
        }
    }
}
