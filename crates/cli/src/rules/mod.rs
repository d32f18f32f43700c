//! `weir rules`: what firewall rules would have done with the traffic of logs.

mod arguments;
mod clients;
mod columns;
mod filter_folders;
mod jail_files;
mod load;
mod pass;
mod replays;
mod rule_text;
mod scan;
mod search;
mod suggestion;
mod text;
mod who;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use weir_ingest::Input;
use weir_query::{KeyClient, limit_curve, suggested_setting, suspects};
use weir_rules::{Family, LogCounts, Rule, RuleReport};
use weir_view::{CountedSource, CountedSources, IncompleteSource, ReplayedRule, RulesReport};

use arguments::FailOn;
pub(crate) use arguments::RulesArguments;

use self::load::{LoadedRules, RulePlace};
use self::pass::Pass;
use self::replays::{Replays, Swept};
use self::search::SettingSearch;
use self::who::{Who, good_networks};
use crate::display::safe;
use crate::messages::say_all;
use crate::options::{data_bytes_max, words};
use crate::outcome::{Exit, Failure, print, say};
use crate::report::{ReportArguments, print_blocks};
use crate::scan::{Conditions, ReadInput, inputs_of, report_unparsed};
use crate::sources::{self, Complaint};
use crate::zone;

/// The most keys, bans and alerts each of a rule whose clients JSON describes. The search for up to
/// a hundred texts is as fast as that for one.
const JSON_CLIENTS_MAX: usize = 100;

/// The most rules for which settings are suggested, because the logs are read several times for each.
const SUGGESTED_RULES_MAX: usize = 100;

/// The most lines that these rules look at together, each line counted once for each rule. A rule takes
/// about 8 s of a processor for each million, because it is replayed some fifteen times.
const SUGGESTED_LINES_MAX: u64 = 10_000_000;

/// Runs the command.
pub(crate) fn run(arguments: &RulesArguments) -> Result<Exit, Failure> {
    if arguments.rule_files.is_empty() && arguments.rule_texts.is_empty() {
        return run_without_rule(arguments);
    }
    let good_networks = good_networks(&arguments.good)?;
    let LoadedRules { rules, places, is_incomplete } = load::load(arguments)?;
    let inputs = inputs_of(&arguments.logs.files)?;
    let format = arguments.logs.format_choice()?;
    let (mut inputs, complaints) = sources::find(&inputs, &format);
    let zone = arguments.logs.zone()?;
    let conditions = Conditions::parse(&arguments.logs, zone.as_ref(), &mut inputs, &format)?;
    let texts = places.iter().flat_map(|place| words(place.text()));
    let names = conditions.field_names().chain(texts);
    let format = arguments.logs.derived().deriving(format, names, zone.as_ref())?;
    // As in a report, dates and local times of the conditions are in the zone of the log.
    let shown_zone = match (zone, arguments.json || arguments.decisions) {
        (None, false) => Some(zone::of_log(&mut inputs, &format)),
        (zone, _) => zone,
    };
    say_all(&complaints);
    let threads = arguments.logs.threads();
    let memory_bytes_max = data_bytes_max(arguments.memory.as_deref())?;
    let pass = Pass {
        inputs: &inputs,
        conditions: &conditions,
        format: &format,
        threads,
        memory_bytes_max,
    };
    let (mut replays, read_inputs) = pass.replay(&rules);
    let unparsed: Vec<_> = read_inputs.iter().flat_map(ReadInput::unparsed).collect();
    report_unparsed(&unparsed);
    let read_complaints: Vec<&Complaint> =
        read_inputs.iter().flat_map(|input| &input.complaints).collect();
    let mut has_failed = is_incomplete || !complaints.is_empty() || !read_complaints.is_empty();
    say_all(read_complaints.iter().copied());
    if replays.dropped > 0 {
        has_failed = true;
        say(format_args!(
            "the memory is used up: {} events were not replayed; raise the limit with --memory",
            replays.dropped
        ));
    }
    let unanswered = std::mem::take(&mut replays.missing);
    if let Some(missing) = unanswered.iter().flatten().next() {
        // The other rules of a text are answered nevertheless.
        if unanswered.iter().all(Option::is_some) {
            return Err(Failure::new(missing));
        }
        has_failed = true;
        unanswered.iter().flatten().for_each(say);
    }
    let all = complaints.iter().chain(read_complaints);
    let read = counted_sources(&inputs, &read_inputs, all);
    let left_out = std::mem::take(&mut replays.left_out);
    for (rule, parts) in rules.iter().zip(&left_out) {
        has_failed |= !parts.is_empty();
        parts.iter().for_each(|part| say(format_args!("{}: {}", safe(rule.name()), safe(part))));
    }
    let texts = || read_inputs.iter().flat_map(|input| &input.texts);
    let log = LogCounts {
        lines: texts().map(|text| text.lines).sum(),
        unparsed: texts().map(|text| text.unparsed_lines).sum(),
        ..replays.log
    };
    let log = if conditions.is_empty() { log } else { log.of_selected() };
    let tallies = std::mem::take(&mut replays.tallies);
    let sweeps = match arguments.sweep || arguments.suggest {
        true => replays.sweeps(suspects),
        false => Vec::new(),
    };
    let (reports, source_names) = match arguments.decisions {
        true => print_decisions(replays, &rules)?,
        false => replays.finish(None),
    };
    let exit = exit_of(&reports, has_failed, arguments.fail_on);
    let replayed = reports.into_iter().zip(&rules).zip(&tallies).zip(unanswered).zip(left_out);
    let replayed = replayed.map(|((((report, rule), tally), missing), left_out)| {
        let replayed = ReplayedRule::new(&**rule, report, &log, tally, &source_names);
        let replayed = replayed.without_parts(left_out);
        match missing {
            Some(missing) => replayed.not_evaluated(missing),
            None => replayed,
        }
    });
    let mut report = RulesReport { rules: replayed.collect(), read };
    let who = Who {
        inputs: &inputs,
        read: &read_inputs,
        format: &format,
        threads,
        good_networks: &good_networks,
    };
    add_sweeps(&mut report, &sweeps, &who, arguments)?;
    if arguments.suggest {
        let search = SettingSearch { pass: &pass, who: &who };
        let tunable = add_suggestions(&mut report, &places, &search)?;
        if tunable == 0 && sweeps.iter().all(Option::is_none) {
            return Err(Failure::new(
                "--suggest: the rule has no limit with its numbers in the text. A limit whose burst is a \
                 default has it only if you write it",
            ));
        }
    }
    if !arguments.decisions {
        who.describe(&mut report, if arguments.json { JSON_CLIENTS_MAX } else { arguments.top })?;
    }
    if arguments.json {
        let json = weir_view::to_json(&report).map_err(Failure::new)?;
        print(&(json + "\n"))?;
    } else if !arguments.decisions {
        print(&text::rules(&report, arguments.top, shown_zone.as_ref()))?;
    }
    Ok(exit)
}

