//! Makes the answers about rules of their replays.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use weir_core::{LogSource, Snapshots};
use weir_rules::{LimitSweep, LineTally, Replay, Rule, RuleReport};
use weir_view::{ClientProfile, Collateral, LimitAdvice, ReplayedRule};

use super::row_replay::{ReplayResult, RowReplay, RowsReplayed};
use super::{RuleAnswer, RuleQueryError};
use crate::advice::{advice, grid};
use crate::clients::ClientTraits;
use crate::collateral::{collateral, good_peaks};
use crate::limit_curve::limit_curve;
use crate::snapshot_work::Interruption;
use crate::source_lines::LineReport;
use crate::suggested_setting::{KeyClient, suspects};

/// The most keys, bans and alerts each of a rule whose clients are described.
const PROFILES_MAX: usize = 500;

impl<D: Snapshots> RowReplay<'_, D> {
    /// Answers for all rules. `reports` has those of the rules that look at lines.
    pub(super) fn run_all(
        &self,
        rules: &[&dyn Rule],
        reports: &[Result<LineReport, RuleQueryError>],
    ) -> ReplayResult<Vec<RuleAnswer>> {
        let has_traits = self.options.has_grid || self.options.has_collateral;
        let networks = &self.options.good_networks;
        let traits = has_traits.then(|| ClientTraits::of(self.work, networks)).transpose()?;
        let mut reports = reports.iter();
        let answer = |rule: &&dyn Rule| match rule.observe_lines().and_then(|_| reports.next()) {
            Some(Ok(report)) => {
                Ok(self.answer_of_report(*rule, report.clone(), traits.as_ref())?)
            }
            Some(Err(error)) => Ok(self.unanswered(*rule, error.clone())?),
            None => match self.over_rows(*rule)? {
                Ok(rows) => Ok(self.answer(*rule, rows, traits.as_ref())?),
                Err(missing) => Ok(self.unanswered(*rule, RuleQueryError::MissingField(missing))?),
            },
        };
        rules.iter().map(answer).collect()
    }

    /// Returns the empty answer of a rule that was not replayed.
    fn unanswered(
        &self,
        rule: &dyn Rule,
        error: RuleQueryError,
    ) -> Result<RuleAnswer, Interruption> {
        let (report, tally) = (rule.replay().finish(None), LineTally::default());
        let answer = self.answer_of_report(rule, LineReport { report, tally }, None)?;
        let rule = answer.rule.not_evaluated(&error);
        Ok(RuleAnswer { rule, unanswered: Some(error), ..answer })
    }

    fn answer(
        &self,
        rule: &dyn Rule,
        rows: RowsReplayed<'_>,
        traits: Option<&ClientTraits>,
    ) -> Result<RuleAnswer, Interruption> {
        let RowsReplayed { replay, unknown_records, left_out } = rows;
        let sweep = replay.sweep();
        let (advice, good_peaks) = match (&sweep, traits) {
            (Some(sweep), Some(traits)) => {
                (self.advice(&*replay, sweep, traits)?, self.good_peaks(&*replay, sweep, traits)?)
            }
            _ => (None, Vec::new()),
        };
        let grid = sweep
            .as_ref()
            .filter(|_| self.options.has_grid)
            .map(|sweep| grid(sweep, advice, self.work.jobs, self.work.abandoned))
            .transpose()?;
        let (report, tally) = (replay.finish(None), LineTally::default());
        let answer = self.answer_of_report(rule, LineReport { report, tally }, traits)?;
        let collateral = answer.collateral.map(|found| Collateral { peaks: good_peaks, ..found });
        let curve = sweep.as_ref().map(limit_curve);
        let rule = answer.rule.without_parts(left_out);
        Ok(RuleAnswer { rule, curve, grid, collateral, sweep, unknown_records, ..answer })
    }

    /// Returns the answer of a rule that has a report only.
    fn answer_of_report(
        &self,
        rule: &dyn Rule,
        LineReport { report, tally }: LineReport,
        traits: Option<&ClientTraits>,
    ) -> Result<RuleAnswer, Interruption> {
        // Sources that were removed leave gaps.
        let mut names = Vec::new();
        for (place, source) in self.work.snapshot.sources.iter().enumerate() {
            let number = source.number().map_or(place, |number| number as usize);
            names.resize(number.max(names.len()), String::new());
            names.push(source.name().to_owned());
        }
        let traits = traits.filter(|_| self.options.has_collateral);
        let collateral = match traits {
            Some(traits) => self.work.with_values(|values| collateral(&report, traits, values))?,
            None => None,
        };
        let caught = if self.options.has_caught { caught(&report) } else { Vec::new() };
        let mut rule = ReplayedRule::new(rule, report, &self.log, &tally, &names);
        if let Some(traits) = traits {
            rule.clients = self.profiles(&rule, traits)?;
        }
        Ok(RuleAnswer {
            curve: None,
            grid: None,
            collateral,
            caught,
            rule,
            sweep: None,
            unknown_records: 0,
            unanswered: None,
        })
    }

    /// Returns the advice about a limit, if a grid is asked for.
    fn advice(
        &self,
        replay: &dyn Replay,
        sweep: &LimitSweep,
        traits: &ClientTraits,
    ) -> Result<Option<LimitAdvice>, Interruption> {
        if !self.options.has_grid {
            return Ok(None);
        }
        let numbers = suspects(sweep);
        let key = |number: usize| replay.sweep_key(u32::try_from(number).ok()?);
        // The lock on the values is released before other settings are tried.
        let mut clients: HashMap<usize, KeyClient> = self.work.with_values(|values| {
            let client = |number: &usize| {
                let key = key(*number)?;
                let found = traits.assess(key, values)?;
                let (client, looks) = (String::from_utf8_lossy(key).into_owned(), found.looks());
                Some((*number, KeyClient { client, looks, is_spared: found.is_spared() }))
            };
            numbers.iter().filter_map(client).collect()
        })?;
        // Only these need all that their profiles take: what a client claims may not hold.
        let spared = clients.iter().filter(|(_, client)| client.is_spared);
        let spared: HashMap<&[u8], usize> =
            spared.filter_map(|(number, _)| Some((key(*number)?, *number))).collect();
        let keys: Vec<&[u8]> = spared.keys().copied().collect();
        if !keys.is_empty() {
            for profile in traits.profiles(self.work, &keys)? {
                if let Some(number) = spared.get(profile.client.as_bytes()) {
                    clients.insert(*number, KeyClient::from(&profile));
                }
            }
        }
        Ok(advice(sweep, &clients))
    }

    /// Returns the peaks of the good clients of a limit.
    fn good_peaks(
        &self,
        replay: &dyn Replay,
        sweep: &LimitSweep,
        traits: &ClientTraits,
    ) -> Result<Vec<f64>, Interruption> {
        if !self.options.has_collateral {
            return Ok(Vec::new());
        }
        let key = |number: usize| replay.sweep_key(u32::try_from(number).ok()?);
        self.work.with_values(|values| good_peaks(sweep, key, traits, values))
    }

    /// Returns who the first keys, bans and alerts of a rule are about.
    fn profiles(
        &self,
        rule: &ReplayedRule,
        traits: &ClientTraits,
    ) -> Result<Vec<ClientProfile>, Interruption> {
        let trips = rule.trips.iter().take(PROFILES_MAX).chain(&rule.closest);
        let bans = rule.bans.iter().take(PROFILES_MAX).map(|ban| &*ban.key);
        let alerts = rule.alerts.iter().take(PROFILES_MAX).map(|alert| &*alert.source);
        let keys = trips.map(|key| &*key.key).chain(bans).chain(alerts);
        let addresses: HashSet<&str> = keys.filter(|key| key.parse::<IpAddr>().is_ok()).collect();
        let keys: Vec<&[u8]> = addresses.into_iter().map(str::as_bytes).collect();
        if keys.is_empty() { Ok(Vec::new()) } else { traits.profiles(self.work, &keys) }
    }
}

/// Returns the keys with a rejected request, certain or likely, those farthest over the limit
/// first. A key may occur once for each limit of the rule.
fn caught(report: &RuleReport) -> Vec<Box<[u8]>> {
    let trips = report.trips.iter().filter(|trip| trip.is_likely());
    trips.map(|trip| trip.key.clone().into_boxed_slice()).collect()
}
