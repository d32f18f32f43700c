//! What the keys change: the selection, the place on the screen, and what lies over it.

mod places;

use weir_view::RecordKind;

use super::WatchArguments;
use super::answers::Answers;
use super::question::{Question, Selection, ZoomedPeriod, condition_on};
use crate::full_screen::{Key, Size};
use crate::outcome::Failure;
use crate::terminal::shown_buckets;
pub(super) use places::{ChartPlace, Pane, Places};

/// The rows that a key for a page goes over.
const PAGE_ROWS: isize = 10;

/// The most selections that can be gone back to.
const HISTORY_MAX: usize = 100;

/// The buckets to ask for beside those that there is room for; the chart joins them.
const BUCKETS_PER_COLUMN: usize = 6;

/// What follows a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The screen is drawn again.
    Draw,
    /// The same, with every line.
    Redraw,
    /// The terminal is given back until the shell continues the program.
    Suspend,
    Quit,
}

/// What lies over the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Help,
}

/// What the keys change.
#[derive(Debug)]
pub(super) struct State {
    pub(super) selection: Selection,
    /// The selections before, the last of which is gone back to.
    history: Vec<Selection>,
    pub(super) places: Places,
    /// The pages over the overview, the upmost last.
    pages: Vec<Page>,
    /// Whether answers to the same question are left out, so that nothing moves.
    pub(super) is_frozen: bool,
    /// Whether the log grows.
    pub(super) follows: bool,
    /// Why the last key did nothing.
    pub(super) notice: Option<String>,
    zone: Option<String>,
    stack: String,
}

impl State {
    /// The state that the arguments ask for.
    ///
    /// # Errors
    /// If a condition or the zone is not valid.
    pub(super) fn new(arguments: &WatchArguments) -> Result<Self, Failure> {
        let zone = arguments.read.zone()?.map(|zone| zone.name().to_owned());
        let state = Self {
            selection: Selection {
                conditions: arguments.conditions.clone(),
                period: None,
                kind: arguments.kind.map(Into::into),
            },
            history: Vec::new(),
            places: Places::default(),
            pages: Vec::new(),
            is_frozen: false,
            follows: arguments.follow,
            notice: None,
            zone,
            stack: arguments.stack.clone(),
        };
        let question = state.question(Size { columns: 80, rows: 24 });
        question.query().map_err(|error| Failure::new(format_args!("--where: {error}")))?;
        Ok(state)
    }

    /// What the screen asks, if it has this size.
    pub(super) fn question(&self, size: Size) -> Question {
        let columns = size.columns.clamp(20, 500);
        Question {
            selection: self.selection.clone(),
            zone: self.zone.clone(),
            stack: self.stack.clone(),
            buckets: (columns * BUCKETS_PER_COLUMN) as u32,
            is_live: !self.is_frozen,
        }
    }

    /// The page that lies on top; `None` for the overview.
    pub(super) fn page(&self) -> Option<Page> {
        self.pages.last().copied()
    }

    /// Does what a key means.
    pub(super) fn press(&mut self, key: Key, answers: &Answers, size: Size) -> Step {
        self.notice = None;
        match key {
            Key::Control('c') | Key::Closed | Key::Character('q' | 'Q') => return Step::Quit,
            Key::Control('z') => return Step::Suspend,
            Key::Control('l') => return Step::Redraw,
            _ => {}
        }
        match self.page() {
            Some(Page::Help) => drop(self.pages.pop()),
            None => self.press_overview(key, answers, size),
        }
        Step::Draw
    }

    fn press_overview(&mut self, key: Key, answers: &Answers, size: Size) {
        match key {
            Key::Character('?') => self.pages.push(Page::Help),
            Key::Escape => self.back(),
            Key::Character('f' | 'F') => self.freeze(),
            Key::Tab => self.places.go_to_next(answers, 1),
            Key::BackTab => self.places.go_to_next(answers, -1),
            Key::Character('/') => self.notice = Some("not there yet".to_owned()),
            Key::Backspace | Key::Character('u') => self.drop_condition(),
            Key::Character('0') => self.zoom_to(None),
            Key::Character('-') => self.zoom_out(),
            Key::Character(digit @ '1'..='3') => self.choose_kind(digit, answers),
            _ => match self.places.pane(answers) {
                Pane::Chart => self.press_chart(key, answers, size),
                Pane::List(field) => self.press_list(key, answers, &field),
            },
        }
    }

