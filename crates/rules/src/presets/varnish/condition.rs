//! Conditions of VCL.

use std::collections::HashMap;
use std::ops::Range;

use super::super::selection::{Selection, TextField, of_client};
use super::statements::Reader;
use super::token::TokenKind;
use super::{Call, url};
use crate::error::RuleError;

/// The deepest nesting of parentheses that is followed.
const DEPTH_MAX: usize = 32;

/// The networks of the access lists, by name.
pub(super) type AccessLists = HashMap<String, Selection>;

/// A condition, or a part of one.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) kind: ConditionKind,
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) enum ConditionKind {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Call(Box<Call>),
    Test { selection: Selection, note: Option<RuleError> },
}

/// The requests that reach something, and the notes about what is left out of that.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    pub(super) selection: Selection,
    pub(super) notes: Vec<RuleError>,
}

impl Reached {
    pub(super) fn everything() -> Self {
        Self { selection: Selection::Everything, notes: Vec::new() }
    }

    /// Of these requests, those that meet a condition too.
    pub(super) fn and(&self, condition: &Condition) -> Self {
        self.and_all(std::slice::from_ref(condition))
    }

    fn and_all(&self, conditions: &[Condition]) -> Self {
        let mut notes = Vec::new();
        let met = conditions.iter().map(|it| it.selection(&mut notes)).collect();
        self.narrowed(Selection::all(met), notes, conditions)
    }

    /// Of these requests, those that do not meet a condition. Those that a throttle decides about
    /// stay: which it denies is not known here.
    pub(super) fn and_not(&self, condition: &Condition) -> Self {
        self.and_none(std::slice::from_ref(condition))
    }

    fn and_none(&self, conditions: &[Condition]) -> Self {
        let mut notes = Vec::new();
        let without_calls = conditions.iter().filter(|it| !it.has_call());
        let others = without_calls.map(|it| it.refused(&mut notes)).collect();
        self.narrowed(Selection::all(others), notes, conditions)
    }

    fn narrowed(&self, met: Selection, notes: Vec<RuleError>, conditions: &[Condition]) -> Self {
        let all = Selection::all(vec![self.selection.clone(), met]);
        let length = match &all {
            Selection::Those { condition, .. } => condition.len(),
            _ => 0,
        };
        let mut narrowed = self.clone();
        if length > LENGTH_MAX || self.notes.len() + notes.len() > NOTES_MAX {
            let start = conditions.first().map_or(0, |first| first.range.start);
            let end = conditions.last().map_or(start, |last| last.range.end);
            narrowed.note(start..end, TOO_LONG);
            return narrowed;
        }
        narrowed.selection = all;
        narrowed.notes.extend(notes);
        narrowed
    }

    /// Adds a note, unless there are many.
    pub(super) fn note(&mut self, range: Range<usize>, message: &str) {
        if self.notes.len() <= NOTES_MAX {
            self.notes.push(RuleError::new(range, message));
        }
    }
}

/// The longest condition that is made for the requests of a call, in bytes. Each statement copies
/// it.
const LENGTH_MAX: usize = 16_384;

/// The most notes about them.
const NOTES_MAX: usize = 100;

const TOO_LONG: &str = "the conditions up to here are too many to be followed: requests count \
                        whether they meet this or not";

impl Condition {
    pub(super) fn has_call(&self) -> bool {
        match &self.kind {
            ConditionKind::Any(parts) | ConditionKind::All(parts) => {
                parts.iter().any(Self::has_call)
            }
            ConditionKind::Not(part) => part.has_call(),
            ConditionKind::Call(_) => true,
            ConditionKind::Test { .. } => false,
        }
    }

    /// The requests that meet the condition.
    fn selection(&self, notes: &mut Vec<RuleError>) -> Selection {
        let known = notes.len();
        let selection = match &self.kind {
            ConditionKind::Call(_) => return Selection::Unknown,
            ConditionKind::Test { selection, note } => {
                notes.extend(note.clone());
                return selection.clone();
            }
            ConditionKind::All(parts) => {
                return Selection::all(parts.iter().map(|it| it.selection(notes)).collect());
            }
            ConditionKind::Any(parts) => {
                Selection::any(parts.iter().map(|it| it.selection(notes)).collect())
            }
            ConditionKind::Not(part) => return part.refused(notes),
        };
        self.note_whole(selection, known, notes)
    }

    /// The requests that do not meet the condition.
    fn refused(&self, notes: &mut Vec<RuleError>) -> Selection {
        let known = notes.len();
        let selection = self.selection(notes).not();
        self.note_whole(selection, known, notes)
    }

    /// Notes a part that is left out as a whole in place of what is not known in it.
    fn note_whole(
        &self,
        selection: Selection,
        known: usize,
        notes: &mut Vec<RuleError>,
    ) -> Selection {
        if selection == Selection::Unknown {
            notes.truncate(known);
            if !self.has_call() {
                notes.push(RuleError::new(self.range.clone(), NOT_FOLLOWED));
            }
        }
        selection
    }

    /// Finds the calls, with the requests that reach each, and those that have to meet something
    /// else to be denied.
    pub(super) fn calls(self, reached: &Reached, found: &mut Vec<ReachedCall>) {
        self.calls_with(reached, Denied { conditions: Vec::new(), notes: Vec::new() }, found);
    }

