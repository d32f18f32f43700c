//! The pages over the overview.

use weir_view::Report;

use super::LINES_MARGIN;
use super::places::{Pane, Places};
use super::selecting::{Action, zoomed};
use crate::full_screen::{Key, Size};
use crate::watch::question::{LinesOf, condition_on};

/// The columns that a key goes to the side.
const SIDE_COLUMNS: usize = 16;

/// The most columns of a line that can be gone over.
const COLUMNS_MAX: usize = 64 << 10;

/// What lies over the overview.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::watch) enum Page {
    Help,
    Story(StoryPage),
    Lines(LinesPage),
    /// What the rules of the arguments would have done, and what tripped those in force, from a row
    /// on.
    Rules {
        row: usize,
    },
}

/// The story of a client.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::watch) struct StoryPage {
    /// The client, as it is shown.
    pub(in crate::watch) name: String,
    /// The condition that selects it.
    pub(in crate::watch) condition: String,
    pub(in crate::watch) places: Places,
}

/// Lines of the log.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::watch) struct LinesPage {
    pub(in crate::watch) of: LinesOf,
    /// The number of lines before the first on the screen.
    pub(in crate::watch) from: u64,
    /// The number of characters that are left out at the start of each line.
    pub(in crate::watch) column: usize,
}

impl StoryPage {
    /// What a key that does not move means.
    pub(super) fn action(&self, key: Key, report: &Report, size: Size) -> Option<Action> {
        let pane = self.places.pane(report);
        match (key, pane) {
            (Key::Character('o'), _) => {
                Some(Action::OpenLines(LinesOf::Client(self.condition.clone())))
            }
            (Key::Enter | Key::Character('=' | 'i' | '!' | 'x'), Pane::List(field)) => {
                let is_met = !matches!(key, Key::Character('!' | 'x'));
                let rows = report.top.get(&field)?;
                let row = rows.get(self.places.row(&field, rows))?;
                condition_on(&field, &row.value, is_met).map(Action::Include)
            }
            (Key::Enter | Key::Character('+'), Pane::Chart) => {
                zoomed(&self.places, key, report, size, None).map(Action::Zoom)
            }
            _ => None,
        }
    }
}

impl LinesPage {
    /// Goes to others of `total` lines, or to the side.
    pub(super) fn press(&mut self, key: Key, total: u64, size: Size) {
        let rows = size.rows.saturating_sub(LINES_MARGIN).max(1) as u64;
        let last = total.saturating_sub(rows);
        self.from = match key {
            Key::Up | Key::Character('k') => self.from.saturating_sub(1),
            Key::Down | Key::Character('j') => (self.from + 1).min(last),
            Key::PageUp | Key::Control('b') => self.from.saturating_sub(rows),
            Key::PageDown | Key::Control('f') | Key::Character(' ') => (self.from + rows).min(last),
            Key::Home | Key::Character('g') => 0,
            Key::End | Key::Character('G') => last,
            _ => self.from,
        };
        self.column = match key {
            Key::Left | Key::Character('h') => self.column.saturating_sub(SIDE_COLUMNS),
            Key::Right | Key::Character('l') => (self.column + SIDE_COLUMNS).min(COLUMNS_MAX),
            _ => self.column,
        };
    }
}

/// Scrolls a text. Drawing stops at its end.
pub(super) fn scroll(row: &mut usize, key: Key, size: Size) {
    let page = size.rows.saturating_sub(1).max(1);
    *row = match key {
        Key::Up | Key::Character('k') => row.saturating_sub(1),
        Key::Down | Key::Character('j') => *row + 1,
        Key::PageUp | Key::Control('b') => row.saturating_sub(page),
        Key::PageDown | Key::Control('f') | Key::Character(' ') => *row + page,
        Key::Home | Key::Character('g') => 0,
        _ => *row,
    };
}
