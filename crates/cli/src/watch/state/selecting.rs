//! How keys change which records the screen is about.

use weir_view::Report;

use super::pages::StoryPage;
use super::places::{Pane, Places};
use super::{Answers, State};
use crate::display::safe_bytes;
use crate::full_screen::{Key, Size};
use crate::terminal::shown_buckets;
use crate::watch::question::{LinesOf, Selection, ZoomedPeriod, condition_on};

/// The most selections that can be gone back to.
const HISTORY_MAX: usize = 100;

/// What a key does with what is chosen.
pub(super) enum Action {
    /// Adds a condition.
    Include(String),
    /// Opens the story of a client.
    Tell(StoryPage),
    Zoom(ZoomedPeriod),
    OpenLines(LinesOf),
    /// Says why nothing is done.
    Notice(String),
}

/// What a key does with what is chosen on the overview.
pub(super) fn action(
    places: &Places,
    key: Key,
    report: &Report,
    (size, selection): (Size, &Selection),
) -> Option<Action> {
    match (key, places.pane(report)) {
        (Key::Enter | Key::Character('=' | 'i' | '!' | 'x'), Pane::List(field)) => {
            let rows = report.top.get(&field)?;
            let row = rows.get(places.row(&field, rows))?;
            let is_met = !matches!(key, Key::Character('!' | 'x'));
            let Some(condition) = condition_on(&field, &row.value, is_met) else {
                let notice = "these values were counted together; no condition selects them";
                return Some(Action::Notice(notice.to_owned()));
            };
            if key == Key::Enter && field == "client" && !row.value.is_absent {
                let name = safe_bytes(&row.value.bytes());
                let places = Places::default();
                return Some(Action::Tell(StoryPage { name, condition, places }));
            }
            Some(Action::Include(condition))
        }
        (Key::Enter | Key::Character('+'), Pane::Chart) => {
            zoomed(places, key, report, size, selection.period.as_ref()).map(Action::Zoom)
        }
        (Key::Character('+'), Pane::List(_)) => {
            Some(Action::Notice("zooming in is for the chart; Shift-Tab goes there".to_owned()))
        }
        _ => None,
    }
}

/// The part of the time that a key zooms to: the marked part, or the chosen bar, or for `+` half of
/// the bars.
pub(super) fn zoomed(
    places: &Places,
    key: Key,
    report: &Report,
    size: Size,
    period: Option<&ZoomedPeriod>,
) -> Option<ZoomedPeriod> {
    let (buckets, _) = shown_buckets(report.histogram.as_ref()?, size.columns);
    let at = places.chart.at(&buckets);
    let range = match (places.chart.marked(&buckets), key) {
        (Some(range), _) => range,
        (None, Key::Enter) => at..at + 1,
        (None, _) => places.chart.around(&buckets),
    };
    let since = buckets.get(range.start)?.start.clone();
    let until = buckets.get(range.end).map(|bucket| bucket.start.clone());
    // The last bar ends with the period that is shown already.
    let until = until.or_else(|| period?.until.clone());
    Some(ZoomedPeriod { since, until })
}

impl State {
    pub(super) fn add_conditions(&mut self, conditions: Vec<String>) {
        let mut selection = self.selection.clone();
        for condition in conditions {
            if !selection.conditions.contains(&condition) {
                selection.conditions.push(condition);
            }
        }
        if selection == self.selection {
            self.notice = Some("this is a condition already".to_owned());
        }
        self.select(selection);
    }

    pub(super) fn drop_condition(&mut self) {
        let mut selection = self.selection.clone();
        match selection.conditions.pop() {
            Some(_) => self.select(selection),
            None => self.notice = Some("there is no condition to drop".to_owned()),
        }
    }

    pub(super) fn zoom_to(&mut self, period: Option<ZoomedPeriod>) {
        self.places.forget_bar();
        self.select(Selection { period, ..self.selection.clone() });
    }

    /// Goes back to the last period that is not the present one.
    pub(super) fn zoom_out(&mut self) {
        if self.selection.period.is_none() {
            self.notice = Some("this is the whole time".to_owned());
            return;
        }
        let mut before = self.history.iter().rev().map(|selection| &selection.period);
        let period = before.find(|period| **period != self.selection.period).cloned();
        self.zoom_to(period.flatten());
    }

    pub(super) fn choose_kind(&mut self, digit: char, answers: &Answers) {
        let index = digit as usize - '1' as usize;
        match answers.kinds().get(index) {
            Some(count) => {
                self.places = Places::default();
                self.select(Selection { kind: Some(count.kind), ..self.selection.clone() });
            }
            None => self.notice = Some("the log has no such kind of records".to_owned()),
        }
    }

    /// Changes the selection, which can be undone.
    pub(super) fn select(&mut self, selection: Selection) {
        if selection == self.selection {
            return;
        }
        let before = std::mem::replace(&mut self.selection, selection);
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(before);
    }

    pub(super) fn back(&mut self) {
        if self.places.unmark() {
            return;
        }
        match self.history.pop() {
            Some(before) => self.selection = before,
            None => self.notice = Some("this is where it began; q quits".to_owned()),
        }
    }
}
