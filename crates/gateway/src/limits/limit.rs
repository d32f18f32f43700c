//! One file of rules.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use weir_core::Record;
use weir_rules::{Gate, GateDecision, GateOptions, GateUsage, Place, Rule, RuleFiles, parse_rules};

use super::arrival::{Arrival, ExtraField, fields};
use super::settings::LimitConfig;

/// The rules of a file, with what they have counted.
#[derive(Debug)]
pub(crate) struct Limit {
    config: LimitConfig,
    gates: Vec<RuleGate>,
}

/// One rule.
#[derive(Debug)]
struct RuleGate {
    /// What it looks at in the head of a request, in the order of the record's own fields.
    extra: Vec<ExtraField>,
    gate: Arc<SharedGate>,
}

/// A gate takes less than a microsecond, so one lock is enough for what one machine answers.
struct SharedGate(Mutex<Box<dyn Gate>>);

/// A place among the requests that are served at the same time. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldPlace {
    gate: Arc<SharedGate>,
    place: Option<Place>,
}

impl Limit {
    /// The limit of a configuration without [`Self::problems`]; rules with one are left out.
    pub(crate) fn new(config: &LimitConfig) -> Self {
        let gates = gates(config).into_iter().filter_map(Result::ok).collect();
        Self { config: config.clone(), gates }
    }

    /// Why the rules of a file cannot be enforced, a sentence for each.
    pub(crate) fn problems(config: &LimitConfig) -> Vec<String> {
        gates(config).into_iter().filter_map(Result::err).collect()
    }

    pub(crate) fn config(&self) -> &LimitConfig {
        &self.config
    }

    /// How full its rules are together.
    pub(super) fn usage(&self) -> GateUsage {
        let mut usage = GateUsage::default();
        for RuleGate { gate, .. } in &self.gates {
            usage.add(gate.0.lock().unwrap_or_else(PoisonError::into_inner).usage());
        }
        usage
    }

    /// Counts a request in each rule, until `take` returns false. `record` is that of a rule that looks at
    /// nothing else in its head.
    pub(super) fn decide(
        &self,
        (arrival, record): (&Arrival<'_>, &Record<'_>),
        now_ns: i64,
        take: &mut dyn FnMut(&GateDecision<'_>, Option<HeldPlace>) -> bool,
    ) {
        for RuleGate { extra, gate } in &self.gates {
            let own = (!extra.is_empty()).then(|| arrival.record(extra, now_ns));
            let mut locked = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut decision = locked.decide(own.as_ref().unwrap_or(record), now_ns);
            let place = decision.place.take();
            let place = place.map(|place| HeldPlace { gate: gate.clone(), place: Some(place) });
            if !take(&decision, place) {
                return;
            }
        }
    }
}

fn gates(config: &LimitConfig) -> Vec<Result<RuleGate, String>> {
    let name = config.rule_file.file_stem().unwrap_or_default().to_string_lossy();
    match parse_rules(&config.text, &name, None, &RuleFiles::default()) {
        Ok(rules) => rules.iter().map(|rule| RuleGate::new(&**rule)).collect(),
        Err(error) => vec![Err(error.to_string())],
    }
}

impl RuleGate {
    fn new(rule: &dyn Rule) -> Result<Self, String> {
        let mut names = rule.named_fields();
        names.retain(|name| ExtraField::is_name(name));
        let extra: Option<Vec<ExtraField>> =
            names.iter().map(|name| ExtraField::new(name)).collect();
        let extra = extra.ok_or_else(|| {
            format!("{}: a header field or a cookie has no valid name", rule.name())
        })?;
        let gate = rule.gate(&fields(&names), GateOptions::default());
        let gate = gate.map_err(|error| format!("{}: {error}", rule.name()))?;
        Ok(Self { extra, gate: Arc::new(SharedGate(Mutex::new(gate))) })
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.gate.0.lock().unwrap_or_else(PoisonError::into_inner).release(place);
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
            ("limit 5 in 1m where status=404", Some("a: `status` is only known")),
        ] {
            let config = LimitConfig {
                rule_file: "a.conf".into(),
                text: text.to_owned(),
                mode: LimitMode::Shadow,
            };
            let problems = Limit::problems(&config);
            let expected: Vec<&str> = problem.into_iter().collect();
            let starts = problems.iter().zip(&expected).all(|(it, start)| it.starts_with(start));
            assert!(starts && problems.len() == expected.len(), "{text}: {problems:?}");
        }
    }
}
