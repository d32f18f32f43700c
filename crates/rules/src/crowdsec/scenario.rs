//! A scenario: the settings that decide which events fill a bucket and when it overflows.
//!
//! The checks are those of CrowdSec's `ValidateFactory` (pkg/leakybucket/manager_load.go).

use weir_core::nearest_name;

use super::data::DataFiles;
use super::duration::parse_duration_ns;
use super::evidence::NamedLines;
use super::expression::Expression;
use super::fields::EventField;
use super::names::ScenarioNames;
use super::services::named_in;
use crate::error::RuleError;
use crate::yaml::{Yaml, YamlValue};

/// The keys of a scenario that affect the replay.
const KEYS: [&str; 17] = [
    "type",
    "name",
    "description",
    "filter",
    "groupby",
    "distinct",
    "capacity",
    "leakspeed",
    "duration",
    "blackhole",
    "cache_size",
    "condition",
    "overflow_filter",
    "cancel_on",
    "scope",
    "labels",
    "data",
];

/// Keys that do not affect alerts: descriptions and log settings. `reprocess` passes alerts on to
/// scenarios about alerts, which are refused.
const IGNORED_KEYS: [&str; 7] =
    ["format", "author", "references", "debug", "reprocess", "profiling", "simulated"];

/// The type of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BucketKind {
    /// It overflows with every event.
    Trigger,
    /// It holds `capacity` events, one of which leaks each `leak_ns`.
    Leaky { capacity: u32, leak_ns: i64 },
    /// It overflows `duration_ns` after its first event.
    Counter { duration_ns: i64 },
    /// It overflows when its condition holds, and ends after `leak_ns` without an event.
    Conditional { leak_ns: i64 },
}

/// The subject of an alert.
#[derive(Debug)]
pub(super) enum Scope {
    /// The addresses of the events.
    Address,
    /// Another value, such as an account.
    Other(Expression),
}

/// A scenario.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) kind: BucketKind,
    pub(super) filter: Expression,
    pub(super) group: Option<Expression>,
    pub(super) distinct: Option<Expression>,
    pub(super) cancel: Option<Expression>,
    /// The condition evaluated after each event, over the events of the bucket.
    pub(super) condition: Option<Expression>,
    /// The condition evaluated when the bucket overflows.
    pub(super) overflow_filter: Option<Expression>,
    pub(super) scope: Scope,
    pub(super) blackhole_ns: Option<i64>,
    /// The most events that a bucket keeps.
    pub(super) queue_max: usize,
    /// The duration of a ban after an alert; `None` if alerts do not ban.
    pub(super) ban_ns: Option<i64>,
    /// The fields that the expressions name, by number.
    pub(super) fields: Vec<EventField>,
    /// The fields that a bucket keeps of its events.
    pub(super) queue_fields: Vec<usize>,
    /// The services whose lines the scenario reads; empty if it reads web logs.
    pub(super) services: Vec<usize>,
    /// The kinds of lines that the filter names.
    pub(super) named_lines: NamedLines,
    pub(super) notes: Vec<RuleError>,
    /// CrowdSec's warning about the capacity.
    pub(super) capacity_warning: Option<String>,
}

/// A document that is being parsed.
struct Reader<'t> {
    text: &'t str,
    pairs: &'t [(Yaml, Yaml)],
    document: &'t Yaml,
}

