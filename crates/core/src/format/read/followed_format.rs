//! Formats that change in the middle of a log, where a directive says so.

use std::sync::Arc;

use crate::format::compiled::Format;
use crate::format::notation::w3c;
use crate::format::program::Program;
use crate::format::program::delimited::Directives;
use crate::format::program::directive::{DATE, Directive, FIELDS, field_names, has_date};
use crate::line::Lines;

/// The format of the lines of a log from here on. Most formats never change; that of a log
/// with `#Fields:` directives does with each that names other fields.
#[derive(Debug, Clone)]
pub struct FollowedFormat {
    /// The format before any directive.
    base: Arc<Format>,
    format: Arc<Format>,
    /// The formats that there were, so that each is one format however often it comes back.
    known: Vec<Arc<Format>>,
    /// What the last `#Fields:` said.
    list: Option<String>,
    /// What the last `#Date:` said. It counts for lists without a date of their own.
    date: Option<String>,
    changes: usize,
}

/// Lists of fields that one log may have. Each is a format with columns of its own; servers
/// change theirs a few times in a log's life.
const LISTS_MAX: usize = 32;

/// Changes that are followed in one log, which bounds what a log that changes with every line
/// can cost. After so many its lines are of no format.
const CHANGES_MAX: usize = 10_000;

impl FollowedFormat {
    /// Starts with `format`, at the start of a log.
    pub fn new(format: Arc<Format>) -> Self {
        let list = format.definition().split_once(FIELDS).map(|(_, list)| list.trim().to_owned());
        let list = list.filter(|list| !list.is_empty());
        Self { base: format.clone(), format, known: Vec::new(), list, date: None, changes: 0 }
    }

    /// The format that it was started with.
    pub fn base(&self) -> &Arc<Format> {
        &self.base
    }

    /// The format of the lines that come next.
    pub fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// True where directives may change the format.
    pub fn may_change(&self) -> bool {
        self.needs().is_some()
    }

    /// Says what has to be in a list, where lists are followed.
    fn needs(&self) -> Option<Option<&'static str>> {
        match self.base.program() {
            Program::Delimited(program) => match program.directives {
                Directives::W3c { needs } => Some(needs),
                _ => None,
            },
            _ => None,
        }
    }

    /// Passes the lines of a block. Gives the places where the format changes, which are starts
    /// of lines, each with the format from there on.
    pub fn pass_block(&mut self, bytes: &[u8]) -> Vec<(usize, Arc<Format>)> {
        let mut changes = Vec::new();
        if self.may_change() {
            for line in Lines::new(bytes) {
                if self.pass(line.bytes) {
                    changes.push((line.start, self.format.clone()));
                }
            }
        }
        changes
    }

    /// Passes a line; true where the format of the lines behind it is another.
    pub fn pass(&mut self, line: &[u8]) -> bool {
        let Some(needs) = self.needs() else { return false };
        match Directive::read(line) {
            None => return false,
            Some(Directive::Date(date)) => self.date = Some(date.to_owned()),
            Some(Directive::Fields(list)) => self.list = Some(list.to_owned()),
        }
        let Some(list) = self.list.take() else { return false };
        let has_changed = self.change(&list, needs);
        self.list = Some(list);
        has_changed
    }

    /// True where `line` says what the fields are, and [`Self::pass`] could follow.
    pub(in crate::format) fn is_list(&self, line: &[u8]) -> bool {
        let has_fields = match self.format.program() {
            Program::Delimited(program) => !program.columns.is_empty(),
            _ => false,
        };
        has_fields && matches!(Directive::read(line), Some(Directive::Fields(_)))
    }

    fn change(&mut self, list: &str, needs: Option<&str>) -> bool {
        let format = self.format_of(list, needs);
        let is_same = format.definition() == self.format.definition();
        self.format = format;
        self.changes += usize::from(!is_same);
        !is_same
    }

    fn format_of(&mut self, list: &str, needs: Option<&str>) -> Arc<Format> {
        let unknown = || match w3c::compile(FIELDS) {
            Ok(format) => Arc::new(format.with_name(self.base.name())),
            Err(_) => self.base.clone(),
        };
        let has_needed = needs.is_none_or(|needed| field_names(list).any(|word| word == needed));
        if self.changes >= CHANGES_MAX || !has_needed {
            return unknown();
        }
        let definition = match &self.date {
            Some(date) if !has_date(list) => format!("{DATE} {date}\n{FIELDS} {list}"),
            _ => format!("{FIELDS} {list}"),
        };
        if let Some(known) = self.known.iter().find(|known| known.definition() == definition) {
            return known.clone();
        }
        match w3c::compile(&definition) {
            Ok(format) if self.known.len() < LISTS_MAX => {
                let format = Arc::new(format.with_name(self.base.name()));
                self.known.push(format.clone());
                format
            }
            _ => unknown(),
        }
    }
}
