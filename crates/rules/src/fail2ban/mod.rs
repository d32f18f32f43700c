//! Jails and filters of fail2ban.
//!
//! The failures, the counts and the bans are those of fail2ban 1.0.2 over the same file, with the
//! time of each line as the present: its `Filter`, `FailManager` and `BanManager`. The module
//! documentation of the parts names the files that they follow.

mod address;
mod bans;
mod configuration;
mod connections;
mod date;
mod estimator;
mod evidence;
mod jail;
mod observer;
mod pattern;
mod replay;
mod summary;
mod times;

use std::fmt::Write;

use weir_core::RecordFields;

use self::date::DateTemplates;
use self::jail::{Jail, JailError};
use self::observer::FailureObserver;
use self::replay::JailReplay;
use crate::error::{ParseError, RuleError};
use crate::evidence::{LineTally, LogCounts, LookedAt};
use crate::files::RuleFiles;
use crate::rule::{Family, MissingField, Observer, Replay, Rule};
use crate::settings::RuleSettings;

pub(crate) use configuration::{looks_like, missing_files};

/// Reads the jails of a text. The first one names those that cannot be replayed.
///
/// # Errors
/// If the text or a pattern is not valid, or names a file that is missing, there are more than
/// `rules_max` jails, or none can be replayed.
pub(crate) fn parse(
    text: &str,
    name: &str,
    files: &RuleFiles,
    rules_max: usize,
) -> Result<Vec<Box<dyn Rule>>, ParseError> {
    let definitions = configuration::read(text, name, files, rules_max)?;
    let mut templates = DateTemplates::within(files.budget());
    let (mut jails, mut unsupported) = (Vec::new(), Vec::new());
    for definition in &definitions {
        if let Some(error) = &definition.without_filter {
            unsupported.push((&definition.name, error.clone()));
            continue;
        }
        match Jail::new(definition, &mut templates, files.budget()) {
            Ok(jail) => jails.push(jail),
            Err(JailError::Unsupported(error)) => unsupported.push((&definition.name, error)),
            Err(JailError::Wrong(error)) => return Err(error.into()),
        }
    }
    match (jails.first_mut(), unsupported.is_empty()) {
        (Some(first), _) => {
            let omitted = unsupported.into_iter().map(|(name, error)| {
                let message = format!("the jail [{name}] is not followed: {}", error.message);
                RuleError { message, ..error }
            });
            first.omitted = omitted.collect();
        }
        (None, false) => return Err(unsupported.remove(0).1.into()),
        (None, true) => {}
    }
    Ok(jails.into_iter().map(|jail| Box::new(jail) as Box<dyn Rule>).collect())
}

impl Jail {
    /// Makes a note about the settings that have defaults.
    fn default_notes(&self) -> Vec<String> {
        match &self.defaults[..] {
            [] => Vec::new(),
            defaults => {
                let names = defaults.join(", ");
                vec![format!("not set, so the defaults of fail2ban's jail.conf hold: {names}")]
            }
        }
    }
}

impl Rule for Jail {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::Fail2ban
    }

    fn description(&self) -> String {
        let limits = &self.limits;
        let mut text = format!(
            "maxretry={} findtime={} bantime={}",
            limits.max_retry, limits.find_time_s, limits.ban_time_s
        );
        if limits.increment.is_some() {
            text += " bantime.increment=true";
        }
        let patterns = self.filter.failures.len();
        let _ = write!(text, ", {patterns} failregex");
        text
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn omitted_rules(&self) -> &[RuleError] {
        &self.omitted
    }

    fn settings(&self) -> Option<RuleSettings> {
        Some(RuleSettings {
            threshold: self.limits.max_retry.into(),
            period_ns: (self.limits.find_time_s * 1e9) as u64,
            refill: None,
            trips_at_threshold: true,
        })
    }

    fn bind<'r>(&'r self, _: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        let message = "fail2ban matches whole lines, and only records are there";
        Err(MissingField::other(message))
    }

    fn observe_lines<'r>(&'r self) -> Option<Box<dyn Observer + 'r>> {
        Some(Box::new(FailureObserver::new(&self.filter)))
    }

    fn looked_at(&self, log: &LogCounts, tally: &LineTally, evaluated: u64) -> LookedAt {
        self.evidence(log, tally, evaluated)
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(JailReplay::new(self))
    }
}
