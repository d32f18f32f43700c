//! A zone.

use weir_core::PatternBudget;

use super::super::{Preset, duration_ns};
use super::key::key;
use super::matcher::MatcherSet;
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, Limit, LimitKey, Word};

/// A block within a zone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Matchers,
    /// A block that is not supported.
    Skipped,
}

/// A zone that is being parsed.
pub(super) struct Zone<'t> {
    pub(super) name: Word<'t>,
    key: Option<LimitKey>,
    pub(super) window_ns: Option<u64>,
    pub(super) events: Option<u64>,
    /// The blocks that are open, from the outermost on.
    blocks: Vec<Block>,
    /// The matchers. A request that meets one of them counts.
    matchers: Vec<MatcherSet>,
    /// What requests have to meet to come to the handler.
    around: Vec<String>,
    pub(super) notes: Vec<RuleError>,
}

impl<'t> Zone<'t> {
    pub(super) fn new(name: Word<'t>, around: Vec<String>) -> Self {
        let (key, window_ns, events) = Default::default();
        let (blocks, matchers, notes) = Default::default();
        Self { name, key, window_ns, events, blocks, matchers, around, notes }
    }

    /// Reads a line of the zone. Returns whether it ends the zone.
    pub(super) fn read(&mut self, line: &[Word<'t>]) -> Result<bool, RuleError> {
        let Some(first) = line.first().copied() else { return Ok(false) };
        if first.text == "}" {
            return Ok(self.blocks.pop().is_none());
        }
        let opens = line.last().is_some_and(|word| word.text == "{");
        match (self.blocks.last(), line.get(1)) {
            (Some(Block::Skipped), _) => {}
            (None, Some(_)) if opens && first.text == "match" => {
                self.matchers.push(MatcherSet::default());
                self.blocks.push(Block::Matchers);
                return Ok(false);
            }
            (None, Some(value)) if !opens => self.read_setting(first, *value)?,
            (None, _) => {
                self.notes.push(first.error(format!("`{}` is not followed", first.text)));
            }
            (Some(Block::Matchers), _) => {
                let read = self.matchers.last_mut().map(|set| set.read(line));
                self.notes.extend(read.and_then(Result::err));
            }
        }
        if opens {
            self.blocks.push(Block::Skipped);
        }
        Ok(false)
    }

    fn read_setting(&mut self, name: Word<'_>, value: Word<'_>) -> Result<(), RuleError> {
        let value = self.of_environment(value)?;
        match name.text {
            "key" => self.key = Some(key(value, &mut self.notes)?),
            "window" => {
                let window_ns = duration_ns(value.text, 0).ok_or_else(|| {
                    value.error(format!("`{}` is not a duration from 1ms to 366d", value.text))
                })?;
                self.window_ns = Some(window_ns);
            }
            "events" => {
                let events = value.text.parse().ok();
                let is_valid = |events: &u64| (1..=Limit::COUNT_MAX).contains(events);
                self.events = Some(events.filter(is_valid).ok_or_else(|| {
                    value.error(format!("`{}` is not a number of events from 1", value.text))
                })?);
            }
            other => self.notes.push(name.error(format!("`{other}` is not followed"))),
        }
        Ok(())
    }

    /// The default of a variable of the environment, as in `{$EVENTS:100}`; any other value as it
    /// is.
    fn of_environment<'v>(&mut self, value: Word<'v>) -> Result<Word<'v>, RuleError> {
        let Some(inner) = value.text.strip_prefix("{$").and_then(|it| it.strip_suffix('}')) else {
            return Ok(value);
        };
        let Some((name, default)) = inner.split_once(':').filter(|(_, it)| !it.is_empty()) else {
            let message = "is a variable of the environment; write the value that it has";
            return Err(value.error(format!("`{}` {message}", value.text)));
        };
        self.notes.push(value.error(format!(
            "the environment may set `{name}`; its default is taken, which is {default}"
        )));
        let end = value.text.len() - 1;
        Ok(value.part(end - default.len()..end))
    }

    pub(super) fn preset(self, budget: &PatternBudget) -> Result<Preset, RuleError> {
        let missing = |what: &str| self.name.error(format!("the zone has no `{what}`"));
        let count = self.events.ok_or_else(|| missing("events"))?;
        let window_ns = self.window_ns.ok_or_else(|| missing("window"))?;
        let sets: Option<Vec<String>> = self.matchers.iter().map(MatcherSet::condition).collect();
        let condition = match sets.as_deref() {
            None | Some([]) => None,
            Some([set]) => Some(set.clone()),
            Some(sets) => Some(format!("({})", sets.join(") or ("))),
        };
        let conditions: Vec<String> = self.around.into_iter().chain(condition).collect();
        let condition = (!conditions.is_empty()).then(|| match &conditions[..] {
            [one] => one.clone(),
            several => format!("({})", several.join(") and (")),
        });
        let condition = condition.map(|text| RuleCondition::parse(&text, budget)).transpose();
        let limit = Limit {
            name: Some(self.name.text.to_owned()),
            key: self.key.unwrap_or_default(),
            condition: condition.map_err(|error| self.name.error(error.message))?,
            ..Limit::new(count, window_ns, Algorithm::SlidingRing)
        };
        Ok(Preset { limit, notes: self.notes })
    }
}
