//! The limits that denials by counters stand for.

mod raised;

use weir_core::PatternBudget;

use super::super::Preset;
use super::condition::{Term, Test};
use super::configuration::{Configuration, Denial, Table, Track, is_of};
use super::counter::{Counter, CounterKind};
use super::request_condition::{alternatives, condition, without_earlier};
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, Limit};

const CONNECTIONS: &str = "the log has requests and not connections: each request counts as a \
                           connection, so a client that reuses its connections counts too often";
const ERRORS: &str = "HAProxy counts an answer when it comes, and rejects the next requests; here the \
                      answers over the rate are the ones that are rejected";
const OPENED: &str = "only new connections are rejected: the requests of open connections pass in \
                      HAProxy, and not here";

/// The answers that HAProxy counts as errors, and as failures.
const ERROR_STATUS: &str = "status=4xx";
const FAILURE_STATUS: &str = "status=5xx and not status=501,505";
const KEPT: &str =
    "the other requests of a client keep its entry from expiring in HAProxy, and not here";
const RAISED: &str = "only requests that raise the counter are rejected here; in HAProxy all requests \
                      of a client are";
const NEVER: &str =
    "a line before this one sends all requests to a backend, so this one does nothing";

const DENIAL: &str =
    "`http-request deny if { sc_http_req_rate(0) gt 20 }` for a counter that is tracked";

/// Makes the limits.
///
/// # Errors
/// If there is none.
pub(super) fn presets(
    configuration: Configuration<'_>,
    budget: &PatternBudget,
) -> Result<Vec<Preset>, RuleError> {
    let missing = |what: &str| RuleError::new(0..0, format!("there is no {what} in it"));
    if configuration.tables.is_empty() {
        return Err(missing("`stick-table` that stores http_req_rate(10s)"));
    }
    if configuration.tracks.is_empty() {
        return Err(missing("`http-request track-sc0 src`"));
    }
    let mut limits = Limits { configuration: &configuration, budget, notes: Vec::new() };
    let mut presets = Vec::new();
    for denial in &configuration.denials {
        presets.extend(limits.of_denial(denial)?);
        if presets.len() > PRESETS_MAX {
            let message = format!("there are more than {PRESETS_MAX} limits in it; leave some out");
            return Err(RuleError::new(0..0, message));
        }
    }
    let mut own_notes = limits.notes;
    own_notes.truncate(NOTES_MAX);
    if presets.is_empty() {
        return Err(own_notes.into_iter().next().unwrap_or_else(|| missing(DENIAL)));
    }
    for preset in &mut presets {
        preset.notes.extend(configuration.notes.iter().take(NOTES_MAX).chain(&own_notes).cloned());
    }
    Ok(presets)
}

/// The most limits of a text.
const PRESETS_MAX: usize = 256;

/// The most notes of each kind that a limit has.
const NOTES_MAX: usize = 100;

/// Makes limits of denials.
struct Limits<'c, 't> {
    configuration: &'c Configuration<'t>,
    budget: &'c PatternBudget,
    /// Notes about what is not followed, for all limits.
    notes: Vec<RuleError>,
}

impl<'c, 't> Limits<'c, 't> {
    fn of_denial(&mut self, denial: &'c Denial<'t>) -> Result<Vec<Preset>, RuleError> {
        let mut presets = Vec::new();
        let has_counter = denial.condition.iter().flatten().any(is_counter);
        for terms in denial.condition.iter().filter(|_| has_counter) {
            let Some(term) = terms.iter().find(|term| is_counter(term)) else {
                let message = "this condition is not followed: the rate alone decides here";
                self.notes.extend(terms.first().map(|term| term.place.error(message)));
                continue;
            };
            presets.extend(self.of_term(denial, terms, term)?);
        }
        Ok(presets)
    }

