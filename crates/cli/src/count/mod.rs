//! `weir count`: the number of lines, or of requests by the values of fields.

mod arguments;
mod combinations;
mod kinds;
mod lines;
mod measured;
mod output;
mod records;
mod table;

use std::io;

use weir_core::Zone;
use weir_ingest::{Input, MemoryBudget, ValueTally, run_in_order};
use weir_view::{KindCount, REMAINDER_VALUE, RecordKind, Report};

pub(crate) use arguments::CountArguments;

use crate::display::separated;
use crate::messages::say_all;
use crate::options::{OutputKind, data_bytes_max};
use crate::outcome::{Exit, Failure, print, print_csv, say};
use crate::scan::{Conditions, LogFields, RecordPeriod, UnparsedLines, inputs_of, report_unparsed};
use crate::sources::{self, Complaint};
use kinds::{KindTallies, KindTally};
use records::{Merge, RecordCounter};

/// The divisor of the memory for counts that wait to be merged: an eighth.
const WAITING_SHARE: usize = 8;

/// The divisor of the memory for the counts of a text that may have none of the fields.
const UNDECIDED_SHARE: usize = 64;

/// The largest number of fields. More would be a copy of the log.
const FIELDS_MAX: usize = 8;

/// The result of one input.
#[derive(Default)]
struct InputCount<T> {
    count: T,
    /// Whether anything of the input could be read.
    was_read: bool,
    /// The lines that could not be parsed, of texts that were read as records.
    unparsed: Vec<UnparsedLines>,
    complaints: Vec<Complaint>,
}

impl<T> InputCount<T> {
    /// Whether the input has a count. An input that could not be opened has none, not even 0.
    fn has_result(&self) -> bool {
        self.was_read || self.complaints.is_empty()
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &CountArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.logs.files)?;
    if arguments.by.len() > FIELDS_MAX {
        return Err(Failure::new(format_args!("--by: name {FIELDS_MAX} fields at most")));
    }
    if arguments.has_measures() {
        return measured::run(arguments);
    }
    let output = arguments.output.kind();
    let format = arguments.anonymize.hiding(arguments.logs.format_choice()?)?;
    let (mut inputs, complaints) = sources::find(&inputs, &format);
    let zone = arguments.logs.zone()?;
    let conditions = Conditions::parse(&arguments.logs, zone.as_ref(), &mut inputs, &format)?;
    let names = arguments.by.iter().map(String::as_str).chain(conditions.field_names());
    let format = arguments.logs.derived().deriving(format, names, zone.as_ref())?;
    say_all(&complaints);
    let mut has_failed = !complaints.is_empty();
    let threads = arguments.logs.threads();
    let threads_per_input = if inputs.len() == 1 { threads } else { 1 };
    if arguments.by.is_empty() && conditions.is_empty() && arguments.kind.is_none() {
        let counted =
            count_each(threads, &inputs, |_, input| lines::count(input, threads_per_input));
        if counted.iter().any(InputCount::has_result) {
            let incomplete = output::sources(&inputs, &counted, &complaints).incomplete;
            print_as(output, &output::lines(output, &inputs, &counted, incomplete)?)?;
        }
        let has_counts = counted.iter().any(|counted| counted.count > 0);
        return Ok(finish(&counted, has_failed, has_counts));
    }
    let memory_bytes_max = data_bytes_max(arguments.memory.as_deref())?;
    let budget = MemoryBudget::new(memory_bytes_max - memory_bytes_max / WAITING_SHARE);
    let tallies = KindTallies::new(budget, arguments.kind.is_none());
    let merge = Merge::new(tallies, memory_bytes_max / WAITING_SHARE, KindTallies::add);
    let logs = LogFields::new(&inputs, &format);
    let counter = RecordCounter {
        by: &arguments.by,
        conditions: &conditions,
        logs: &logs,
        zone: zone.as_ref(),
        tracks_period: conditions.has_time_condition(),
        kind: arguments.kind.map(|kind| RecordKind::from(kind).into()),
        format: &format,
        merge: &merge,
        undecided_bytes_max: memory_bytes_max / UNDECIDED_SHARE,
        threads: threads_per_input,
    };
    let counted = count_each(threads, &inputs, |index, input| counter.count(index, input));
    let mut tallies = merge.into_total();
    let kind = arguments.kind.map_or_else(|| tallies.main_kind(), RecordKind::from);
    let others = tallies.counts().into_iter().filter(|count| count.kind != kind);
    others.filter(|_| arguments.kind.is_none()).for_each(say_not_counted);
    let kinds = tallies.counts();
    let KindTally { tally, period, error, .. } = std::mem::take(tallies.of_mut(kind.into()));
    match error {
        Some(error) if tally.records() == 0 => return Err(Failure::new(error)),
        Some(error) => {
            has_failed = true;
            say(error);
        }
        None => {}
    }
    if tally.records() == 0 {
        no_match_note(kind, kinds, period, zone.as_ref()).iter().for_each(say);
    }
    if tally.remainder() > 0 {
        say(format_args!(
            "{}; raise the limit with --memory",
            memory_note(&tally, kind, arguments)
        ));
    }
    if counted.iter().any(InputCount::has_result) {
        let read = output::sources(&inputs, &counted, &complaints);
        print_as(output, &output::tally(arguments, kind, &tally, read)?)?;
    }
    Ok(finish(&counted, has_failed, tally.records() > 0))
}

