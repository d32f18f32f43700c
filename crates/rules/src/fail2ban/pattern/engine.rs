//! Compiled patterns.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use fancy_regex::{Captures, CompileError, Regex, RegexBuilder};
use weir_core::{CacheReservation, PatternBudget, PatternSize};

use super::classes::write_char;
use super::literals::{self, Texts};
use super::syntax::{Node, Syntax, parse};
use crate::backtracking_parts::{PART_CACHE_BYTES_MAX, SearchTable, TOO_MANY_GROUPS, parts_max};
use crate::error::{Reason, RuleError};

/// The most steps of a backtracking pattern on one line: some tenths of a second.
const STEPS_MAX: usize = 1_000_000;

/// The largest size of a compiled part of a pattern, in bytes: what the engine allows by default.
const PROGRAM_BYTES_MAX: usize = 10 << 20;

/// Why a pattern was not compiled when the work was stopped.
const STOPPED: &str = "the work was stopped";

/// The most lists of required texts that are searched for before a pattern.
const REQUIRED_MAX: usize = 2;

/// The groups that a failure uses; others are captured only if the pattern refers to them.
const KEPT: [&str; 7] = ["fid", "ip4", "ip6", "dns", "cidr", "content", "mlfid"];

/// The further groups of a connection that several lines are about.
const KEPT_OF_CONNECTION: [&str; 5] = ["user", "alt_user", "nofail", "mlfforget", "mlfgained"];

/// The set of groups that a pattern captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fail2ban) enum Groups {
    /// The groups that a failure uses.
    Failure,
    /// These, and those of a connection that several lines are about.
    Connection,
    /// All groups.
    All,
}

impl Groups {
    fn keep(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Connection => KEPT.contains(&name) || KEPT_OF_CONNECTION.contains(&name),
            Self::Failure => KEPT.contains(&name),
        }
    }
}

/// A pattern, compiled at its first use.
#[derive(Debug, Clone)]
pub(in crate::fail2ban) struct Pattern {
    regex: LazyRegex,
    written: Arc<WrittenPattern>,
    names: Vec<String>,
    /// Lists of texts. One text of each list must occur in a match.
    pub(super) required: Vec<Texts>,
}

/// A pattern as it is written, which its clones share.
#[derive(Debug)]
struct WrittenPattern {
    text: String,
    /// See [`Syntax::ends`].
    ends: Vec<usize>,
    host_may_be_name: bool,
}

/// An expression that is compiled at its first use. Clones have their own caches.
#[derive(Debug)]
struct LazyRegex {
    shared: Arc<(String, OnceLock<Result<SharedRegex, Reason>>)>,
    budget: PatternBudget,
    /// The expression with its own caches, which are charged as if they were full, because the engine
    /// does not tell their size; `None` if there is no room for them. Searches have new ones then.
    own: OnceLock<Option<(Regex, CacheReservation)>>,
}

/// A compiled expression that clones share.
#[derive(Debug)]
struct SharedRegex {
    regex: Regex,
    /// The most that its caches can take in one thread.
    caches_bytes: usize,
}

impl LazyRegex {
    fn new(text: String, budget: &PatternBudget) -> Self {
        let shared = Arc::new((text, OnceLock::new()));
        Self { shared, budget: budget.clone(), own: OnceLock::new() }
    }

    /// Compiles the expression; `None` if the work is stopped, after which it may begin again.
    fn compiled(&self) -> Option<&Result<SharedRegex, Reason>> {
        let (text, compiled) = &*self.shared;
        if let Some(known) = compiled.get() {
            return Some(known);
        }
        let built = self.build(text);
        let is_refused = built.is_err() && self.budget.is_stopped();
        (!is_refused).then(|| compiled.get_or_init(|| built))
    }

