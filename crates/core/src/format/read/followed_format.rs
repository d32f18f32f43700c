//! Follows the directives of a log that change the format of the lines after them.
//!
//! In the W3C extended log format a server writes `#Fields:` when it starts and whenever its list
//! of fields changes, and lines before the next one follow that list. `#Date:` gives the date of
//! logs whose lines have only a time of day.
//!
//! A list that cannot be compiled, or one too many, makes a format without values, which no line
//! matches: lines must not be read with a list that is not theirs.

use std::sync::Arc;

use crate::format::compiled::Format;
use crate::format::compiled::line_options::with_options;
use crate::format::notation::w3c;
use crate::format::program::Program;
use crate::format::program::delimited::{DelimitedProgram, Directives, HeaderReader};
use crate::format::program::directive::{
    DATE, Directive, FIELDS, LOCAL_TIMES, field_names, has_date,
};
use crate::line::Lines;

/// The format of the next line of a log.
///
/// Most formats never change. In the W3C extended log format each `#Fields:` directive with
/// another list of fields changes it. Source: the working draft WD-logfile-960323.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use weir_core::{FollowedFormat, format_by_name};
///
/// let format = Arc::new(format_by_name("W3C").unwrap());
/// let mut followed = FollowedFormat::new(format);
/// assert!(followed.follow(b"#Fields: date time c-ip sc-status"));
/// assert_eq!(followed.format().definition(), "#Fields: date time c-ip sc-status");
/// assert!(!followed.follow(b"2025-12-17 09:03:01 192.0.2.7 200"));
/// ```
///
/// # Memory
///
/// At most 32 formats, however often lists and dates alternate. The same list with the same date has
/// the same `Arc` again while it is one of these, so that a caller can keep one reader for each.
#[derive(Debug, Clone)]
pub struct FollowedFormat {
    /// The format before any directive.
    base: Arc<Format>,
    format: Arc<Format>,
    /// All lists that had a format.
    lists: Vec<String>,
    /// The last formats, so that a list of fields that returns has the same format again.
    known: Vec<Arc<Format>>,
    /// The list of the last `#Fields:`.
    list: Option<String>,
    /// The date of the last `#Date:`. It applies to lists without a date field.
    date: Option<String>,
    /// Whether the last `#Time Format:` says that times are local.
    has_local_times: bool,
    changes: usize,
}

/// The number of different lists of fields that one log may have. Each is a format with its own
/// columns; servers change their list a few times in the life of a log.
const LISTS_MAX: usize = 32;

/// The number of formats that are kept. A list may have any number of dates, and each pair is a
/// format.
const KNOWN_MAX: usize = 32;

/// The number of changes that are followed in one log, to bound the cost of a log that changes
/// with every line. After them no line matches.
const CHANGES_MAX: usize = 10_000;

impl FollowedFormat {
    /// Begins a log in `format`.
    ///
    /// The list of fields is that of the format's definition, if it has one.
    pub fn new(format: Arc<Format>) -> Self {
        let definition = match format.program() {
            Program::Delimited(_) => format.definition(),
            _ => "",
        };
        let list = definition.split_once(FIELDS).map(|(_, list)| list.trim().to_owned());
        let list = list.filter(|list| !list.is_empty());
        Self {
            base: format.clone(),
            has_local_times: false,
            format,
            lists: Vec::new(),
            known: Vec::new(),
            list,
            date: None,
            changes: 0,
        }
    }

    /// The format at the start of the log.
    pub fn base(&self) -> &Arc<Format> {
        &self.base
    }

    /// The format of the next line.
    ///
    /// Before the first `#Fields:` this is the format that [`Self::new`] was given.
    pub fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// Whether directives can change the format.
    ///
    /// False for most formats; [`Self::follow_block`] then reads nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{FollowedFormat, format_by_name};
    ///
    /// let followed = |name| FollowedFormat::new(Arc::new(format_by_name(name).unwrap()));
    /// assert!(followed("W3C").may_change() && !followed("COMBINED").may_change());
    /// ```
    pub fn may_change(&self) -> bool {
        self.required_field().is_some() || self.header_reader().is_some()
    }

    /// How a header is read that may change the columns.
    fn header_reader(&self) -> Option<HeaderReader> {
        match self.base.program() {
            Program::Delimited(program) => program.header,
            _ => None,
        }
    }

