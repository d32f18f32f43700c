//! The statements of VCL around the calls.

use super::super::LIMITS_MAX;
use super::super::selection::{Selection, of_client};
use super::condition::{AccessLists, Condition, ConditionKind, Reached, ReachedCall};
use super::token::{Token, TokenKind, tokens};
use super::{Call, call};
use crate::error::RuleError;

/// The deepest nesting of blocks.
const DEPTH_MAX: usize = 64;

const RETURNED: &str = "requests that this branch ends count nevertheless";

/// Reads a text without comments.
pub(super) struct Reader<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    pub(super) lists: AccessLists,
    calls: Vec<ReachedCall>,
    calls_read: usize,
}

/// Finds the calls in a text without comments.
///
/// # Errors
/// If a call is not valid, or blocks are nested too deeply.
pub(super) fn calls(text: &str) -> Result<Vec<ReachedCall>, RuleError> {
    let tokens = tokens(text);
    let (lists, calls) = Default::default();
    let mut reader = Reader { text, tokens, at: 0, lists, calls, calls_read: 0 };
    reader.read_lists();
    while reader.peek().is_some() {
        reader.block(&Reached::everything(), 0)?;
    }
    reader.calls.sort_by_key(|found| found.call.range.start);
    Ok(reader.calls)
}

impl<'t> Reader<'t> {
    pub(super) fn peek(&self) -> Option<&'t str> {
        let token = self.tokens.get(self.at)?;
        match token.kind {
            TokenKind::Text => Some(""),
            _ => Some(&self.text[token.range.clone()]),
        }
    }

    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    /// The number of the next token.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// Takes the next token if it is this word or sign.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_there = self.peek() == Some(text);
        self.at += usize::from(is_there);
        is_there
    }

    /// Takes the next token if it is of this kind.
    pub(super) fn next_of(&mut self, kind: TokenKind) -> Option<&'t str> {
        let token = self.tokens.get(self.at).filter(|token| token.kind == kind)?;
        self.at += 1;
        Some(&self.text[token.inner.clone()])
    }

    /// The place of the next token.
    pub(super) fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |token| token.range.start)
    }

    /// The end of the last token.
    pub(super) fn end(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |it| it.range.end)
    }

    /// The call that comes next, if one does.
    pub(super) fn call(&mut self) -> Result<Option<Call>, RuleError> {
        let is_open =
            self.tokens.get(self.at + 1).is_some_and(|it| &self.text[it.range.clone()] == "(");
        if self.peek() != Some(call::NAME) || !is_open {
            return Ok(None);
        }
        let start = self.place();
        if self.calls_read == LIMITS_MAX {
            let message = format!("these are more than {LIMITS_MAX} calls");
            return Err(RuleError::new(start..start + call::NAME.len(), message));
        }
        self.calls_read += 1;
        let open = self.tokens[self.at + 1].range.end;
        let (call, end) = call::read(self.text, start, open)?;
        while self.tokens.get(self.at).is_some_and(|token| token.range.start < end) {
            self.at += 1;
        }
        Ok(Some(call))
    }

    /// The statements up to the end of a block. Returns whether all requests leave it by `return`.
    fn block(&mut self, reached: &Reached, depth: usize) -> Result<bool, RuleError> {
        if depth > DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} blocks lie in each other");
            return Err(RuleError::new(self.place()..self.place(), message));
        }
        let mut reached = reached.clone();
        let mut returns = false;
        while let Some(text) = self.peek() {
            match text {
                "}" => {
                    self.pass();
                    break;
                }
                "sub" => {
                    while self.peek().is_some_and(|text| !matches!(text, "{" | "}" | ";")) {
                        self.pass();
                    }
                    if self.take("{") {
                        self.block(&Reached::everything(), depth + 1)?;
                    }
                }
                "if" => {
                    self.pass();
                    reached = self.branches(reached, depth)?;
                }
                "{" => {
                    self.pass();
                    returns |= self.block(&reached, depth + 1)?;
                }
                "return" => {
                    self.pass();
                    returns = true;
                }
                _ => match self.call()? {
                    None => self.pass(),
                    Some(call) => {
                        let kind = ConditionKind::Call(Box::new(call));
                        let range = self.place()..self.place();
                        Condition { kind, range }.calls(&reached, &mut self.calls);
                    }
                },
            }
        }
        Ok(returns)
    }

    /// The branches of an `if`. Returns the requests that go on after it.
    fn branches(&mut self, reached: Reached, depth: usize) -> Result<Reached, RuleError> {
        // Those that get to the next branch, and those that go on after the last one. They are the
        // same while each branch ends with `return`.
        let (mut next, mut after) = (reached.clone(), reached);
        let mut all_return = true;
        loop {
            let start = self.place();
            let condition = self.take("(").then(|| self.condition(0)).transpose()?;
            self.take(")");
            let range = start..self.end().max(start);
            let within = condition.as_ref().map_or_else(|| next.clone(), |it| next.and(it));
            let further = condition.as_ref().map_or_else(|| next.clone(), |it| next.and_not(it));
            let has_call = condition.as_ref().is_none_or(Condition::has_call);
            if let Some(condition) = condition {
                condition.calls(&next, &mut self.calls);
            }
            let returns = self.take("{") && self.block(&within, depth + 1)?;
            next = further;
            match returns {
                true if has_call => {}
                true if all_return => after = next.clone(),
                true => after.note(range, RETURNED),
                false => all_return = false,
            }
            let is_else = self.take("else");
            let is_if = ["if", "elseif", "elsif", "elif"].into_iter().any(|word| {
                // Only `else` may have a separate `if`.
                (is_else || word != "if") && self.take(word)
            });
            if is_else && !is_if {
                let start = self.place();
                if self.take("{") && self.block(&next, depth + 1)? {
                    after.note(start..start + 1, RETURNED);
                }
            }
            if !is_if {
                return Ok(after);
            }
        }
    }

    /// Reads the access lists, which may come after their use.
    fn read_lists(&mut self) {
        while let Some(text) = self.peek() {
            self.pass();
            if text == "acl"
                && let Some(name) = self.next_of(TokenKind::Word)
                && self.take("{")
            {
                let list = self.access_list();
                self.lists.insert(name.to_owned(), list);
            }
        }
        self.at = 0;
    }

    /// The entries of an access list: `"192.0.2.0"/24;`. With an exception, or the name of a host,
    /// its networks are not known.
    fn access_list(&mut self) -> Selection {
        let mut networks = Vec::new();
        while let Some(text) = self.peek() {
            if text == "}" {
                break;
            }
            let network = self.next_of(TokenKind::Text).map(|address| {
                let bits = self.take("/").then(|| self.next_of(TokenKind::Word)).flatten();
                bits.map_or_else(|| address.to_owned(), |bits| format!("{address}/{bits}"))
            });
            networks.push(network.map_or(Selection::Unknown, |network| of_client(&network)));
            if !self.take(";") {
                self.pass();
            }
        }
        Selection::any(networks)
    }
}