/// Returns the note of a report on the period of the records, if none of them is in the requested
/// period.
fn no_match_note(
    kind: RecordKind,
    kinds: Vec<KindCount>,
    period: RecordPeriod,
    zone: Option<&Zone>,
) -> Option<String> {
    let (range_ns, own_zone) = period.range_ns()?;
    let mut report = Report { kind, kinds, ..Report::default() };
    report.time.zone = zone.unwrap_or(&own_zone).name().to_owned();
    weir_query::no_match_note(&report, Some(range_ns))
}

/// Describes which counts are inexact because of the memory limit, and by how much.
fn memory_note(tally: &ValueTally, kind: RecordKind, arguments: &CountArguments) -> String {
    let (value, sums) = match arguments.by.len() {
        0 | 1 => ("value", ""),
        2 => ("pair of values", ", and so may all totals but the last"),
        _ => ("combination of values", ""),
    };
    format!(
        "memory limit reached: {} {} with a {value} first seen after that point are grouped as \
         \"{REMAINDER_VALUE}\"; counts of frequent values among them may be lower bounds (≥){sums}; \
         any other {value} has at most {}",
        separated(tally.remainder()),
        kind.noun(tally.remainder()),
        separated(tally.unlisted_max()),
    )
}

/// Prints that there are records of a kind that is not counted.
fn say_not_counted(count: KindCount) {
    let KindCount { kind, records } = count;
    let (number, noun) = (separated(records), kind.noun(records));
    let name = kind.name().replace('_', "-");
    let (are, them) = if records == 1 { ("is", "it") } else { ("are", "them") };
    say(format_args!("{number} {noun} {are} left out; count {them} with --kind {name}"));
}

fn print_as(output: OutputKind, text: &str) -> Result<(), Failure> {
    if output == OutputKind::Csv { print_csv(text) } else { print(text) }
}

/// Counts every input, several at once.
fn count_each<T: Send>(
    threads: usize,
    inputs: &[Input],
    count: impl Fn(usize, &Input) -> InputCount<T> + Sync,
) -> Vec<InputCount<T>> {
    // Nothing is written meanwhile, so nothing can fail.
    run_in_order(threads, inputs.len(), &mut io::sink(), |index, _| {
        Ok(count(index, &inputs[index]))
    })
    .unwrap_or_default()
}

/// Prints the unparsed lines and the complaints. Returns how the run ended.
fn finish<T>(counted: &[InputCount<T>], mut has_failed: bool, has_counts: bool) -> Exit {
    report_unparsed(counted.iter().flat_map(|counted| &counted.unparsed));
    let complaints: Vec<&Complaint> =
        counted.iter().flat_map(|counted| &counted.complaints).collect();
    has_failed |= !complaints.is_empty();
    say_all(complaints);
    match (has_failed, has_counts) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Done,
        (false, false) => Exit::NoMatch,
    }
}