    fn build(&self, text: &str) -> Result<SharedRegex, Reason> {
        let parts = parts_max(text);
        let refused = |_| fancy_regex::Error::from(CompileError::PatternTooComplex);
        let table = SearchTable::new(text);
        let bytes_max = PROGRAM_BYTES_MAX.min(table.program_bytes_max());
        let build = |size: PatternSize| {
            let mut builder = RegexBuilder::new(text);
            builder.backtrack_limit(STEPS_MAX).delegate_size_limit(size.program_bytes);
            let bytes_max = if parts > 1 { PART_CACHE_BYTES_MAX } else { usize::MAX };
            let cache_bytes = size.cache_bytes.map(|bytes| bytes.min(bytes_max));
            if let Some(bytes) = cache_bytes {
                builder.delegate_dfa_size_limit(bytes);
            }
            let caches_bytes = cache_bytes
                .map_or(0, |bytes| parts * 2 * bytes + table.bytes_max(size.program_bytes));
            builder.build().map(|regex| (0, SharedRegex { regex, caches_bytes }))
        };
        let size = (parts, text.len());
        let built = self.budget.fit(size, bytes_max, is_too_large, refused, build);
        built.map_err(|error| match is_too_large(&error) && bytes_max < PROGRAM_BYTES_MAX {
            true => TOO_MANY_GROUPS.into(),
            false => error.to_string().into(),
        })
    }

    /// Returns the expression; `None` if it is not valid, or the work is stopped.
    fn get(&self) -> Option<Cow<'_, Regex>> {
        if self.budget.is_stopped() {
            return None;
        }
        let SharedRegex { regex, caches_bytes } = self.compiled()?.as_ref().ok()?;
        let own = self.own.get_or_init(|| {
            let reservation = self.budget.reserve(*caches_bytes)?;
            Some((regex.clone(), reservation))
        });
        Some(match own {
            Some((regex, _)) => Cow::Borrowed(regex),
            None => Cow::Owned(regex.clone()),
        })
    }
}

impl Clone for LazyRegex {
    fn clone(&self) -> Self {
        let (shared, budget) = (Arc::clone(&self.shared), self.budget.clone());
        Self { shared, budget, own: OnceLock::new() }
    }
}

/// The result of a search.
#[derive(Debug)]
pub(in crate::fail2ban) enum Found<'t> {
    Match(Captures<'t, str>),
    Nothing,
    /// The pattern took too many steps.
    TooSlow,
}

impl Pattern {
    /// Reads and compiles a pattern. `host_may_be_name` is whether `<HOST>` matches host names.
    ///
    /// # Errors
    /// If the pattern is not valid, or cannot be translated.
    pub(in crate::fail2ban) fn new(
        pattern: &str,
        groups: Groups,
        host_may_be_name: bool,
        budget: &PatternBudget,
    ) -> Result<Self, RuleError> {
        let read = Self::lazy(pattern, groups, host_may_be_name, budget)?;
        match read.compile() {
            Ok(()) => Ok(read),
            Err(reason) => Err(reason.at(0..pattern.len())),
        }
    }

    /// Compiles the pattern.
    ///
    /// # Errors
    /// If the pattern cannot be translated.
    pub(in crate::fail2ban) fn compile(&self) -> Result<(), Reason> {
        let Some(compiled) = self.regex.compiled() else { return Err(STOPPED.into()) };
        compiled
            .as_ref()
            .map(|_| ())
            .map_err(|error| format!("the pattern cannot be translated: {error}").into())
    }

    /// Reads a pattern, and compiles it at its first use. It matches nothing if it cannot be
    /// translated.
    ///
    /// # Errors
    /// If the pattern is not valid.
    pub(in crate::fail2ban) fn lazy(
        pattern: &str,
        groups: Groups,
        host_may_be_name: bool,
        budget: &PatternBudget,
    ) -> Result<Self, RuleError> {
        let syntax = parse(pattern, host_may_be_name)?;
        let regex = LazyRegex::new(translate(&syntax, groups), budget);
        let required = literals::required(&syntax.node, REQUIRED_MAX);
        let (text, ends) = (pattern.to_owned(), syntax.ends);
        let written = Arc::new(WrittenPattern { text, ends, host_may_be_name });
        Ok(Self { regex, written, names: syntax.groups.into_iter().flatten().collect(), required })
    }