/// Reads rules from files and texts, for a command that only replays them.
///
/// # Errors
/// If a file cannot be read, or something is not a rule; the message names the place.
pub(crate) fn load_rules(
    files: &[PathBuf],
    texts: &[String],
) -> Result<Vec<Box<dyn Rule>>, Failure> {
    match files.is_empty() && texts.is_empty() {
        true => Ok(Vec::new()),
        false => load::load(&RulesArguments::of_rules(files, texts)).map(|loaded| loaded.rules),
    }
}

/// What a rule would have done, as text with up to `top` keys, for a replay over records whose line
/// numbers are not known.
pub(crate) fn replayed_text(rule: &ReplayedRule, top: usize) -> String {
    text::without_places(rule, top)
}

/// Prints what tripped the rules in force, which needs logs that can be read twice.
fn run_without_rule(arguments: &RulesArguments) -> Result<Exit, Failure> {
    let RulesArguments { json, decisions, sweep, suggest, logs, .. } = arguments;
    if *json || *decisions || *sweep || *suggest || logs.files.is_empty() {
        return Err(Failure::new("name a rule with --rule FILE or --rule-text TEXT"));
    }
    let top = u32::try_from(arguments.top).unwrap_or(u32::MAX);
    let good_networks = good_networks(&arguments.good)?;
    print_blocks(&ReportArguments::of_blocks(logs, arguments.memory.as_deref(), top, good_networks))
}

/// Adds the curves that the arguments request, and the suggestions of limits that have one.
///
/// # Errors
/// If no rule has the curve that is requested.
fn add_sweeps(
    report: &mut RulesReport,
    sweeps: &[Option<Swept>],
    who: &Who<'_>,
    arguments: &RulesArguments,
) -> Result<(), Failure> {
    if arguments.sweep && sweeps.iter().all(Option::is_none) {
        return Err(Failure::new(
            "--sweep: only a rule with a single `limit_req` of nginx has a curve of its bursts",
        ));
    }
    for (rule, sweep) in report.rules.iter_mut().zip(sweeps) {
        let Some(Swept { sweep, suspects }) = sweep else { continue };
        rule.curve = arguments.sweep.then(|| limit_curve(sweep));
        if arguments.suggest {
            let profiles = who.profiles(suspects.iter().map(|(_, key)| &**key))?;
            let of_key = |(number, key): &(usize, Box<[u8]>)| {
                profiles.get(&**key).map(|profile| (*number, KeyClient::from(profile)))
            };
            let clients = suspects.iter().filter_map(of_key).collect();
            let found = suggested_setting(sweep, &clients);
            rule.suggestion = found.map(|found| match rule.family == Family::IngressNginx.name() {
                true => suggestion::of_annotations(sweep, found.suggestion),
                false => found.suggestion,
            });
        }
    }
    Ok(())
}

