//! The names that the expressions of a scenario may use.

use std::ops::Range;
use std::sync::Arc;

use weir_core::BoundedRegex;

use super::data::DataFiles;
use super::expression::{Names, number_of};
use super::fields::EventField;
use super::services;
use super::tag_table::TagTable;
use crate::error::{Reason, RuleError};

/// Parts of an event that a log does not contain, with the reason.
const UNSUPPORTED: [(&str, &str); 6] = [
    ("Overflow", "scenarios about alerts are not replayed"),
    ("Enriched", "it needs databases of places and networks"),
    ("Unmarshaled", "it is filled by parsers that are not part of a scenario"),
    ("Appsec", "it is filled by CrowdSec's application firewall"),
    ("Time", "functions of times are not supported"),
    ("StrTime", "the text of the time is not kept"),
];

/// Resolves the names in the expressions of one scenario.
pub(super) struct ScenarioNames<'s, 'd> {
    pub(super) data: &'s mut DataFiles<'d>,
    pub(super) fields: Vec<EventField>,
    /// The fields that expressions read from the events of a bucket.
    pub(super) queue_fields: Vec<usize>,
    pub(super) has_queue: bool,
    /// Notes about fields that are always empty, each with its position in the expression.
    pub(super) unknown: Vec<RuleError>,
}

impl<'s, 'd> ScenarioNames<'s, 'd> {
    pub(super) fn new(data: &'s mut DataFiles<'d>) -> Self {
        let (fields, queue_fields, unknown) = Default::default();
        Self { data, fields, queue_fields, has_queue: false, unknown }
    }

    fn find(
        &mut self,
        space: &str,
        name: &str,
        range: &Range<usize>,
    ) -> Result<EventField, Reason> {
        match (space, name) {
            ("Meta", "") | ("Parsed", "") => {
                return Err(
                    format!("the name of a field is missing, such as `evt.{space}.name`").into()
                );
            }
            ("Meta", _) | ("Parsed", _) => {}
            ("Line", "Raw") => return Ok(EventField::Line),
            _ => {
                let known = UNSUPPORTED.iter().find(|(part, _)| *part == space);
                let why = known.map_or("a log does not have it", |(_, why)| why);
                let dot = if name.is_empty() { "" } else { "." };
                return Err(format!("`evt.{space}{dot}{name}` is not supported: {why}").into());
            }
        }
        let found = match space {
            "Meta" => EventField::of_meta(name),
            _ => EventField::of_parsed(name),
        };
        if let Some(field) = found {
            return Ok(field);
        }
        if !services::has_field(name) {
            let message = format!("no log has `evt.{space}.{name}`, so it is empty");
            if self.unknown.iter().all(|note| note.message != message) {
                self.unknown.push(RuleError::new(range.clone(), message));
            }
        }
        Ok(EventField::Named(name.to_owned()))
    }
}

impl Names for ScenarioNames<'_, '_> {
    fn field(&mut self, space: &str, name: &str, range: &Range<usize>) -> Result<usize, Reason> {
        let field = self.find(space, name, range)?;
        let number = number_of(&mut self.fields, field);
        if self.has_queue && !self.queue_fields.contains(&number) {
            self.queue_fields.push(number);
        }
        Ok(number)
    }

    fn lines(&mut self, file: &str) -> Result<Arc<[Vec<u8>]>, Reason> {
        self.data.lines(file)
    }

    fn patterns(&mut self, file: &str) -> Result<BoundedRegex, Reason> {
        self.data.patterns(file)
    }

    fn tags(&mut self, file: &str) -> Result<Arc<TagTable>, Reason> {
        self.data.tags(file)
    }

    fn pattern(&mut self, text: &str) -> Result<BoundedRegex, Reason> {
        self.data.pattern(text)
    }

    fn has_queue(&self) -> bool {
        self.has_queue
    }
}
