//! The limits of one rule file.

use std::fmt;
use std::sync::Arc;

use weir_core::{Field, Record};
use weir_rules::{
    CannotEnforce, Gate, GateDecision, GateOptions, GateUsage, Place, Rule, RuleError, RuleFiles,
    parse_rules,
};
use weir_sync::Lock;

use super::arrival::{Arrival, ExtraField, fields};
use super::settings::{LimitConfig, LimitMode};
use super::verdict_words;

/// The rules of a file and their state.
#[derive(Debug)]
pub(crate) struct Limit {
    config: LimitConfig,
    gates: Vec<RuleGate>,
}

/// The gate of one rule.
#[derive(Debug)]
struct RuleGate {
    /// The extra fields that the rule reads, in the order of the record's extra fields.
    extra: Vec<ExtraField>,
    phase: LimitPhase,
    gate: Arc<SharedGate>,
}

/// When a rule counts a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitPhase {
    /// Before its token is verified, which is work.
    BeforeToken,
    /// After that, because the rule depends on the subject or a claim.
    AfterToken,
}

/// A gate that requests share. A decision takes less than a microsecond, so one lock is enough for
/// the load of one machine.
struct SharedGate(Lock<Box<dyn Gate>>);

/// Why a rule of a file cannot be enforced.
#[derive(Debug)]
pub(crate) enum LimitProblem {
    /// The file cannot be read as rules.
    Parse(RuleError),
    /// The rule of this name needs a header field, a cookie or a claim whose name is not valid.
    FieldName(String),
    /// The rule of this name has no gate.
    Gate(String, CannotEnforce),
}

impl fmt::Display for LimitProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(formatter),
            Self::FieldName(rule) => {
                write!(
                    formatter,
                    "{rule}: the name of a header field, a cookie or a claim is not valid"
                )
            }
            Self::Gate(rule, error) => write!(formatter, "{rule}: {error}"),
        }
    }
}

/// A slot of a concurrency limit, released on drop.
#[derive(Debug)]
pub(crate) struct SlotGuard {
    gate: Arc<SharedGate>,
    place: Option<Place>,
}

impl Limit {
    /// Creates the limit of a configuration. Rules with [`problems`](Self::problems) are skipped.
    pub(crate) fn new(config: &LimitConfig) -> Self {
        let gates = gates(config).into_iter().filter_map(Result::ok).collect();
        Self { config: config.clone(), gates }
    }

    /// Returns the reason for each rule of a file that cannot be enforced.
    pub(crate) fn problems(config: &LimitConfig) -> Vec<LimitProblem> {
        gates(config).into_iter().filter_map(Result::err).collect()
    }

    pub(crate) fn config(&self) -> &LimitConfig {
        &self.config
    }

    /// Whether it has rules of a phase.
    pub(super) fn has(&self, phase: LimitPhase) -> bool {
        self.gates.iter().any(|gate| gate.phase == phase)
    }

    /// Whether it counts a request whose route names these limits.
    pub(super) fn is_among(&self, named: &[String]) -> bool {
        self.config.name.as_ref().is_none_or(|name| named.contains(name))
    }

    /// The usage of all its rules together.
    /// Returns the names of its limits, each with the verdicts that it can pronounce.
    pub(super) fn verdicts(&self) -> Vec<(Arc<str>, &'static str)> {
        let mut verdicts = Vec::new();
        for RuleGate { gate, .. } in &self.gates {
            for limit in gate.0.lock().limits() {
                let is_enforced = self.config.mode == LimitMode::Enforce && !limit.is_dry_run;
                let words = verdict_words(is_enforced);
                verdicts.extend([words.rejected, words.delayed].map(|it| (limit.name.into(), it)));
            }
        }
        verdicts
    }

    pub(super) fn usage(&self) -> GateUsage {
        let mut usage = GateUsage::default();
        for RuleGate { gate, .. } in &self.gates {
            usage.add(gate.0.lock().usage());
        }
        usage
    }

