//! Limits of requests in a window of time, for any key and any condition.
//!
//! [`language`] reads the lines in which they are written, [`limit`] is a limit, [`key`] what it
//! groups by, [`observer`] finds the keys of records, and [`replay`] puts the requests of each key
//! into the order of their arrival. [`exact`] decides about them if their times are known, and
//! [`bounded`] if the log has only whole seconds. [`gate`] decides about requests as they arrive,
//! with the [`counter`]s of [`exact`].
//!
//! Sources of the algorithms: the sliding ring is that of caddy-ratelimit (`ringbuffer.go`), the
//! two periods are those of HAProxy (`src/freq_ctr.c`), and the token bucket is the generic cell
//! rate algorithm (ITU-T I.371, annex A), which `golang.org/x/time/rate` computes in another form.

mod bounded;
mod bounded_bucket;
mod bounded_concurrency;
mod bounded_periods;
mod bounded_ring;
mod counter;
mod effect;
mod estimator;
mod exact;
mod frequency;
mod gate;
mod key;
mod language;
mod limit;
mod observer;
mod replay;
mod summary;
mod whole_tokens;
mod words;

use weir_core::{PatternBudget, RecordFields};

pub(crate) use self::key::{KeyNeeds, KeyPart, LimitKey};
pub(crate) use self::language::looks_like;
pub(crate) use self::limit::{Algorithm, Effect, Hold, Limit};
use self::observer::WindowObserver;
use self::replay::WindowReplay;
pub(crate) use self::words::{Word, lines};
use crate::error::{ParseError, RuleError};
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::rule::{Family, MissingField, Observer, Replay, Rule};
use crate::settings::RuleSettings;

/// A limit that is replayed alone.
#[derive(Debug)]
pub(crate) struct WindowRule {
    name: String,
    family: Family,
    limit: Limit,
    notes: Vec<RuleError>,
}

impl WindowRule {
    /// A rule of a limit. `name` is used if the limit has none.
    pub(crate) fn new(limit: Limit, name: &str, family: Family, notes: Vec<RuleError>) -> Self {
        let name = limit.name.clone().unwrap_or_else(|| name.to_owned());
        Self { name, family, limit, notes }
    }

    /// Reads lines that begin with `limit`, each of which is a rule.
    ///
    /// # Errors
    /// If a line is not a limit, or there is none.
    pub(crate) fn parse(
        text: &str,
        name: &str,
        rules_max: usize,
        budget: &PatternBudget,
    ) -> Result<Vec<Self>, ParseError> {
        let limits = language::parse(text, rules_max, budget)?;
        let numbered = limits.len() > 1;
        let rule = |(index, limit): (usize, Limit)| {
            let name = if numbered { format!("{name}-{}", index + 1) } else { name.to_owned() };
            Self::new(limit, &name, Family::Windows, Vec::new())
        };
        Ok(limits.into_iter().enumerate().map(rule).collect())
    }
}

impl Rule for WindowRule {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        self.family
    }

    fn description(&self) -> String {
        self.limit.to_string()
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn settings(&self) -> Option<RuleSettings> {
        let limit = &self.limit;
        limit.is_published().then(|| RuleSettings {
            threshold: limit.setting(),
            period_ns: limit.window_ns,
            refill: limit.algorithm.is_bucket().then_some(limit.count),
            trips_at_threshold: false,
        })
    }

    fn named_fields(&self) -> Vec<String> {
        let conditions = self.limit.condition.iter().chain(&self.limit.effect.rejects);
        let condition = conditions.flat_map(|condition| condition.fields());
        self.limit.key.fields().chain(condition).map(str::to_owned).collect()
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        Ok(Box::new(WindowObserver::new(&self.limit, fields)?))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(WindowReplay::new(&self.limit))
    }

    fn gate(
        &self,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        gate::gate(&self.name, &self.limit, fields, options)
    }
}
