//! What stands around the zones of a Caddyfile: handlers, routes and their matchers.

use super::matcher::path;
use crate::error::RuleError;
use crate::windows::Word;

/// The parse state outside of zones.
#[derive(Default)]
pub(super) struct Surroundings<'t> {
    /// The number of `rate_limit` lines.
    pub(super) handlers: usize,
    /// The first words of the blocks that are open, and their arguments.
    blocks: Vec<(Word<'t>, Vec<Word<'t>>)>,
    /// What requests have to meet to come to the current handler.
    pub(super) conditions: Vec<String>,
    pub(super) notes: Vec<RuleError>,
}

impl<'t> Surroundings<'t> {
    /// Reads a line that is not in a zone.
    pub(super) fn read(&mut self, line: &[Word<'t>]) {
        let Some(first) = line.first() else { return };
        if first.text == "}" {
            self.blocks.pop();
            return;
        }
        let arguments = line[1..].iter().filter(|word| word.text != "{").copied();
        let arguments: Vec<Word<'t>> = arguments.collect();
        match first.text {
            "rate_limit" => {
                self.handlers += 1;
                self.read_matchers(*first, &arguments);
            }
            "match" if self.blocks.iter().any(|(word, _)| word.text == "rate_limit") => {
                let message = "a `match` belongs in a `zone`; here it selects no requests, so all of \
                               them count";
                self.notes.push(first.error(message));
            }
            "distributed" => {
                let message = "the other instances are not in the log; this one alone is replayed";
                self.notes.push(first.error(message));
            }
            _ => {}
        }
        if line.last().is_some_and(|word| word.text == "{") {
            self.blocks.push((*first, arguments));
        }
    }
}

impl<'t> Surroundings<'t> {
    /// Reads the matchers of the routes around a handler, and its own. Those of a path are
    /// followed.
    fn read_matchers(&mut self, handler: Word<'t>, arguments: &[Word<'t>]) {
        const ROUTES: [&str; 3] = ["handle", "handle_path", "route"];
        self.conditions.clear();
        let routes = self.blocks.iter().filter(|(word, _)| ROUTES.contains(&word.text));
        let routes = routes.map(|(word, arguments)| (*word, &arguments[..]));
        for (word, arguments) in routes.chain([(handler, arguments)]) {
            let path = match arguments {
                [] => continue,
                [path] if path.text.starts_with('/') => self::path(path.text),
                _ => None,
            };
            match path {
                Some(path) => self.conditions.push(path),
                None => {
                    let message = "which requests this is for is not followed: all of them count";
                    self.notes.push(word.error(message));
                }
            }
        }
    }
}
