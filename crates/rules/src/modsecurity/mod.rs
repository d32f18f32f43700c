//! Rules of ModSecurity that test the request line or a header that is in the log.
//!
//! Follows the reference manual of ModSecurity 2.9. [`language`] reads the lines, [`variable`]
//! finds the values in a record, [`transform`] and [`operator`] test them, and [`engine`] decides.
//! A rule with a part that a log does not have is not evaluated; it is counted and named.

mod decode;
mod engine;
mod exclusion;
mod expression;
mod language;
mod operator;
mod pcre;
mod rule_index;
#[cfg(test)]
mod set_tests;
#[cfg(test)]
mod tests;
mod transaction;
mod transform;
mod variable;

use std::collections::BTreeMap;
use std::fmt::Write;

use weir_core::{Field, RecordFields};

use self::engine::Rules;
use self::language::{Disruption, SecRule};
pub(crate) use self::language::{looks_like, missing_files};
use self::variable::{Source, needed_field};
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
    /// The number of rules that cannot be evaluated.
    untold: usize,
    /// The number of rules that may match a part of a request that is not in the log.
    partial: usize,
}

impl ModSecurity {
    /// Reads the rules.
    ///
    /// # Errors
    /// If one is not well formed, or there is none.
    pub(crate) fn parse(text: &str, name: &str, files: &RuleFiles) -> Result<Self, RuleError> {
        let (directives, mut notes) = language::parse(text, files)?;
        let mut rules = Rules::new(directives)?;
        if rules.count == 0 {
            return Err(RuleError::new(0..0, "there is no `SecRule` in it, or all are removed"));
        }
        notes.extend(add_crs_set_up(&mut rules));
        let has_obstacle = |links: &&[SecRule]| links.iter().any(|link| link.obstacle.is_some());
        let untold = rules.all().filter(has_obstacle).count();
        let is_partial = |links: &&[SecRule]| {
            links.iter().all(|link| link.obstacle.is_none())
                && links.iter().any(|link| !link.missing.is_empty())
        };
        let partial = rules.all().filter(is_partial).count();
        Ok(Self { name: name.to_owned(), rules, notes, untold, partial })
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
        match self.untold {
            0 => rules,
            untold => format!("{rules}, {untold} of which cannot be told from this log"),
        }
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn left_out(&self) -> Vec<LeftOutRules> {
        let mut by_reason: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
        for links in self.rules.all() {
            let Some(obstacle) = links.iter().find_map(|link| link.obstacle.as_ref()) else {
                continue;
            };
            let (rules, ids) = by_reason.entry(obstacle.to_string()).or_default();
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
        let (mut lacking, mut first_error, mut is_useful) = (Vec::new(), None, false);
        for links in self.rules.all() {
            let variables = links.iter().flat_map(|link| &link.variables);
            let needed = variables.filter(|variable| !variable.is_excluded);
            let needed = needed.filter_map(|variable| needed_field(&variable.source));
            let templates = links.iter().filter_map(|link| link.dynamic_operator.as_ref());
            let of_operators = templates.flat_map(|(_, argument)| argument.needed_fields());
            let needed: Vec<&str> = needed.chain(of_operators).collect();
            let error = needed.iter().find_map(|name| fields.accessor(name).err());
            let is_told = links.iter().all(|link| link.obstacle.is_none());
            lacking.push(error.is_some());
            is_useful |= is_told && !needed.is_empty() && error.is_none();
            if let Some(error) = error.filter(|_| is_told && first_error.is_none()) {
                first_error = Some(format!("{}: {error}", title(&links[0])));
            }
        }
        if let Some(message) = first_error.filter(|_| !is_useful) {
            return Err(MissingField::other(message));
        }
        Ok(Box::new(ModSecurityObserver { rule: self, fields: fields.clone(), lacking }))
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

/// Whether a rule that cannot be told keeps others from being evaluated.
fn may_let_pass(links: &[SecRule]) -> bool {
    let ends = |link: &SecRule| {
        matches!(link.disruption, Disruption::Allow(_))
            || link.skip_after.is_some()
            || !link.controls.is_empty()
    };
    links.iter().any(|link| link.obstacle.is_some()) && links.iter().any(ends)
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
        let mut notes = Vec::new();
        let abandoned = self.rules.abandoned();
        if abandoned > 0 {
            notes.push(format!(
                "{} took too many steps and were abandoned, as if they had found nothing",
                number(abandoned, "comparison with an expression")
            ));
        }
        if self.untold > 0 {
            notes.push(format!(
                "{} cannot be told from this log; a request that passed may meet one",
                number(self.untold as u64, "rule")
            ));
        }
        let lenient = self.rules.all().filter(|links| may_let_pass(links)).count();
        if lenient > 0 {
            notes.push(format!(
                "{lenient} of them would end or exclude other rules, so a request that is shown \
                 as rejected may pass"
            ));
        }
        if self.partial > 0 {
            let missing = self.rules.all().flatten().flat_map(|link| &link.missing);
            let mut missing: Vec<&str> = missing.map(String::as_str).collect();
            missing.sort_unstable();
            missing.dedup();
            notes.push(format!(
                "parts of a request that may not be in this log ({}) are tested by {}, which may \
                 match there",
                missing.join(", "),
                number(self.partial as u64, "rule")
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

    fn exactness(&self) -> Exactness {
        if self.untold + self.partial > 0 || self.rules.abandoned() > 0 {
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
    fields: RecordFields,
    /// By rule: whether the records lack a field that it needs.
    lacking: Vec<bool>,
}

impl Observer for ModSecurityObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let rules = &self.rule.rules;
        let evaluation = rules.evaluate(record, &self.fields, &self.lacking);
        let matched = MatchedEntries::pack(evaluation.score, &evaluation.matched);
        let client = record.text(Field::Client).unwrap_or_default();
        let time_ns = record.time.map(|time| time.unix_ns);
        let tag = evaluation.denied.unwrap_or(NO_ENTRY);
        let head = EventHead { line: line.number, time_ns, duration_ns: 0, tag };
        events.put(head, [client, &matched]);
    }
}