    /// The field that a list must have; `Some(None)` if any list will do, `None` if the format
    /// has no lists.
    fn required_field(&self) -> Option<Option<&'static str>> {
        match self.base.program() {
            Program::Delimited(program) => match program.directives {
                Directives::W3c { required_field } => Some(required_field),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reads the next lines of the log. Returns each change of the format: the offset in `bytes`
    /// of the directive's line, and the format of the lines after it.
    ///
    /// Finding directives costs a pass over the lines of the block.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{FollowedFormat, format_by_name};
    ///
    /// let mut followed = FollowedFormat::new(Arc::new(format_by_name("W3C").unwrap()));
    /// let block = b"#Fields: time c-ip\n09:03:01 ::1\n#Fields: c-ip\n::1\n";
    /// let changes = followed.follow_block(block);
    /// let starts: Vec<usize> = changes.iter().map(|(start, _)| *start).collect();
    /// assert_eq!(starts, [0, 32]);
    /// ```
    pub fn follow_block(&mut self, bytes: &[u8]) -> Vec<(usize, Arc<Format>)> {
        let mut changes = Vec::new();
        if self.may_change() {
            for line in Lines::new(bytes) {
                if self.follow(line.bytes) {
                    changes.push((line.start, self.format.clone()));
                }
            }
        }
        changes
    }

    /// Reads the next line of the log. Returns whether it changes the format of the lines after
    /// it.
    pub fn follow(&mut self, line: &[u8]) -> bool {
        let Some(required_field) = self.required_field() else { return self.follow_header(line) };
        match Directive::read(line) {
            None => return false,
            Some(Directive::Date(date)) => self.date = Some(date.to_owned()),
            Some(Directive::Fields(list)) => self.list = Some(list.to_owned()),
            Some(Directive::LocalTimes(are_local)) => self.has_local_times = are_local,
        }
        let Some(list) = self.list.take() else { return false };
        let has_changed = self.change(&list, required_field);
        self.list = Some(list);
        has_changed
    }

    /// Whether `line` is a `#Fields:` directive that [`Self::follow`] could compile.
    pub(in crate::format) fn is_field_list(&self, line: &[u8]) -> bool {
        let has_fields = match self.format.program() {
            Program::Delimited(program) => !program.columns.is_empty(),
            _ => false,
        };
        has_fields && matches!(Directive::read(line), Some(Directive::Fields(_)))
    }

    /// Changes to the format of `list`. Returns whether it is another one.
    fn change(&mut self, list: &str, required_field: Option<&str>) -> bool {
        let format = self.format_of(list, required_field);
        self.change_to(format)
    }

    fn change_to(&mut self, format: Arc<Format>) -> bool {
        let is_same = format.definition() == self.format.definition();
        self.format = format;
        self.changes += usize::from(!is_same);
        !is_same
    }

    /// Follows a header such as `time,status,bytes`, of files that were joined. Returns whether it changes the
    /// columns.
    fn follow_header(&mut self, line: &[u8]) -> bool {
        let Some(definition_of) = self.header_reader() else { return false };
        let format = match (definition_of(line), self.base.program()) {
            (Some(definition), _) => self.format_after_header(&definition),
            (None, Program::Delimited(program)) if program.is_header(line) => self.unreadable(),
            (None, _) => return false,
        };
        self.change_to(format)
    }

    /// The format of a header's columns, or one without values if a limit is reached.
    fn format_after_header(&mut self, definition: &str) -> Arc<Format> {
        let is_it = |known: &&Arc<Format>| known.definition() == definition;
        if let Some(known) = self.known.iter().chain([&self.base]).find(is_it) {
            return known.clone();
        }
        let (Ok(mut format), Program::Delimited(base)) =
            (Format::parse(definition), self.base.program())
        else {
            return self.unreadable();
        };
        let Program::Delimited(mut program) = format.program().clone() else {
            return self.unreadable();
        };
        if self.known.len() == KNOWN_MAX || self.changes >= CHANGES_MAX {
            return self.unreadable();
        }
        program.header = base.header;
        if base.directives == Directives::Comments {
            program.directives = Directives::Comments;
        }
        format.set_program(Program::Delimited(program));
        let format = Arc::new(format.with_name(self.base.name()));
        let format = with_options(format, self.base.line_options());
        self.known.push(format.clone());
        format
    }

    /// A format without values.
    fn unreadable(&self) -> Arc<Format> {
        match w3c::compile(FIELDS) {
            Ok(mut format) => {
                if let Program::Delimited(base) = self.base.program()
                    && base.header.is_some()
                {
                    let program = DelimitedProgram { columns: Vec::new(), ..base.clone() };
                    format.set_program(Program::Delimited(program));
                }
                let format = format.with_name(self.base.name());
                with_options(Arc::new(format), self.base.line_options())
            }
            Err(_) => self.base.clone(),
        }
    }

    /// The format of `list`, or one without values if it cannot be compiled or a limit is reached.
    fn format_of(&mut self, list: &str, required_field: Option<&str>) -> Arc<Format> {
        let has_required =
            required_field.is_none_or(|needed| field_names(list).any(|word| word == needed));
        if self.changes >= CHANGES_MAX || !has_required {
            return self.unreadable();
        }
        let local = if self.has_local_times { LOCAL_TIMES } else { "" };
        let definition = match &self.date {
            Some(date) if !has_date(list) => format!("{DATE} {date}\n{local}{FIELDS} {list}"),
            _ => format!("{local}{FIELDS} {list}"),
        };
        if let Some(known) = self.known.iter().find(|known| known.definition() == definition) {
            return known.clone();
        }
        let is_listed = self.lists.iter().any(|other| other == list);
        match w3c::compile(&definition) {
            Ok(format) if is_listed || self.lists.len() < LISTS_MAX => {
                if !is_listed {
                    self.lists.push(list.to_owned());
                }
                if self.known.len() == KNOWN_MAX {
                    self.known.remove(0);
                }
                let format = format.with_name(self.base.name());
                let format = with_options(Arc::new(format), self.base.line_options());
                self.known.push(format.clone());
                format
            }
            _ => self.unreadable(),
        }
    }
}