/// Adds the suggestions of the other rules, in their own languages. Returns how many of these rules
/// have numbers that can be changed.
///
/// # Errors
/// If the inputs cannot be read again.
fn add_suggestions(
    report: &mut RulesReport,
    places: &[RulePlace],
    search: &SettingSearch<'_>,
) -> Result<usize, Failure> {
    let mut tunable = 0;
    let lines = report.rules.iter().map(|rule| rule.looked_at.lines).max().unwrap_or(0);
    let rules_max = suggested_rules_max(lines);
    for (rule, place) in report.rules.iter_mut().zip(places).take(rules_max) {
        if rule.suggestion.is_some() {
            continue;
        }
        let limit = busiest_limit(rule);
        let of_limit = place.tunable_text(limit.as_deref()).map(|text| (text, limit));
        if let Some((text, limit)) = of_limit.or_else(|| Some((place.tunable_text(None)?, None))) {
            tunable += 1;
            rule.suggestion = search.suggestion(&text, limit)?;
        }
    }
    if places.len() > rules_max {
        say(format_args!(
            "--suggest: settings are suggested for the first {rules_max} of {} rules; \
             give the others in a text of their own",
            places.len()
        ));
    }
    Ok(tunable)
}

/// The number of rules for which settings are suggested over so many lines: at least one.
fn suggested_rules_max(lines: u64) -> usize {
    let rules = SUGGESTED_LINES_MAX / lines.max(1);
    usize::try_from(rules).unwrap_or(usize::MAX).clamp(1, SUGGESTED_RULES_MAX)
}

/// The limit of a rule with several that rejects the most.
fn busiest_limit(rule: &ReplayedRule) -> Option<String> {
    let mut rejected: BTreeMap<&str, u64> = BTreeMap::new();
    for key in rule.trips.iter().chain(&rule.closest) {
        let of_key = key.likely_rejected.unwrap_or(key.requests.rejected);
        *rejected.entry(key.limit.as_deref()?).or_default() += of_key;
    }
    let busiest = rejected.into_iter().rev().max_by_key(|(_, requests)| *requests);
    busiest.map(|(limit, _)| limit.to_owned())
}

/// Prints a line for each request, and returns the reports and the names of the sources.
fn print_decisions(
    replays: Replays<'_>,
    rules: &[Box<dyn Rule>],
) -> Result<(Vec<RuleReport>, Vec<String>), Failure> {
    let mut output = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let finished = replays.finish(Some(&mut |rule, sources, decision| {
        if written.is_ok() {
            let name = rules[rule].name();
            written = weir_view::write_decision(&mut output, name, sources, decision);
        }
    }));
    written
        .and_then(|()| output.flush())
        .map_err(|error| Failure::output("standard output", &error))?;
    Ok(finished)
}

fn counted_sources<'a>(
    inputs: &[Input],
    read_inputs: &[ReadInput],
    complaints: impl Iterator<Item = &'a Complaint>,
) -> CountedSources {
    let source = |(input, read): (&Input, &ReadInput)| CountedSource {
        name: input.name(),
        is_complete: read.complaints.is_empty(),
    };
    let incomplete = |Complaint { name, sentence }: &Complaint| IncompleteSource {
        source: name.clone(),
        reason: sentence.clone(),
    };
    let was_read = |(_, read): &(&Input, &ReadInput)| read.was_read() || read.complaints.is_empty();
    CountedSources {
        sources: inputs.iter().zip(read_inputs).filter(was_read).map(source).collect(),
        incomplete: complaints.map(incomplete).collect(),
    }
}

fn exit_of(reports: &[RuleReport], has_failed: bool, fail_on: FailOn) -> Exit {
    let has_rejected = |report: &RuleReport| {
        let is_likely = report.estimate.is_some_and(|likely| likely.keys > 0);
        let is_possible = report.keys.undecided > 0 || report.requests.undecided > 0;
        report.keys.tripped > 0
            || !report.bans.is_empty()
            || !report.alerts.is_empty()
            || fail_on != FailOn::Certain && is_likely
            || fail_on == FailOn::Possible && is_possible
    };
    match () {
        () if has_failed => Exit::Failed,
        () if reports.iter().any(has_rejected) => Exit::Rejected,
        () if reports.iter().all(|report| report.keys.seen == 0) => Exit::NoMatch,
        () => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::suggested_rules_max;

    #[test]
    fn settings_of_fewer_rules_are_suggested_over_a_longer_log() {
        for (lines, rules) in
            [(0, 100), (100_000, 100), (200_000, 50), (6_000_000, 1), (u64::MAX, 1)]
        {
            assert_eq!(suggested_rules_max(lines), rules, "{lines}");
        }
    }
}
