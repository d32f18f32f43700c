//! Extracts the events of a scenario from the lines of services.

use std::borrow::Cow;

use super::expression::Fields;
use super::fields::EventField;
use super::observer::put_event;
use super::scenario::Scenario;
use super::services::{ServiceLine, ServiceLines};
use crate::event::Events;
use crate::rule::{Line, Observer};

/// Observes all lines of a log.
pub(super) struct ServiceObserver<'r> {
    scenario: &'r Scenario,
    lines: ServiceLines,
}

impl<'r> ServiceObserver<'r> {
    pub(super) fn new(scenario: &'r Scenario) -> Self {
        Self { scenario, lines: ServiceLines::new(&scenario.services) }
    }
}

impl Observer for ServiceObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(read) = self.lines.read(line.bytes) else { return };
        events.tally.read += 1;
        let time_ns = read.time_ns(line.record.and_then(|record| record.time));
        let fields = ServiceEvent { fields: &self.scenario.fields, line: line.bytes, read: &read };
        let source_ip = read.field("source_ip");
        let is_selected = self.scenario.filter.holds(&fields);
        put_event(self.scenario, is_selected, &fields, line.number, time_ns, source_ip, events);
    }
}

/// A line of a service, as the fields of an event.
struct ServiceEvent<'l> {
    fields: &'l [EventField],
    line: &'l [u8],
    read: &'l ServiceLine<'l>,
}

impl Fields for ServiceEvent<'_> {
    fn value(&self, field: usize) -> Cow<'_, [u8]> {
        let name = match &self.fields[field] {
            EventField::LogType => "log_type",
            EventField::Service => "service",
            EventField::SubType => "log_subtype",
            EventField::SourceIp => "source_ip",
            EventField::User => "user",
            EventField::Line => return Cow::Borrowed(self.line),
            EventField::Named(name) => name,
            _ => return Cow::Borrowed(b""),
        };
        Cow::Borrowed(self.read.field(name))
    }
}
