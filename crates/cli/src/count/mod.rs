//! `weir count`: the number of lines, or of requests by the values of one field or two.

mod arguments;
mod kinds;
mod lines;
mod output;
mod records;

use std::io;

use weir_ingest::{Input, MemoryBudget, run_in_order};
use weir_view::{KindCount, RecordKind};

pub(crate) use arguments::CountArguments;
use arguments::Output;

use crate::display::separated;
use crate::messages::say_all;
use crate::options::memory_bytes_max;
use crate::outcome::{Exit, Failure, print, print_csv, say};
use crate::scan::{Conditions, UnparsedLines, inputs_of, report_unparsed};
use crate::sources::{self, Complaint};
use kinds::{KindTallies, KindTally};
use records::RecordCounter;

/// The largest number of fields: those of a table.
const FIELDS_MAX: usize = 2;

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
    /// Whether the count is one: an input that could not be opened has none, not even 0.
    fn has_result(&self) -> bool {
        self.was_read || self.complaints.is_empty()
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &CountArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.logs.files)?;
    if arguments.by.len() > FIELDS_MAX {
        return Err(Failure::new(
            "--by: a table has at most two fields, one for rows and one for columns; name one or two",
        ));
    }
    let format = arguments.logs.format_choice()?;
    let (mut inputs, complaints) = sources::find(&inputs, &format);
    let conditions = Conditions::parse(&arguments.logs.conditions, &mut inputs, &format)?;
    say_all(&complaints);
    let mut has_failed = !complaints.is_empty();
    let threads = arguments.logs.threads();
    let threads_per_text = if inputs.len() == 1 { threads } else { 1 };
    if arguments.by.is_empty() && conditions.is_empty() && arguments.kind.is_none() {
        let counted = count_each(threads, &inputs, |input| lines::count(input, threads_per_text));
        if counted.iter().any(InputCount::has_result) {
            print_as(arguments.output, &output::lines(arguments.output, &inputs, &counted)?)?;
        }
        let has_counts = counted.iter().any(|counted| counted.count > 0);
        return Ok(finish(&counted, has_failed, has_counts));
    }
    let memory = MemoryBudget::new(memory_bytes_max(&arguments.memory)?);
    let counter = RecordCounter {
        by: &arguments.by,
        conditions: &conditions,
        kind: arguments.kind.map(|kind| RecordKind::from(kind).into()),
        format: &format,
        memory: &memory,
        threads_per_text,
    };
    let mut counted = count_each(threads, &inputs, |input| counter.count(input));
    let mut tallies = KindTallies::default();
    for counted in &mut counted {
        tallies.merge(std::mem::take(&mut counted.count), &memory);
    }
    let kind = arguments.kind.map_or_else(|| tallies.main_kind(), RecordKind::from);
    let others = tallies.counts().into_iter().filter(|count| count.kind != kind);
    others.filter(|_| arguments.kind.is_none()).for_each(say_not_counted);
    let KindTally { tally, error, .. } = std::mem::take(tallies.of_mut(kind.into()));
    match error {
        Some(error) if tally.records == 0 => return Err(Failure::new(error)),
        Some(error) => {
            has_failed = true;
            say(error);
        }
        None => {}
    }
    if tally.remainder > 0 {
        say(format_args!(
            "the memory limit is reached: {} {} with values that came after it are counted \
             together, so that a value may have more than is shown; raise the limit with --memory",
            separated(tally.remainder),
            kind.noun(tally.remainder)
        ));
    }
    if counted.iter().any(InputCount::has_result) {
        print_as(arguments.output, &output::tally(arguments, kind, &tally)?)?;
    }
    Ok(finish(&counted, has_failed, tally.records > 0))
}

/// Notes that there are records of a kind that is not counted.
fn say_not_counted(count: KindCount) {
    let KindCount { kind, records } = count;
    let (number, noun) = (separated(records), kind.noun(records));
    let name = kind.name().replace('_', "-");
    say(format_args!("{number} {noun} are left out; count them with --kind {name}"));
}

fn print_as(output: Output, text: &str) -> Result<(), Failure> {
    if output == Output::Csv { print_csv(text) } else { print(text) }
}

/// Counts every input, several at once.
fn count_each<T: Send>(
    threads: usize,
    inputs: &[Input],
    count: impl Fn(&Input) -> InputCount<T> + Sync,
) -> Vec<InputCount<T>> {
    // Nothing is written meanwhile, so nothing can fail.
    run_in_order(threads, inputs.len(), &mut io::sink(), |index, _| Ok(count(&inputs[index])))
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
