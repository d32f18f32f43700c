//! Rules of ModSecurity that test the request line or a header that is in the log.
//!
//! Follows the reference manual of ModSecurity 2.9. [`language`] reads the directives, whose lines
//! [`arguments`] splits, and [`sec_rule`] the rules. [`variable`] finds the values in a record,
//! [`transform`] and [`operator`] test them as a [`link`] says, and [`engine`] decides. A rule that
//! tests nothing that the records have ([`binding`]) is not evaluated; it is counted and named.

mod arguments;
mod binding;
mod decode;
mod engine;
mod exclusion;
mod expression;
mod language;
mod link;
mod operator;
mod pcre;
#[cfg(test)]
mod reference_tests;
mod request;
mod rule_index;
mod sec_rule;
#[cfg(test)]
mod set_tests;
#[cfg(test)]
mod tests;
mod transaction;
mod transform;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use weir_core::{Field, RecordFields};

use self::binding::{Binding, Bindings, lack};
pub(crate) use self::decode::base64_decode;
use self::engine::Rules;
pub(crate) use self::language::{looks_like, missing_files};
use self::sec_rule::{Disruption, SecRule};
use self::transaction::{VARIABLES_BYTES_MAX, WORK_MAX};
use self::variable::Source;
use crate::deny_replay::{DenyReplay, Entries, MatchedEntries, NO_ENTRY};
use crate::error::RuleError;
use crate::event::{EventHead, Events};
use crate::files::RuleFiles;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::report::{Exactness, LeftOutRules};
use crate::rule::{Family, Line, MissingField, Observer, Replay, Rule};

/// The most rules whose matches are listed.
const LISTED_MAX: usize = 20;

/// The most ids that are listed of the rules that are left out for one reason.
const LEFT_OUT_IDS_MAX: usize = 5;

/// The variable that the set-up file of the OWASP Core Rule Set sets, and its other files test.
const CRS_SET_UP: &str = "crs_setup_version";

/// The rules of a configuration.
#[derive(Debug)]
pub(crate) struct ModSecurity {
    name: String,
    rules: Rules,
    notes: Vec<RuleError>,
    /// What the records of this replay have.
    bindings: Bindings,
}

impl ModSecurity {
    /// Reads the rules.
    ///
    /// # Errors
    /// If one is not well formed, or there is none.
    pub(crate) fn parse(text: &str, name: &str, files: &RuleFiles) -> Result<Self, RuleError> {
        let (directives, mut notes) = language::parse(text, files)?;
        let mut rules = Rules::new(directives, files.budget())?;
        if rules.count == 0 {
            return Err(RuleError::new(0..0, "there is no `SecRule` in it, or all are removed"));
        }
        notes.extend(add_crs_set_up(&mut rules));
        Ok(Self { name: name.to_owned(), rules, notes, bindings: Bindings::default() })
    }

    /// The rules that cannot be evaluated, and for each the reason.
    fn untold(&self) -> impl Iterator<Item = (&[SecRule], String)> {
        let bindings = self.bindings.all();
        (0..).zip(self.rules.all()).filter_map(move |(number, links)| {
            let obstacle = links.iter().find_map(|link| link.obstacle.as_ref());
            let reason = obstacle.map(ToString::to_string).or_else(|| lack(&bindings, number))?;
            Some((links, reason))
        })
    }

    /// The numbers of the rules that may match a part of a request that is not in the log, and the
    /// names of these parts.
    fn partial(&self) -> (BTreeSet<u32>, BTreeSet<String>) {
        let bindings = self.bindings.all();
        let numbers = bindings.iter().flat_map(|binding| binding.partial.iter().copied());
        let missing = bindings.iter().flat_map(|binding| binding.missing.iter().cloned());
        (numbers.collect(), missing.collect())
    }
}

/// Makes the Core Rule Set run without its set-up file, without which it denies every request: all
/// that the file sets has a default there. Returns a note that says so, or that the file is too late.
fn add_crs_set_up(rules: &mut Rules) -> Option<RuleError> {
    let tests = |rule: &SecRule| {
        rule.variables.iter().any(|variable| match &variable.source {
            Source::Transaction(names) => names.single() == Some(CRS_SET_UP),
            _ => false,
        })
    };
    let sets = |rule: &SecRule| rule.sets.iter().any(|set| set.name == CRS_SET_UP);
    let test = rules.all().position(|links| links.iter().any(tests))?;
    let place = rules.all().nth(test).and_then(|links| links.first())?.range.clone();
    if let Some(set_up) = rules.all().position(|links| links.iter().any(sets)) {
        let message = "the set-up file of the OWASP Core Rule Set comes after this rule, which \
                       rejects every request without it; include crs-setup.conf first";
        return (set_up > test).then(|| RuleError::new(place, message));
    }
    rules.initial.push((CRS_SET_UP.to_owned(), b"1".to_vec()));
    let message = "the set-up file of the OWASP Core Rule Set, crs-setup.conf, is not among the \
                   rules, so its defaults are used: paranoia level 1, and a score of 5 is \
                   rejected. Without the file, ModSecurity itself rejects every request";
    Some(RuleError::new(place, message))
}

fn title(rule: &SecRule) -> String {
    match &*rule.id {
        "" => "the rule".to_owned(),
        id => format!("rule {id}"),
    }
}

