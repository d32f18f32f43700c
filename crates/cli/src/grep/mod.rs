//! `weir grep`: the lines that match a regular expression, of whole lines or of one field, in
//! any source.

mod arguments;
mod csv;
mod json;
mod lines;
mod pattern;
mod pieces;
mod printer;
mod records;

use std::io::{self, IsTerminal, Write};

use weir_ingest::{FormatChoice, Input, Text};

pub(crate) use arguments::GrepArguments;
use arguments::Output;
use pattern::Pattern;
use printer::{Layout, Printer};

use crate::lines::{Failed, LineBlocks, Ordered, each_text, in_order, say_unmatched};
use crate::outcome::{Exit, Failure, say};
use crate::records::{Conditions, Reader};
use crate::sources::{self, Complaint};
use crate::terminal::{Screen, separated};

/// Output that is gathered before it is written.
const OUTPUT_BYTES: usize = 64 << 10;

/// Everything that is known before the first file is opened.
struct Search {
    pattern: Pattern,
    layout: Layout,
    field: Option<String>,
    conditions: Conditions,
    format: FormatChoice,
    /// Threads that one file may have.
    spare_jobs: usize,
}

/// What came of one input.
#[derive(Default)]
struct Found {
    /// Lines that were chosen.
    lines: u64,
    /// Lines that did not fit the format, of texts where records were asked about.
    unmatched: Vec<(String, u64)>,
    complaints: Vec<Complaint>,
}

/// Runs the command.
pub(crate) fn run(arguments: &GrepArguments) -> Result<Exit, Failure> {
    let inputs = arguments.logs.inputs()?;
    let format = arguments.logs.format_choice()?;
    let (mut inputs, mut complaints) = sources::found(&inputs, &format);
    let several = arguments.logs.files.len().max(inputs.len()) > 1;
    if !arguments.count && !arguments.files_with_matches {
        let (others, same) = sources::without_output(inputs);
        inputs = others;
        complaints.extend(same);
    }
    let jobs = arguments.logs.threads();
    let mut search = Search::new(arguments, &mut inputs, format, several)?;
    search.spare_jobs = if inputs.len() == 1 { jobs } else { 1 };
    let mut output = io::BufWriter::with_capacity(OUTPUT_BYTES, io::stdout());
    let found = search
        .write_header(&mut output)
        .and_then(|()| {
            in_order(jobs, inputs.len(), &mut output, |index, output| {
                search.one(&inputs[index], output)
            })
        })
        .map_err(|error| Failure::output("standard output", &error))?;
    complaints.iter().for_each(say);
    Ok(search.say(&found, !complaints.is_empty()))
}

impl Search {
    fn new(
        arguments: &GrepArguments,
        inputs: &mut [Input],
        format: FormatChoice,
        several: bool,
    ) -> Result<Self, Failure> {
        let screen = Screen::of_stdout();
        let layout = Layout {
            names: several && !arguments.no_filename,
            member_names: !arguments.no_filename,
            numbers: arguments.line_number,
            only_matching: arguments.only_matching,
            count: arguments.count,
            list: arguments.files_with_matches,
            inverted: arguments.invert_match,
            output: arguments.output,
            terminal: io::stdout().is_terminal(),
            colour: screen.colour,
        };
        Ok(Self {
            pattern: Pattern::new(arguments)?,
            layout,
            field: arguments.field.clone(),
            conditions: Conditions::parse(&arguments.logs.conditions, inputs, &format)?,
            format,
            spare_jobs: 1,
        })
    }

    fn write_header(&self, output: &mut impl Write) -> io::Result<()> {
        if self.layout.output == Output::Csv { csv::write_header(output) } else { Ok(()) }
    }

    /// True where lines have to be read, not only searched.
    fn needs_records(&self) -> bool {
        self.field.is_some() || !self.conditions.is_empty() || self.layout.output != Output::Raw
    }

    /// Searches one input. An error is one of the output; those of the input are in what was
    /// found.
    fn one(&self, input: &Input, output: &mut Ordered<'_>) -> io::Result<Found> {
        let mut found = Found::default();
        let complaints = each_text(input, |text| self.text(input, text, output, &mut found))?;
        found.complaints.extend(complaints);
        Ok(found)
    }

    /// Searches one text of an input. What was found before an error stands.
    fn text(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        output: &mut Ordered<'_>,
        found: &mut Found,
    ) -> Result<(), Failed> {
        let (name, is_member) = (text.name().to_owned(), text.is_member());
        let reader = Reader::new(&self.format, text.written());
        let in_pieces = self.divisible(input, text);
        let in_pieces = in_pieces.map(|divided| self.in_pieces(divided, &name, output));
        let mut blocks = LineBlocks::new(text);
        let mut printer =
            Printer::new(&self.layout, &self.pattern, name.clone(), is_member, output);
        let (mut unmatched, mut too_long) = (0, 0);
        let result = match in_pieces {
            Some(found) => {
                printer.add_lines(found.lines);
                (unmatched, too_long) = (found.unmatched, found.too_long);
                found.result
            }
            None if self.needs_records() => {
                let (unfit, result) = self.in_records(reader, &mut blocks, &mut printer);
                unmatched = unfit;
                result
            }
            None => self.in_lines(&mut blocks, &mut printer),
        };
        too_long += blocks.too_long();
        if unmatched > 0 {
            found.unmatched.push((name.clone(), unmatched));
        }
        if too_long > 0 {
            let lines = separated(too_long);
            let sentence = format!("{lines} lines are longer than 256 MiB and were not searched");
            found.complaints.push(Complaint { name, sentence });
        }
        if let Err(Failed::Sentence(_) | Failed::Output(_)) = result {
            return result;
        }
        found.lines += printer.finish().map_err(Failed::Output)?;
        result
    }

    /// Says what a person should know beside the lines.
    fn say(&self, found: &[Found], mut failed: bool) -> Exit {
        say_unmatched(found.iter().flat_map(|found| &found.unmatched));
        for complaint in found.iter().flat_map(|found| &found.complaints) {
            failed = true;
            say(complaint);
        }
        match (failed, found.iter().any(|found| found.lines > 0)) {
            (true, _) => Exit::Failed,
            (false, true) => Exit::Done,
            (false, false) => Exit::NothingFitted,
        }
    }
}