impl Scenario {
    /// Parses a document of a text. `ban_ns` is the duration of the ban after an alert with a
    /// remediation.
    ///
    /// # Errors
    /// If the document is not a scenario, or uses a feature that cannot be replayed.
    pub(super) fn read(
        text: &str,
        document: &Yaml,
        data: &mut DataFiles<'_>,
        ban_ns: Option<i64>,
    ) -> Result<Self, RuleError> {
        let YamlValue::Mapping(pairs) = &document.value else {
            let message = "a scenario is a mapping, such as `type: leaky`";
            return Err(RuleError::new(document.range.clone(), message));
        };
        let reader = Reader { text, pairs, document };
        let mut notes = reader.unknown_keys()?;
        let kind = reader.kind()?;
        let name = reader.required("name")?.to_owned();
        let description = reader.required("description")?.to_owned();
        data.declare(reader.get("data"))?;
        let mut names = ScenarioNames::new(data);
        let filter = reader.expression("filter", &mut names, Expression::condition)?;
        let Some(filter) = filter else {
            let message = "a scenario without `filter` is not loaded by CrowdSec; add it";
            return Err(reader.error(message));
        };
        let group = reader.expression("groupby", &mut names, Expression::of_text)?;
        let distinct = reader.expression("distinct", &mut names, Expression::of_text)?;
        let cancel = reader.expression("cancel_on", &mut names, Expression::condition)?;
        let scope = reader.scope(&mut names)?;
        names.has_queue = true;
        let condition = reader.expression("condition", &mut names, Expression::condition)?;
        let overflow_filter =
            reader.expression("overflow_filter", &mut names, Expression::condition)?;
        if condition.is_none() && matches!(kind, BucketKind::Conditional { .. }) {
            return Err(reader.error("a conditional scenario needs a `condition`; add it"));
        }
        let ScenarioNames { fields, queue_fields, unknown, .. } = names;
        notes.extend(unknown);
        Ok(Self {
            name,
            description,
            kind,
            filter,
            group,
            distinct,
            cancel,
            condition,
            overflow_filter,
            scope,
            blackhole_ns: reader.duration("blackhole")?,
            queue_max: reader.queue_max(kind)?,
            ban_ns: ban_ns.filter(|_| reader.is_remediated()),
            fields,
            queue_fields,
            services: named_in(reader.required("filter")?),
            named_lines: NamedLines::of(reader.required("filter")?),
            notes,
            capacity_warning: reader.capacity_warning(kind)?,
        })
    }

    /// The time for which a bucket lives after its last event, in nanoseconds.
    pub(super) fn lifetime_ns(&self) -> i64 {
        match self.kind {
            BucketKind::Trigger => 0,
            BucketKind::Leaky { capacity, leak_ns } => {
                leak_ns.saturating_mul(i64::from(capacity) + 1)
            }
            BucketKind::Counter { duration_ns } => duration_ns,
            BucketKind::Conditional { leak_ns } => leak_ns,
        }
    }
}