    /// The limit of a counter, and the other terms of its condition.
    fn of_term(
        &mut self,
        denial: &Denial<'t>,
        terms: &[Term<'t>],
        term: &Term<'t>,
    ) -> Result<Vec<Preset>, RuleError> {
        let Test::Counter(comparison) = &term.test else { return Ok(Vec::new()) };
        let place = term.place;
        if let CounterKind::General(_) = comparison.counter.kind {
            return self.of_general(denial, terms, term, comparison);
        }
        let count = comparison.count(term.is_negated)?;
        let others: Vec<&Term<'t>> =
            terms.iter().filter(|other| !std::ptr::eq(*other, term)).collect();
        let Some(track) = self.track(&comparison.counter) else { return Ok(Vec::new()) };
        let Some(mut preset) = self.limit(&comparison.counter, track, count)? else {
            return Ok(Vec::new());
        };
        let rejects = condition(
            &others,
            &mut preset.notes,
            "this condition is not followed: the rate alone decides here",
        );
        let Some(rejects) = without_earlier(rejects, &denial.earlier, &mut preset.notes) else {
            self.note(place.error(NEVER));
            return Ok(Vec::new());
        };
        self.set_rejects(&mut preset, rejects, place.start)?;
        if denial.is_of_connections && !is_about_connections(comparison.counter.kind) {
            preset.notes.push(comparison.counter.place.error(OPENED));
        }
        Ok(vec![preset])
    }

    /// Sets which requests are rejected, unless all that count meet the condition.
    fn set_rejects(
        &self,
        preset: &mut Preset,
        rejects: Option<String>,
        offset: usize,
    ) -> Result<(), RuleError> {
        let Some(rejects) = rejects else { return Ok(()) };
        let rejects = RuleCondition::parse(&rejects, self.budget)
            .map_err(|error| RuleError::new(offset..offset + 1, error.message))?;
        let counted = preset.limit.condition.as_ref().map(RuleCondition::text);
        if counted != Some(rejects.text()) {
            preset.limit.effect.rejects = Some(rejects);
        }
        Ok(())
    }

    /// The line that tracks a counter.
    fn track(&mut self, counter: &Counter<'_>) -> Option<&'c Track<'t>> {
        let mut tracks = self.configuration.tracks.iter().filter(|track| is_of(counter, track));
        let found = tracks.next();
        for other in tracks.filter(|_| counter.number.is_some()) {
            let message =
                format!("of several lines that track counter {}, the first is used", other.counter);
            self.note(other.place.error(message));
        }
        if found.is_none() {
            let message = "no line tracks this counter, so this line is not followed";
            self.note(counter.place.error(message));
        }
        found
    }

    fn note(&mut self, note: RuleError) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The table of a line that tracks.
    fn table(&self, track: &Track<'_>) -> Option<&'c Table<'t>> {
        let tables = &self.configuration.tables;
        let name = track.table.or(track.section);
        let is_named = |table: &&Table<'_>| match (table.name, name) {
            (Some(table), Some(name)) => {
                name == table || name.rsplit_once('/').is_some_and(|(_, name)| name == table)
            }
            (table, name) => table == name,
        };
        tables.iter().find(is_named).or(match &tables[..] {
            [only] if only.name.is_none() || track.table.is_none() => Some(only),
            _ => None,
        })
    }