    /// The pattern as it is written.
    pub(in crate::fail2ban) fn text(&self) -> &str {
        &self.written.text
    }

    /// The ends of the elements in the text that follow each other on the outermost level.
    pub(super) fn ends(&self) -> &[usize] {
        &self.written.ends
    }

    /// Reads the beginning of the pattern up to an end of an element; `None` if it is no pattern.
    pub(super) fn beginning(&self, end: usize) -> Option<Self> {
        let WrittenPattern { text, host_may_be_name, .. } = &*self.written;
        let budget = &self.regex.budget;
        Self::lazy(text.get(..end)?, Groups::Failure, *host_may_be_name, budget).ok()
    }

    /// Whether the pattern has a group with this name.
    pub(in crate::fail2ban) fn has_group(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The names of its groups.
    pub(in crate::fail2ban) fn group_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Finds the first match.
    pub(in crate::fail2ban) fn find<'t>(&self, text: &'t str) -> Found<'t> {
        match self.regex.get().map(|regex| regex.captures(text)) {
            Some(Ok(Some(captures))) => Found::Match(captures),
            Some(Ok(None)) | None => Found::Nothing,
            Some(Err(_)) => Found::TooSlow,
        }
    }

    /// Whether there is a match; `None` if the search took too many steps.
    pub(in crate::fail2ban) fn is_match(&self, text: &str) -> Option<bool> {
        self.regex.get().map_or(Some(false), |regex| regex.is_match(text).ok())
    }
}

fn is_too_large(error: &fancy_regex::Error) -> bool {
    let fancy_regex::Error::CompileError(error) = error else { return false };
    matches!(&**error, CompileError::InnerError(error) if error.size_limit().is_some())
}

fn translate(syntax: &Syntax, groups: Groups) -> String {
    let groups = if syntax.has_references { Groups::All } else { groups };
    let mut text = String::new();
    write(&syntax.node, groups, &mut text);
    text
}

fn write(node: &Node, groups: Groups, text: &mut String) {
    let inside = |prefix: &str, node: &Node, text: &mut String| {
        *text += prefix;
        write(node, groups, text);
        text.push(')');
    };
    match node {
        Node::Empty => {}
        Node::Char { char, .. } => write_char(*char, text),
        Node::Set { text: set, .. } => *text += set,
        Node::Assertion(assertion) => *text += assertion,
        Node::Concat(nodes) => nodes.iter().for_each(|node| write(node, groups, text)),
        Node::Alternation(nodes) => {
            for (number, node) in nodes.iter().enumerate() {
                if number > 0 {
                    text.push('|');
                }
                write(node, groups, text);
            }
        }
        Node::Repeat { node, min, max, suffix } => {
            inside("(?:", node, text);
            _ = match max {
                None if *min == 0 => write!(text, "*{suffix}"),
                None if *min == 1 => write!(text, "+{suffix}"),
                None => write!(text, "{{{min},}}{suffix}"),
                Some(max) => write!(text, "{{{min},{max}}}{suffix}"),
            };
        }
        Node::Group { name: Some(name), node } if groups.keep(name) => {
            inside(&format!("(?P<{name}>"), node, text);
        }
        Node::Group { node, .. } if groups == Groups::All => inside("(", node, text),
        Node::Group { node, .. } => inside("(?:", node, text),
        Node::Wrapped { prefix, node } => inside(prefix, node, text),
        Node::Look { prefix, node } => inside(prefix, node, text),
        Node::Reference(group) => _ = write!(text, "(?:\\{group})"),
        Node::Condition { group, yes, no } => {
            _ = write!(text, "(?({group})(?:");
            write(yes, groups, text);
            *text += ")|(?:";
            write(no, groups, text);
            *text += "))";
        }
    }
}
