//! `weir count`: how many lines there are, or how many requests by the values of one field or
//! of two.

mod arguments;
mod lines;
mod output;
mod tally;
mod values;

use std::io;

use weir_ingest::Input;

pub(crate) use arguments::CountArguments;
use arguments::Output;

use crate::lines::{Budget, in_order, say_unmatched};
use crate::options::memory_bytes_max;
use crate::outcome::{Exit, Failure, print, print_csv, say};
use crate::records::Conditions;
use crate::sources::{self, Complaint};
use crate::terminal::separated;
use tally::Tally;
use values::Asked;

/// The most fields of a table.
const FIELDS_MAX: usize = 2;

/// What came of one input.
#[derive(Default)]
struct Counted<T> {
    count: T,
    /// Lines that did not fit the format, of texts where records were asked about.
    unmatched: Vec<(String, u64)>,
    complaints: Vec<Complaint>,
}

/// Runs the command.
pub(crate) fn run(arguments: &CountArguments) -> Result<Exit, Failure> {
    let inputs = arguments.logs.inputs()?;
    if arguments.by.len() > FIELDS_MAX {
        return Err(Failure::new("--by: a table has two fields at the most, rows and columns"));
    }
    let format = arguments.logs.format_choice()?;
    let (mut inputs, complaints) = sources::found(&inputs, &format);
    let conditions = Conditions::parse(&arguments.logs.conditions, &mut inputs, &format)?;
    complaints.iter().for_each(say);
    let failed = !complaints.is_empty();
    let jobs = arguments.logs.threads();
    // Threads that one file may have.
    let spare_jobs = if inputs.len() == 1 { jobs } else { 1 };
    if arguments.by.is_empty() && conditions.is_empty() {
        let counted = each(jobs, &inputs, |input| lines::count(input, spare_jobs));
        print_as(arguments.output, &output::lines(arguments.output, &inputs, &counted)?)?;
        let any = counted.iter().any(|counted| counted.count > 0);
        return Ok(finish(&counted, failed, any));
    }
    let memory = Budget::new(memory_bytes_max(&arguments.memory)?);
    let asked = Asked {
        by: &arguments.by,
        conditions: &conditions,
        format: &format,
        memory: &memory,
        spare_jobs,
    };
    let mut counted = each(jobs, &inputs, |input| asked.count(input));
    let mut tally = Tally::default();
    for counted in &mut counted {
        tally.merge(std::mem::take(&mut counted.count), &memory);
    }
    if tally.remainder > 0 {
        say(format_args!(
            "the memory is spent: {} requests with rare values are counted together, so that a \
             value may have more than is shown; give more with --memory",
            separated(tally.remainder)
        ));
    }
    print_as(arguments.output, &output::tally(arguments, &tally)?)?;
    Ok(finish(&counted, failed, tally.records > 0))
}

fn print_as(output: Output, text: &str) -> Result<(), Failure> {
    if output == Output::Csv { print_csv(text) } else { print(text) }
}

/// Counts every input, several at once.
fn each<T: Send>(
    jobs: usize,
    inputs: &[Input],
    count: impl Fn(&Input) -> Counted<T> + Sync,
) -> Vec<Counted<T>> {
    // Nothing is written while it is counted, so that nothing can fail.
    in_order(jobs, inputs.len(), &mut io::sink(), |index, _| Ok(count(&inputs[index])))
        .unwrap_or_default()
}

/// Says what a person should know beside the counts.
fn finish<T>(counted: &[Counted<T>], mut failed: bool, any: bool) -> Exit {
    say_unmatched(counted.iter().flat_map(|counted| &counted.unmatched));
    for complaint in counted.iter().flat_map(|counted| &counted.complaints) {
        failed = true;
        say(complaint);
    }
    match (failed, any) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Done,
        (false, false) => Exit::NothingFitted,
    }
}
