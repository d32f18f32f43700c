//! The story of a client: sentences, chart and lists of all that it did.

use weir_view::{Report, separated, share, span};

use super::{Frame, spread};
use crate::display::{LocalTime, safe};
use crate::terminal::{Style, wrap};
use crate::watch::state::StoryPage;

/// Statuses with which a server, or a rule in it, refuses requests.
const REFUSALS: [&str; 4] = ["403", "429", "444", "503"];

/// The page.
pub(super) fn lines(frame: &Frame<'_>, page: &StoryPage) -> Vec<String> {
    let columns = frame.size.columns;
    let title = format!("Client {}", page.name);
    let end = if frame.is_outdated { "counting..." } else { "in the whole log" };
    let (start, end) = spread(&title, end, columns);
    let mut lines =
        vec![frame.painter.paint(Style::TITLE, &start) + &frame.painter.paint(Style::DIM, &end)];
    lines.extend(frame.refusal());
    let Some(story) = frame.answers.story_of(&page.condition) else { return lines };
    let report = &story.report.report;
    let mut sentences = vec![totals(report)];
    sentences.extend(refused(report));
    sentences.extend(story.blocks.iter().map(|block| safe(block)));
    // Half of the screen is for the chart and the lists.
    let room = (frame.size.rows / 2).saturating_sub(1).max(1);
    let wrapped = sentences.iter().flat_map(|text| wrap(text, ["", ""], columns.max(2)));
    lines.extend(wrapped.take(room).map(|line| frame.line(Style::PLAIN, &line)));
    lines.extend(frame.panes(report, &page.places, lines.len()));
    lines
}

/// How many requests there were, when, and how they ended.
fn totals(report: &Report) -> String {
    let Report { matching, errors, time, .. } = report;
    let mut text = format!("{} {}", separated(*matching), report.kind.noun(*matching));
    let times = time.first.as_deref().zip(time.last.as_deref());
    let times =
        times.and_then(|(first, last)| Some((LocalTime::parse(first)?, LocalTime::parse(last)?)));
    match times {
        Some((first, last)) if first == last => text += &format!(" at {}", first.full()),
        Some((first, last)) => {
            let length = span((last.local_s() - first.local_s()).unsigned_abs());
            text += &format!(" from {} to {}, within {length}", first.full(), last.full());
        }
        None => {}
    }
    if *matching > 0 && report.has_sum("errors") {
        let share = share(*errors, *matching);
        text += &format!(". {} of them ended with an error ({share})", separated(*errors));
    }
    text + "."
}

/// How many requests were answered as a block answers, if any was.
fn refused(report: &Report) -> Option<String> {
    let rows = report.top.get("status")?.iter();
    let refused: Vec<_> = rows.filter(|row| REFUSALS.contains(&row.value.text.as_str())).collect();
    let all: u64 = refused.iter().map(|row| row.tally.count).sum();
    let each = |row: &&weir_view::TopRow| {
        format!("{} with {}", separated(row.tally.count), row.value.text)
    };
    let each = refused.iter().map(each).collect::<Vec<_>>().join(", ");
    let matching = separated(report.matching);
    (all > 0).then(|| format!("The server refused {} of {matching}: {each}.", separated(all)))
}
