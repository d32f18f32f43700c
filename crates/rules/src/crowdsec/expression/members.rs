//! Parses member access: fields of events, methods, and indexed items.

use std::ops::Range;

use super::parse::{Parser, require};
use super::syntax::{Node, Part};
use super::value::{Kind, Value};
use crate::error::RuleError;

impl Parser<'_> {
    /// `#`: the element of the innermost list.
    pub(super) fn element(&mut self, range: Range<usize>) -> Result<Part, RuleError> {
        let Some(position) = self.stack.iter().rposition(|entry| entry.name.is_none()) else {
            let message = "`#` is an element of a list; use it inside `any(list, {...})`";
            return Err(RuleError::new(range, message));
        };
        match self.stack[position].kind {
            Kind::Event if self.is_symbol(".") => self.event_member(Some(position), range),
            kind => self.part(Node::Variable(position), kind, range),
        }
    }

    /// The events of the bucket: `queue.Queue`.
    pub(super) fn queue(&mut self, range: Range<usize>) -> Result<Part, RuleError> {
        if !self.names.has_queue() {
            let message = "`queue` is known only in `condition` and `overflow_filter`";
            return Err(RuleError::new(range, message));
        }
        self.expect(".")?;
        let member = self.range();
        if self.name("`Queue` is missing here")? != "Queue" {
            return Err(RuleError::new(member, "only `queue.Queue` is supported"));
        }
        self.part(Node::Queue, Kind::List, range.start..self.end())
    }

    /// A field or a method of the event, or of the event at a position of the stack.
    pub(super) fn event_member(
        &mut self,
        event: Option<usize>,
        range: Range<usize>,
    ) -> Result<Part, RuleError> {
        let start = range.start;
        if !self.takes(".") && !self.takes("?.") {
            return Err(
                self.error_here("a field is missing after the event, such as `.Meta.http_path`")
            );
        }
        let space = self.name("the name of a field is missing")?;
        if self.is_symbol("(") {
            return self.method(&space, event, start);
        }
        let name = if self.takes(".") || self.takes("?.") {
            self.name("the name of a field is missing")?
        } else if self.takes("[") {
            let name = self.expression()?;
            self.expect("]")?;
            match name.node {
                Node::Constant(Value::Text(text)) => String::from_utf8_lossy(&text).into_owned(),
                _ => {
                    let message = "a field whose name differs between events is not supported";
                    return Err(RuleError::new(name.range, message));
                }
            }
        } else {
            String::new()
        };
        self.field(&space, &name, event, start..self.end())
    }

    fn field(
        &mut self,
        space: &str,
        name: &str,
        event: Option<usize>,
        range: Range<usize>,
    ) -> Result<Part, RuleError> {
        let field = self.names.field(space, name, &range);
        let field = field.map_err(|message| RuleError::new(range.clone(), message))?;
        let node = match event {
            None => Node::Field(field),
            Some(position) => Node::ElementField(position, field),
        };
        self.part(node, Kind::Text, range)
    }

    fn method(
        &mut self,
        name: &str,
        event: Option<usize>,
        start: usize,
    ) -> Result<Part, RuleError> {
        let arguments = self.arguments()?;
        let range = start..self.end();
        match (name, &arguments[..]) {
            ("GetMeta", [Part { node: Node::Constant(Value::Text(field)), .. }]) => {
                let field = String::from_utf8_lossy(field).into_owned();
                self.field("Meta", &field, event, range)
            }
            // The value set is never read, so the call has no effect.
            ("SetMeta" | "SetParsed", [_, _]) => {
                self.part(Node::Constant(Value::Boolean(true)), Kind::Boolean, range)
            }
            ("GetType", []) => {
                let log = Value::Text((&b"log"[..]).into());
                self.part(Node::Constant(log), Kind::Text, range)
            }
            _ => {
                let message = format_args!("the method `{name}` of events is not supported");
                Err(RuleError::new(range, message))
            }
        }
    }

    /// Reads the items and methods after a part.
    pub(super) fn postfix(&mut self, mut part: Part) -> Result<Part, RuleError> {
        loop {
            let start = part.range.start;
            if self.takes("[") {
                require(&part, Kind::List)?;
                let index = self.expression()?;
                require(&index, Kind::Number)?;
                self.expect("]")?;
                // An item of the events may have fields.
                let kind = if matches!(part.node, Node::Queue) { Kind::Event } else { Kind::Any };
                let item = Node::Item(Box::new([part, index]));
                part = self.part(item, kind, start..self.end())?;
            } else if self.is_symbol(".") || self.is_symbol("?.") {
                let message = "a field of this is not supported; fields are those of `evt`";
                return Err(self.error_here(message));
            } else if self.is_symbol("|") {
                return Err(self.error_here("`|` is not supported; write the call as `f(value)`"));
            } else {
                return Ok(part);
            }
        }
    }

    /// `File("name")`, `RegexpInFile(text, "name")` or `LookupFile(text, "name")`.
    pub(super) fn data_file(
        &mut self,
        function: &str,
        range: Range<usize>,
    ) -> Result<Part, RuleError> {
        let mut arguments = self.arguments()?;
        let range = range.start..self.end();
        let usage = match function {
            "File" => "write `File(\"name\")`, with the name in quotes",
            "LookupFile" => "write `LookupFile(text, \"name\")`, with the name in quotes",
            _ => "write `RegexpInFile(text, \"name\")`, with the name in quotes",
        };
        let file = match arguments.pop() {
            Some(Part { node: Node::Constant(Value::Text(name)), range, .. }) => {
                Some((String::from_utf8_lossy(&name).into_owned(), range))
            }
            _ => None,
        };
        let is_complete = arguments.len() == usize::from(function != "File");
        let Some((file, at)) = file.filter(|_| is_complete) else {
            return Err(RuleError::new(range, usage));
        };
        match arguments.pop() {
            None => {
                let lines = self.names.lines(&file);
                let lines = lines.map_err(|message| RuleError::new(at, message))?;
                self.part(Node::Lines(lines), Kind::List, range)
            }
            Some(text) => {
                require(&text, Kind::Text)?;
                if function == "LookupFile" {
                    let tags = self.names.tags(&file);
                    let tags = tags.map_err(|message| RuleError::new(at, message))?;
                    return self.part(Node::LookUp(Box::new(text), tags), Kind::Text, range);
                }
                let patterns = self.names.patterns(&file);
                let patterns = patterns.map_err(|message| RuleError::new(at, message))?;
                self.part(Node::MatchesOneOf(Box::new(text), patterns), Kind::Boolean, range)
            }
        }
    }
}