impl<'t> Reader<'t> {
    fn get(&self, key: &str) -> Option<&'t Yaml> {
        let found = self.pairs.iter().find(|(name, _)| name.scalar() == Some(key));
        found.map(|(_, value)| value)
    }

    /// The scalar of a key, if it is not empty.
    fn scalar(&self, key: &str) -> Option<(&'t Yaml, &'t str)> {
        let value = self.get(key)?;
        value.scalar().filter(|text| !text.is_empty()).map(|text| (value, text))
    }

    /// Makes an error about the whole document, positioned at its first key.
    fn error(&self, message: impl std::fmt::Display) -> RuleError {
        let first = self.pairs.first().map_or(&self.document.range, |(key, _)| &key.range);
        RuleError::new(first.clone(), message)
    }

    fn required(&self, key: &str) -> Result<&'t str, RuleError> {
        let message = || self.error(format_args!("the scenario has no `{key}`; add it"));
        self.scalar(key).map(|(_, text)| text).ok_or_else(message)
    }

    /// Makes a note for each unknown key.
    fn unknown_keys(&self) -> Result<Vec<RuleError>, RuleError> {
        let mut notes = Vec::new();
        for (number, (key, _)) in self.pairs.iter().enumerate() {
            let name = key.scalar().unwrap_or_default();
            if self.pairs[..number].iter().any(|(other, _)| other.scalar() == Some(name)) {
                let message = format!("`{name}` is given twice; remove one of them");
                return Err(RuleError::new(key.range.clone(), message));
            }
            if KEYS.contains(&name) || IGNORED_KEYS.contains(&name) {
                continue;
            }
            let hint = nearest_name(name, KEYS)
                .map(|nearest| format!("; did you mean `{nearest}`?"))
                .unwrap_or_default();
            let message = format!("`{name}` is not known and is ignored{hint}");
            notes.push(RuleError::new(key.range.clone(), message));
        }
        Ok(notes)
    }

    fn kind(&self) -> Result<BucketKind, RuleError> {
        let (value, kind) = self.scalar("type").ok_or_else(|| {
            self.error("the scenario has no `type`; add it, such as `type: leaky`")
        })?;
        let capacity = self.integer("capacity")?.unwrap_or(0);
        let at = |key| self.get(key).map_or(value.range.clone(), |value| value.range.clone());
        let leak_ns = || match self.duration("leakspeed")? {
            Some(leak_ns) if leak_ns > 0 => Ok(leak_ns),
            Some(_) => Err(RuleError::new(at("leakspeed"), "`leakspeed` is more than 0")),
            None => Err(RuleError::new(
                value.range.clone(),
                format_args!("a {kind} scenario needs a `leakspeed`, such as `leakspeed: 10s`"),
            )),
        };
        match kind {
            "trigger" if capacity == 0 => Ok(BucketKind::Trigger),
            "trigger" => {
                let message = "a trigger has no `capacity`; remove it";
                Err(RuleError::new(at("capacity"), message))
            }
            "leaky" => {
                let fitting = u32::try_from(capacity).ok().filter(|capacity| *capacity > 0);
                let message = "a leaky scenario needs a `capacity` of 1 or more";
                let capacity = fitting.ok_or_else(|| RuleError::new(at("capacity"), message))?;
                Ok(BucketKind::Leaky { capacity, leak_ns: leak_ns()? })
            }
            "counter" if capacity != -1 => {
                let message = "a counter needs `capacity: -1`";
                Err(RuleError::new(at("capacity"), message))
            }
            "counter" => match self.duration("duration")? {
                Some(duration_ns) if duration_ns > 0 => Ok(BucketKind::Counter { duration_ns }),
                _ => {
                    let message = "a counter needs a `duration`, such as `duration: 1m`";
                    Err(RuleError::new(at("duration"), message))
                }
            },
            "conditional" if capacity < -1 => {
                let message = "`capacity` is -1 for all events, or 0 or more";
                Err(RuleError::new(at("capacity"), message))
            }
            "conditional" => Ok(BucketKind::Conditional { leak_ns: leak_ns()? }),
            "bayesian" => {
                let message = "bayesian scenarios are not supported";
                Err(RuleError::new(value.range.clone(), message))
            }
            other => {
                let message = format_args!(
                    "`{other}` is not a type of scenario (trigger, leaky, counter, conditional)"
                );
                Err(RuleError::new(value.range.clone(), message))
            }
        }
    }

    /// CrowdSec's warning about a conditional scenario that does not keep all events.
    fn capacity_warning(&self, kind: BucketKind) -> Result<Option<String>, RuleError> {
        let capacity = self.integer("capacity")?.unwrap_or(0);
        if !matches!(kind, BucketKind::Conditional { .. }) || capacity == -1 {
            return Ok(None);
        }
        let kept = match capacity {
            0 => "event".to_owned(),
            _ => format!("{} events", capacity.saturating_add(1)),
        };
        Ok(Some(format!(
            "a bucket keeps only its last {kept}, since `capacity` is {capacity}; with \
             `capacity: -1` it keeps all"
        )))
    }

    fn integer(&self, key: &str) -> Result<Option<i64>, RuleError> {
        let Some((value, text)) = self.scalar(key) else { return Ok(None) };
        let message = || {
            let message = format_args!("`{text}` is not a whole number");
            RuleError::new(value.range.clone(), message)
        };
        text.parse().map(Some).map_err(|_| message())
    }

    fn duration(&self, key: &str) -> Result<Option<i64>, RuleError> {
        let Some((value, text)) = self.scalar(key) else { return Ok(None) };
        let message = || {
            let message = format_args!("`{text}` is not a valid duration; write one such as `10s`");
            RuleError::new(value.range.clone(), message)
        };
        parse_duration_ns(text).map(Some).ok_or_else(message)
    }

    /// The number of events that a bucket keeps: one more than the smaller of capacity and cache
    /// size. A capacity of -1 keeps all.
    fn queue_max(&self, kind: BucketKind) -> Result<usize, RuleError> {
        let capacity = match kind {
            BucketKind::Leaky { capacity, .. } => capacity as usize,
            BucketKind::Trigger => 0,
            BucketKind::Counter { .. } => usize::MAX - 1,
            BucketKind::Conditional { .. } => {
                let capacity = self.integer("capacity")?.unwrap_or(0);
                usize::try_from(capacity).unwrap_or(usize::MAX).min(usize::MAX - 1)
            }
        };
        let cache = self.integer("cache_size")?.and_then(|size| usize::try_from(size).ok());
        let cache = cache.filter(|size| *size > 0).unwrap_or(capacity);
        Ok(capacity.min(cache) + 1)
    }

    fn expression(
        &self,
        key: &str,
        names: &mut ScenarioNames<'_, '_>,
        compile: fn(&str, &mut dyn super::expression::Names) -> Result<Expression, RuleError>,
    ) -> Result<Option<Expression>, RuleError> {
        match self.scalar(key) {
            Some((value, _)) => compile_in(self.text, value, names, compile).map(Some),
            None => Ok(None),
        }
    }

    fn scope(&self, names: &mut ScenarioNames<'_, '_>) -> Result<Scope, RuleError> {
        let Some(Yaml { value: YamlValue::Mapping(pairs), .. }) = self.get("scope") else {
            return Ok(Scope::Address);
        };
        let get = |key| pairs.iter().find(|(name, _)| name.scalar() == Some(key));
        let kind = get("type").and_then(|(_, value)| value.scalar()).unwrap_or_default();
        match (kind, get("expression")) {
            ("" | "Ip" | "ip", _) => Ok(Scope::Address),
            ("Range" | "range", _) => {
                let message = "the scope Range needs a database of networks and is not supported";
                Err(RuleError::new(get("type").map_or(0..0, |pair| pair.1.range.clone()), message))
            }
            (_, Some((_, expression))) => {
                compile_in(self.text, expression, names, Expression::of_text).map(Scope::Other)
            }
            (other, None) => {
                let message = format_args!("the scope `{other}` needs an `expression`; add it");
                Err(RuleError::new(get("type").map_or(0..0, |pair| pair.1.range.clone()), message))
            }
        }
    }

    /// Whether the labels ask for a remediation, which CrowdSec's default profile requires for a
    /// ban.
    fn is_remediated(&self) -> bool {
        let Some(Yaml { value: YamlValue::Mapping(labels), .. }) = self.get("labels") else {
            return false;
        };
        let is_set = |(name, value): &(Yaml, Yaml)| {
            name.scalar() == Some("remediation") && value.scalar() == Some("true")
        };
        labels.iter().any(is_set)
    }
}

/// Compiles the expression in a scalar. Errors and notes are positioned in the whole text.
fn compile_in(
    text: &str,
    value: &Yaml,
    names: &mut ScenarioNames<'_, '_>,
    compile: fn(&str, &mut dyn super::expression::Names) -> Result<Expression, RuleError>,
) -> Result<Expression, RuleError> {
    let known = names.unknown.len();
    let placed = |error: RuleError| RuleError {
        range: value.place(text, &error.range),
        message: error.message,
    };
    let compiled = compile(value.scalar().unwrap_or_default(), names).map_err(placed);
    for note in &mut names.unknown[known..] {
        note.range = value.place(text, &note.range);
    }
    compiled
}