impl Rule for ModSecurity {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::ModSecurity
    }

    fn description(&self) -> String {
        let rules = number(self.rules.count.into(), "rule");
        match self.untold().count() {
            0 => rules,
            untold => format!("{rules}, {untold} of which cannot be told from this log"),
        }
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn left_out(&self) -> Vec<LeftOutRules> {
        let mut by_reason: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
        for (links, reason) in self.untold() {
            let (rules, ids) = by_reason.entry(reason).or_default();
            *rules += 1;
            if ids.len() < LEFT_OUT_IDS_MAX && !links[0].id.is_empty() {
                ids.push(links[0].id.clone());
            }
        }
        let group = |(reason, (rules, first_ids))| LeftOutRules { reason, rules, first_ids };
        let mut groups: Vec<LeftOutRules> = by_reason.into_iter().map(group).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.rules));
        groups
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        let binding = self.bindings.get(&self.rules, fields);
        match &binding.error {
            Some(error) => Err(MissingField::other(error)),
            None => Ok(Box::new(ModSecurityObserver { rule: self, binding })),
        }
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(DenyReplay::new(self))
    }

    fn gate(&self, _: &RecordFields, _: GateOptions) -> Result<Box<dyn Gate>, CannotEnforce> {
        Err(CannotEnforce::new(
            "rules of ModSecurity are read for what a log has, which is less than a request, such as \
             no body; enforce them in ModSecurity",
        ))
    }
}

/// Whether a rule keeps others from being evaluated.
fn may_let_pass(links: &[SecRule]) -> bool {
    let ends = |link: &SecRule| {
        matches!(link.disruption, Disruption::Allow(_))
            || link.skip_after.is_some()
            || !link.controls.is_empty()
    };
    links.iter().any(ends)
}

/// A number of things.
fn number(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

impl Entries for ModSecurity {
    fn denies(&self, entry: u32) -> bool {
        entry < self.rules.count
    }

    fn texts(&self) -> Vec<Option<String>> {
        self.rules.all().map(|links| Some(title(&links[0]))).collect()
    }

    fn ids(&self) -> Option<Vec<&str>> {
        Some(self.rules.all().map(|links| &*links[0].id).collect())
    }

    fn notes(&self, matches: &[u64]) -> Vec<String> {
        self.bindings.end_replay();
        let mut notes = Vec::new();
        let abandoned = self.rules.abandoned();
        if abandoned > 0 {
            notes.push(format!(
                "{} took too many steps and were abandoned, as if they had found nothing",
                number(abandoned, "comparison with an expression")
            ));
        }
        let cut = self.rules.cut();
        if cut > 0 {
            notes.push(format!(
                "{} took too much work, more than {} MiB of compared text or {} MiB of variables, \
                 and passed without the rest of the rules, which may match",
                number(cut, "request"),
                WORK_MAX >> 20,
                VARIABLES_BYTES_MAX >> 20
            ));
        }
        let untold = self.untold().count() as u64;
        if untold > 0 {
            notes.push(format!(
                "{} cannot be told from this log; a request that passed may meet one",
                number(untold, "rule")
            ));
        }
        let lenient = self.untold().filter(|(links, _)| may_let_pass(links)).count();
        if lenient > 0 {
            notes.push(format!(
                "{lenient} of them would end or exclude other rules, so a request that is shown \
                 as rejected may pass"
            ));
        }
        let (partial, missing) = self.partial();
        if !partial.is_empty() {
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            notes.push(format!(
                "parts of a request that are not in this log ({}) are tested by {}, which may \
                 match there",
                missing.join(", "),
                number(partial.len() as u64, "rule")
            ));
        }
        let mut matched: Vec<(u64, &[SecRule])> =
            matches.iter().copied().zip(self.rules.all()).filter(|(count, _)| *count > 0).collect();
        matched.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        for (count, links) in matched.iter().take(LISTED_MAX) {
            let mut note = format!("{} matched {}", title(&links[0]), number(*count, "request"));
            if links[0].disruption != Disruption::Deny {
                let _ = write!(note, ", and lets them pass");
            }
            notes.push(note);
        }
        notes
    }

    fn exactness(&self, _: &[u64]) -> Exactness {
        let is_untold = self.untold().next().is_some() || !self.partial().0.is_empty();
        if is_untold || self.rules.abandoned() + self.rules.cut() > 0 {
            Exactness::Bounded
        } else {
            Exactness::Exact
        }
    }
}

/// Emits an event for each request: the number of the rule that denies it, the client, and the
/// numbers of the rules that match.
struct ModSecurityObserver<'r> {
    rule: &'r ModSecurity,
    binding: Arc<Binding>,
}

impl Observer for ModSecurityObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let evaluation = self.rule.rules.evaluate(record, &self.binding);
        let matched = MatchedEntries::pack(evaluation.score, &evaluation.matched);
        let client = record.text(Field::Client).unwrap_or_default();
        let time_ns = record.time.map(|time| time.unix_ns);
        let tag = evaluation.denied.unwrap_or(NO_ENTRY);
        let head = EventHead { line: line.number, time_ns, duration_ns: 0, tag };
        events.put(head, [client, &matched]);
    }
}