    fn press_list(&mut self, key: Key, answers: &Answers, field: &str) {
        let rows = answers.report().and_then(|report| report.top.get(field));
        let rows = rows.map_or(&[][..], Vec::as_slice);
        let mut go = |by: isize| self.places.go_by(field, by, rows.len());
        match key {
            Key::Up | Key::Character('k') => go(-1),
            Key::Down | Key::Character('j') => go(1),
            Key::PageUp | Key::Control('b') => go(-PAGE_ROWS),
            Key::PageDown | Key::Character(' ') | Key::Control('f') => go(PAGE_ROWS),
            Key::Home | Key::Character('g') => go(isize::MIN),
            Key::End | Key::Character('G') => go(isize::MAX),
            Key::Left | Key::Character('h') => self.places.go_to_next(answers, -1),
            Key::Right | Key::Character('l') => self.places.go_to_next(answers, 1),
            Key::Enter | Key::Character('=' | 'i' | '!' | 'x') => {
                let is_met = !matches!(key, Key::Character('!' | 'x'));
                let Some(row) = rows.get(self.places.row(field, rows.len())) else { return };
                match condition_on(field, &row.value, is_met) {
                    Some(condition) => self.add_condition(condition),
                    None => {
                        let notice =
                            "these values were counted together; no condition selects them";
                        self.notice = Some(notice.to_owned());
                    }
                }
            }
            _ => {}
        }
    }

    fn press_chart(&mut self, key: Key, answers: &Answers, size: Size) {
        let histogram = answers.report().and_then(|report| report.histogram.as_ref());
        let Some(histogram) = histogram else { return };
        let (buckets, _) = shown_buckets(histogram, size.columns);
        let mut go = |by: isize| self.places.chart.go_by(by, buckets.len());
        match key {
            Key::Left | Key::Character('h') => go(-1),
            Key::Right | Key::Character('l') => go(1),
            Key::PageUp => go(-PAGE_ROWS),
            Key::PageDown => go(PAGE_ROWS),
            Key::Home | Key::Character('g') => go(isize::MIN),
            Key::End | Key::Character('G') => go(isize::MAX),
            Key::Down | Key::Character('j') => self.places.go_to_next(answers, 1),
            Key::Character(' ' | 'v') => self.places.chart.mark(buckets.len()),
            Key::Enter | Key::Character('+') => {
                let marked = self.places.chart.marked(buckets.len());
                let range = match (marked, key) {
                    (Some(range), _) => range,
                    (None, Key::Enter) => {
                        let at = self.places.chart.at(buckets.len());
                        at..at + 1
                    }
                    (None, _) => self.places.chart.around(buckets.len()),
                };
                let Some(first) = buckets.get(range.start) else { return };
                let until = buckets.get(range.end).map(|bucket| bucket.start.clone());
                // From the first bar to the last is the period that is shown already.
                let until = until.or_else(|| self.selection.period.clone()?.until);
                self.zoom_to(Some(ZoomedPeriod { since: first.start.clone(), until }));
            }
            _ => {}
        }
    }

    fn add_condition(&mut self, condition: String) {
        if self.selection.conditions.contains(&condition) {
            self.notice = Some(format!("{condition} is a condition already"));
            return;
        }
        let mut selection = self.selection.clone();
        selection.conditions.push(condition);
        self.select(selection);
    }

    fn drop_condition(&mut self) {
        let mut selection = self.selection.clone();
        match selection.conditions.pop() {
            Some(_) => self.select(selection),
            None => self.notice = Some("there is no condition to drop".to_owned()),
        }
    }

    fn zoom_to(&mut self, period: Option<ZoomedPeriod>) {
        self.places.chart = ChartPlace::default();
        self.select(Selection { period, ..self.selection.clone() });
    }

    /// Goes back to the last period that is not the present one.
    fn zoom_out(&mut self) {
        if self.selection.period.is_none() {
            self.notice = Some("this is the whole time".to_owned());
            return;
        }
        let mut before = self.history.iter().rev().map(|selection| &selection.period);
        let period = before.find(|period| **period != self.selection.period).cloned();
        self.zoom_to(period.flatten());
    }

    fn choose_kind(&mut self, digit: char, answers: &Answers) {
        let index = digit as usize - '1' as usize;
        match answers.kinds().get(index) {
            Some(count) => {
                let kind: Option<RecordKind> = Some(count.kind);
                self.places = Places::default();
                self.select(Selection { kind, ..self.selection.clone() });
            }
            None => self.notice = Some("the log has no such kind of records".to_owned()),
        }
    }

    /// Changes the selection, which can be undone.
    fn select(&mut self, selection: Selection) {
        if selection == self.selection {
            return;
        }
        let before = std::mem::replace(&mut self.selection, selection);
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(before);
    }

    fn back(&mut self) {
        if self.places.chart.unmark() {
            return;
        }
        match self.history.pop() {
            Some(before) => self.selection = before,
            None => self.notice = Some("this is where it began; q quits".to_owned()),
        }
    }

    fn freeze(&mut self) {
        if self.follows {
            self.is_frozen = !self.is_frozen;
        } else {
            let notice = "this log is read once; start with --follow to see what is appended";
            self.notice = Some(notice.to_owned());
        }
    }
}