    /// Counts a request in each rule of a phase, until `take` returns false. `record` has no extra fields, and
    /// serves the rules that need none.
    pub(super) fn decide(
        &self,
        arrival: &Arrival<'_>,
        record: &Record<'_>,
        (phase, now_ns): (LimitPhase, i64),
        take: &mut dyn FnMut(&GateDecision<'_>, Option<SlotGuard>) -> bool,
    ) {
        let of_phase = self.gates.iter().filter(|gate| gate.phase == phase);
        for RuleGate { extra, gate, .. } in of_phase {
            let values = arrival.extra(extra);
            let own = (!extra.is_empty()).then(|| arrival.record(&values, now_ns));
            let mut locked = gate.0.lock();
            let mut decision = locked.decide(own.as_ref().unwrap_or(record), now_ns);
            let place = decision.place.take();
            let place = place.map(|place| SlotGuard { gate: gate.clone(), place: Some(place) });
            if !take(&decision, place) {
                return;
            }
        }
    }
}

fn gates(config: &LimitConfig) -> Vec<Result<RuleGate, LimitProblem>> {
    let name = config.rule_file.file_stem().unwrap_or_default().to_string_lossy();
    match parse_rules(&config.text, &name, None, &RuleFiles::default()) {
        Ok(rules) => rules.iter().map(|rule| RuleGate::new(&**rule)).collect(),
        Err(error) => vec![Err(LimitProblem::Parse(error))],
    }
}

impl RuleGate {
    fn new(rule: &dyn Rule) -> Result<Self, LimitProblem> {
        let mut names = rule.named_fields();
        names.retain(|name| ExtraField::is_name(name));
        let extra: Option<Vec<ExtraField>> =
            names.iter().map(|name| ExtraField::new(name)).collect();
        let extra = extra.ok_or_else(|| LimitProblem::FieldName(rule.name().to_owned()))?;
        let needs_user =
            rule.named_fields().iter().any(|it| Field::by_name(it) == Some(Field::User));
        let needs_token = needs_user || extra.iter().any(ExtraField::is_of_token);
        let phase = if needs_token { LimitPhase::AfterToken } else { LimitPhase::BeforeToken };
        let gate = rule.gate(&fields(&names), GateOptions::default());
        let gate = gate.map_err(|error| LimitProblem::Gate(rule.name().to_owned(), error))?;
        Ok(Self { extra, phase, gate: Arc::new(SharedGate(Lock::new(gate))) })
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.gate.0.lock().release(place);
        }
    }
}

impl fmt::Debug for SharedGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SharedGate").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Limit;
    use crate::limits::{LimitConfig, LimitMode};

    #[test]
    fn rules_of_every_language_have_the_headers_that_they_name() {
        for (text, problem) in [
            ("limit_req_zone $http_x_key zone=a:1m rate=1r/s; limit_req zone=a;", None),
            ("limit_conn_zone $http_x_key zone=a:1m; limit_conn a 1;", None),
            ("limit 5 in 1m by http_x_key where http_x_other=a and path^=/api", None),
            ("deny where http_x_key=a", None),
            ("limit_req_zone $cookie_id zone=a:1m rate=1r/s; limit_req zone=a;", None),
            ("limit 5 in 1m by cookie_id", None),
            ("limit_req_zone $jwt_claim_plan zone=a:1m rate=1r/s; limit_req zone=a;", None),
            ("limit 5 in 1m by jwt_claim_realm_access.tenant where jwt_claim_plan=free", None),
            (
                "limit_req_zone $jwt_claim_ zone=a:1m rate=1r/s; limit_req zone=a;",
                Some("a: the name of a header field, a cookie or a claim"),
            ),
            ("limit_req_zone $ssl_client_s_dn zone=a:1m rate=1r/s; limit_req zone=a;", None),
            ("limit 5 in 1m by ssl_client_s_dn", None),
            ("limit 5 in 1m where status=404", Some("a: `status` is only known")),
        ] {
            let config = LimitConfig {
                rule_file: "a.conf".into(),
                name: None,
                text: text.to_owned(),
                mode: LimitMode::Shadow,
            };
            let problems = Limit::problems(&config);
            let expected: Vec<&str> = problem.into_iter().collect();
            let starts =
                problems.iter().zip(&expected).all(|(it, start)| it.to_string().starts_with(start));
            assert!(starts && problems.len() == expected.len(), "{text}: {problems:?}");
        }
    }
}
