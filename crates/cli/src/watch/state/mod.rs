//! What the keys change: the selection, the place on the screen, and what lies over it.

mod completion;
mod entry;
mod pages;
mod places;
mod selecting;

use weir_query::Now;
use weir_view::Report;

use super::WatchArguments;
use super::answers::Answers;
use super::question::{About, LinesOf, Question, Selection, spelled};
use crate::full_screen::{Key, Size};
use crate::outcome::Failure;
pub(super) use entry::{Entry, EntryStep};
pub(super) use pages::{LinesPage, Page, StoryPage};
pub(super) use places::{Pane, Places};
use selecting::Action;

/// The buckets to ask for beside those that there is room for; the chart joins them.
const BUCKETS_PER_COLUMN: usize = 6;

/// The rows of the screen beside the lines of a page of lines.
pub(super) const LINES_MARGIN: usize = 3;

/// The most lines on a screen.
const LINES_MAX: usize = 500;

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

/// What the keys change.
#[derive(Debug)]
pub(super) struct State {
    pub(super) selection: Selection,
    /// The selections before, the last of which is gone back to.
    history: Vec<Selection>,
    pub(super) places: Places,
    /// The filter that is being typed.
    pub(super) entry: Option<Entry>,
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
    /// If a condition, the period or the zone is not valid.
    pub(super) fn new(arguments: &WatchArguments) -> Result<Self, Failure> {
        let zone = arguments.read.zone()?.map(|zone| zone.name().to_owned());
        let mut conditions = arguments.conditions.clone();
        let period = arguments.period.conditions(&Now::read())?;
        conditions.extend(
            period.iter().map(|(operator, time)| spelled("time", *operator, time.as_bytes())),
        );
        let state = Self {
            selection: Selection { conditions, period: None, kind: arguments.kind.map(Into::into) },
            history: Vec::new(),
            places: Places::default(),
            entry: None,
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
            about: self.about(size),
            selection: self.selection.clone(),
            zone: self.zone.clone(),
            stack: self.stack.clone(),
            buckets: (columns * BUCKETS_PER_COLUMN) as u32,
            is_live: !self.is_frozen,
        }
    }

    fn about(&self, size: Size) -> About {
        // Help needs no answer; the page below it keeps its own.
        match self.pages.iter().rev().find(|page| !matches!(page, Page::Help)) {
            None | Some(Page::Help) => About::Overview,
            Some(Page::Story(story)) => About::Story(story.condition.clone()),
            Some(Page::Lines(lines)) => {
                let count = size.rows.saturating_sub(LINES_MARGIN).clamp(1, LINES_MAX);
                About::Lines { of: lines.of.clone(), from: lines.from, count }
            }
            Some(Page::Rules { .. }) => About::Rules,
        }
    }

    /// The page that lies on top; `None` for the overview.
    pub(super) fn page(&self) -> Option<&Page> {
        self.pages.last()
    }

    /// Does what a key means.
    pub(super) fn press(&mut self, key: Key, answers: &Answers, size: Size) -> Step {
        self.notice = None;
        match key {
            Key::Closed => return Step::Quit,
            Key::Control('z') => return Step::Suspend,
            Key::Control('l') => return Step::Redraw,
            _ => {}
        }
        if self.entry.is_some() {
            self.press_entry(key, answers);
            return Step::Draw;
        }
        match key {
            Key::Control('c') | Key::Character('q' | 'Q') => return Step::Quit,
            Key::Character('?') if self.page() != Some(&Page::Help) => self.pages.push(Page::Help),
            _ => self.press_page(key, answers, size),
        }
        Step::Draw
    }

    fn press_page(&mut self, key: Key, answers: &Answers, size: Size) {
        match self.pages.last_mut() {
            Some(Page::Help) => drop(self.pages.pop()),
            None => self.press_overview(key, answers, size),
            Some(_) if matches!(key, Key::Escape | Key::Backspace) => drop(self.pages.pop()),
            Some(Page::Lines(lines)) => {
                let shown = answers.lines_of(&lines.of, &self.selection);
                lines.press(key, shown.map_or(0, |lines| lines.total), size);
            }
            Some(Page::Rules { row }) => pages::scroll(row, key, size),
            Some(Page::Story(story)) => {
                let Some(told) = answers.story_of(&story.condition) else { return };
                let report = &told.report.report;
                if story.places.press(key, report, size) {
                    return;
                }
                match story.action(key, report, size) {
                    Some(Action::Include(condition)) => {
                        let client = story.condition.clone();
                        self.pages.clear();
                        self.add_conditions(vec![client, condition]);
                    }
                    Some(Action::OpenLines(of)) => self.open_lines(of),
                    Some(Action::Zoom(period)) => {
                        let client = story.condition.clone();
                        self.pages.clear();
                        self.add_conditions(vec![client]);
                        self.zoom_to(Some(period));
                    }
                    Some(Action::Notice(notice)) => self.notice = Some(notice),
                    Some(Action::Tell(_)) | None => {}
                }
            }
        }
    }

    fn press_overview(&mut self, key: Key, answers: &Answers, size: Size) {
        match key {
            Key::Escape => self.back(),
            Key::Character('f' | 'F') => self.freeze(answers),
            Key::Character('/') => {
                self.entry = Some(Entry::of_conditions(&self.selection.conditions));
            }
            Key::Backspace | Key::Character('u') => self.drop_condition(),
            Key::Character('0') => self.zoom_to(None),
            Key::Character('-') => self.zoom_out(),
            Key::Character(digit @ '1'..='3') => self.choose_kind(digit, answers),
            Key::Character('o') => self.open_lines(LinesOf::Selection),
            Key::Character('b') => self.pages.push(Page::Rules { row: 0 }),
            _ => {
                let Some(report) = answers.report() else { return };
                if !self.places.press(key, report, size) {
                    self.act(key, report, size);
                }
            }
        }
    }

    /// Does what a key means for what is chosen on the overview.
    fn act(&mut self, key: Key, report: &Report, size: Size) {
        match selecting::action(&self.places, key, report, (size, &self.selection)) {
            Some(Action::Include(condition)) => self.add_conditions(vec![condition]),
            Some(Action::Tell(story)) => self.pages.push(Page::Story(story)),
            Some(Action::Zoom(period)) => self.zoom_to(Some(period)),
            Some(Action::OpenLines(of)) => self.open_lines(of),
            Some(Action::Notice(notice)) => self.notice = Some(notice),
            None => {}
        }
    }

    fn open_lines(&mut self, of: LinesOf) {
        self.pages.push(Page::Lines(LinesPage { of, from: 0, column: 0 }));
    }

    fn press_entry(&mut self, key: Key, answers: &Answers) {
        let Some(entry) = &mut self.entry else { return };
        if key == Key::Control('c') {
            self.entry = None;
            return;
        }
        match entry.press(key, answers) {
            EntryStep::Typing => {}
            EntryStep::Left => self.entry = None,
            EntryStep::Entered(text) => {
                self.entry = None;
                let conditions = if text.is_empty() { Vec::new() } else { vec![text] };
                self.select(Selection { conditions, ..self.selection.clone() });
            }
        }
    }

    /// Whether the screen changes without a key, or has been frozen.
    pub(super) fn can_freeze(&self, answers: &Answers) -> bool {
        self.is_frozen || self.follows || answers.grow()
    }

    fn freeze(&mut self, answers: &Answers) {
        if self.can_freeze(answers) {
            self.is_frozen = !self.is_frozen;
        } else {
            let notice = "all was read; start with --follow to see what is appended";
            self.notice = Some(notice.to_owned());
        }
    }
}