    /// A limit of a counter of a line that tracks; `None` if it is not followed, which is noted.
    fn limit(
        &mut self,
        counter: &Counter<'t>,
        track: &'c Track<'t>,
        count: u64,
    ) -> Result<Option<Preset>, RuleError> {
        let mut notes = Vec::new();
        let table = self.table(track);
        let counted = alternatives(&track.condition, &mut notes, |notes| {
            let place = track.if_place.unwrap_or(track.place);
            notes.push(place.error("the condition is not followed: all requests are tracked"));
        });
        let (stored, of_answers) = match counter.kind {
            CounterKind::Rate(name @ ("gpc0_rate" | "gpc1_rate")) => {
                let Some(raised) = self.raised(counter, &mut notes) else { return Ok(None) };
                (name, raised)
            }
            CounterKind::General(number) => {
                let Some(raised) = self.raised(counter, &mut notes) else { return Ok(None) };
                if raised.is_some() {
                    notes.extend([KEPT, RAISED].map(|message| counter.place.error(message)));
                }
                (if number == 0 { "gpc0" } else { "gpc1" }, raised)
            }
            CounterKind::Count(name @ "http_err_cnt") => (name, Some(ERROR_STATUS.to_owned())),
            CounterKind::Count(name @ "http_fail_cnt") => (name, Some(FAILURE_STATUS.to_owned())),
            CounterKind::Count(name) => (name, None),
            CounterKind::Rate(name @ "http_err_rate") => (name, Some(ERROR_STATUS.to_owned())),
            CounterKind::Rate(name @ "http_fail_rate") => (name, Some(FAILURE_STATUS.to_owned())),
            CounterKind::Rate(name) => (name, None),
            CounterKind::ConnectionsAtOnce => ("conn_cur", None),
            CounterKind::Raise(_) | CounterKind::Unknown => {
                let message = "this counter is not followed, so this line is not";
                self.note(counter.place.error(message));
                return Ok(None);
            }
        };
        match counter.kind {
            CounterKind::Rate("http_err_rate" | "http_fail_rate") => {
                notes.push(counter.place.error(ERRORS));
            }
            CounterKind::Count("http_err_cnt" | "http_fail_cnt") => {
                notes.extend([ERRORS, KEPT].map(|message| counter.place.error(message)));
            }
            _ => {}
        }
        if is_about_connections(counter.kind) {
            notes.push(counter.place.error(CONNECTIONS));
        }
        let stores = table.map(|table| &table.stores[..]).unwrap_or_default();
        let Some((_, period_ns)) = stores.iter().find(|(name, _)| *name == stored) else {
            let message =
                format!("the table of this counter does not store {stored}, so it is 0 in HAProxy");
            self.note(counter.place.error(message));
            return Ok(None);
        };
        let expires = table.and_then(|table| Some((table.expire?, table.expire_ns)));
        let is_total = matches!(counter.kind, CounterKind::Count(_) | CounterKind::General(_));
        if let Some((expire, expire_ns)) = expires
            && expire_ns.is_none_or(|expire_ns| expire_ns < 2 * *period_ns)
        {
            let message = "an entry that expires before two periods are over is not followed";
            notes.insert(0, expire.error(message));
        }
        let conditions: Vec<String> =
            [counted, of_answers].into_iter().flatten().map(|it| format!("({it})")).collect();
        let text = match &conditions[..] {
            [] => None,
            [one] => Some(one[1..one.len() - 1].to_owned()),
            several => Some(several.join(" and ")),
        };
        let condition = text.map(|text| RuleCondition::parse(&text, self.budget)).transpose();
        let condition = condition.map_err(|error| counter.place.error(error.message))?;
        let algorithm = match counter.kind {
            CounterKind::ConnectionsAtOnce => Algorithm::Concurrency,
            _ if is_total => Algorithm::SincePause,
            _ => Algorithm::TwoPeriods,
        };
        let window_ns = match expires {
            Some((_, Some(expire_ns))) if is_total => expire_ns.min(Limit::WINDOW_NS_MAX),
            // An entry without `expire` stays.
            _ if is_total => Limit::WINDOW_NS_MAX,
            _ => *period_ns,
        };
        if count == 0 && algorithm == Algorithm::Concurrency {
            return Err(counter.place.error("a limit of 0 connections rejects everything"));
        }
        let limit = Limit {
            name: Some(match counter.number {
                Some(number) => format!("sc{number}"),
                None => counter.table.unwrap_or("src").to_owned(),
            }),
            key: track.key.clone(),
            condition,
            ..Limit::new(count, window_ns, algorithm)
        };
        Ok(Some(Preset { limit, notes }))
    }
}

/// Whether a term is about a counter that decides.
fn is_counter(term: &Term<'_>) -> bool {
    let Test::Counter(comparison) = &term.test else { return false };
    !matches!(comparison.counter.kind, CounterKind::Raise(_))
}

/// Whether a counter counts connections.
fn is_about_connections(kind: CounterKind) -> bool {
    matches!(kind, CounterKind::ConnectionsAtOnce | CounterKind::Rate("conn_rate" | "sess_rate"))
        || matches!(kind, CounterKind::Count("conn_cnt" | "sess_cnt"))
}