    fn calls_with(self, reached: &Reached, denied: Denied, found: &mut Vec<ReachedCall>) {
        match self.kind {
            ConditionKind::Test { .. } => {}
            ConditionKind::Call(call) => {
                found.push(ReachedCall { call: *call, reached: reached.clone(), denied });
            }
            ConditionKind::Not(part) => part.calls_with(reached, denied, found),
            ConditionKind::Any(mut parts) => {
                for at in
                    (0..parts.len()).rev().filter(|at| parts[*at].has_call()).collect::<Vec<_>>()
                {
                    // Those that meet an earlier one do not get here.
                    let part = parts.swap_remove(at);
                    part.calls_with(&reached.and_none(&parts[..at]), denied.clone(), found);
                }
            }
            ConditionKind::All(mut parts) => {
                for at in
                    (0..parts.len()).rev().filter(|at| parts[*at].has_call()).collect::<Vec<_>>()
                {
                    // What comes later does not decide whether it counts.
                    let part = parts.remove(at);
                    let mut denied = denied.clone();
                    let later = Reached::everything().and_all(&parts[at..]);
                    denied.conditions.push(later.selection);
                    denied.notes.extend(later.notes);
                    part.calls_with(&reached.and_all(&parts[..at]), denied, found);
                }
            }
        }
    }
}

/// What the requests of a call have to meet so that they are denied.
#[derive(Debug, Clone)]
pub(super) struct Denied {
    pub(super) conditions: Vec<Selection>,
    pub(super) notes: Vec<RuleError>,
}

/// A call, and what is known about the requests that reach it.
#[derive(Debug)]
pub(super) struct ReachedCall {
    pub(super) call: Call,
    pub(super) reached: Reached,
    pub(super) denied: Denied,
}

const NOT_FOLLOWED: &str = "this is not followed: requests count whether they meet it or not";

impl Reader<'_> {
    /// A condition up to its closing parenthesis, which is left.
    pub(super) fn condition(&mut self, depth: usize) -> Result<Condition, RuleError> {
        let mut parts = vec![self.all(depth)?];
        while self.take("||") {
            parts.push(self.all(depth)?);
        }
        Ok(joined(parts, ConditionKind::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Condition, RuleError> {
        let mut parts = vec![self.term(depth)?];
        while self.take("&&") {
            parts.push(self.term(depth)?);
        }
        Ok(joined(parts, ConditionKind::All))
    }

    fn term(&mut self, depth: usize) -> Result<Condition, RuleError> {
        let start = self.place();
        if depth == DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} parentheses lie in each other");
            return Err(RuleError::new(start..start, message));
        }
        if self.take("!") {
            let inner = self.term(depth + 1)?;
            let range = start..inner.range.end;
            return Ok(Condition { kind: ConditionKind::Not(Box::new(inner)), range });
        }
        if self.take("(") {
            let inner = self.condition(depth + 1)?;
            self.take(")");
            return Ok(inner);
        }
        if let Some(call) = self.call()? {
            let range = start..self.end();
            return Ok(Condition { kind: ConditionKind::Call(Box::new(call)), range });
        }
        let first = self.position();
        let known = self.test().filter(|_| self.is_end_of_test());
        if known.is_none() {
            self.go_to(first);
            self.skip_test();
        }
        let range = start..self.end().max(start);
        let (selection, note) = known.unwrap_or((Selection::Unknown, None));
        let not_followed = || RuleError::new(range.clone(), NOT_FOLLOWED);
        let note = match &selection {
            Selection::Unknown => Some(not_followed()),
            _ => note.map(|note| RuleError::new(range.clone(), note)),
        };
        Ok(Condition { kind: ConditionKind::Test { selection, note }, range })
    }

    /// A comparison of a variable with a value, and what is to be said about it.
    fn test(&mut self) -> Option<(Selection, Option<&'static str>)> {
        let variable = self.next_of(TokenKind::Word)?;
        let sign = self.next_of(TokenKind::Sign)?;
        let (selection, note) = match (variable, sign) {
            ("client.ip" | "client.identity" | "remote.ip", "~" | "!~") => {
                let list = self.next_of(TokenKind::Word)?;
                (self.lists.get(list).cloned().unwrap_or(Selection::Unknown), None)
            }
            ("client.ip" | "client.identity" | "remote.ip", "==" | "!=") => {
                (of_client(self.next_of(TokenKind::Text)?), None)
            }
            ("req.url", "~" | "!~") => url::matches(self.next_of(TokenKind::Text)?),
            ("req.url", "==" | "!=") => (url::equals(self.next_of(TokenKind::Text)?), None),
            (variable, "~" | "!~") => {
                (text_field(variable)?.matches(self.next_of(TokenKind::Text)?), None)
            }
            (variable, "==" | "!=") => {
                (text_field(variable)?.equals(self.next_of(TokenKind::Text)?), None)
            }
            _ => return None,
        };
        Some((if sign.starts_with('!') { selection.not() } else { selection }, note))
    }

    fn is_end_of_test(&self) -> bool {
        self.peek().is_none_or(|text| matches!(text, "&&" | "||" | ")"))
    }

    /// Passes over what is not followed.
    fn skip_test(&mut self) {
        let mut open = 0_usize;
        while let Some(text) = self.peek() {
            match text {
                "{" | "}" | ";" => break,
                "&&" | "||" | ")" if open == 0 => break,
                "(" => open += 1,
                ")" => open -= 1,
                _ => {}
            }
            self.pass();
        }
    }
}

fn joined(mut parts: Vec<Condition>, kind: fn(Vec<Condition>) -> ConditionKind) -> Condition {
    match parts.len() {
        1 => parts.remove(0),
        _ => {
            let start = parts.first().map_or(0, |part| part.range.start);
            let end = parts.last().map_or(start, |part| part.range.end);
            Condition { kind: kind(parts), range: start..end }
        }
    }
}

fn text_field(variable: &str) -> Option<TextField> {
    Some(TextField::new(match variable.to_ascii_lowercase().as_str() {
        "req.method" => "method",
        "req.proto" => "protocol",
        "req.http.host" => "host",
        "req.http.user-agent" => "user_agent",
        "req.http.referer" => "referer",
        _ => return None,
    }))
}
