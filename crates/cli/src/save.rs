//! `weir save FILE.weir LOG...`: reads logs and saves what was read.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use weir_ingest::{DataSet, Input, Pipeline, Retention};

use crate::display::{bytes, safe, separated};
use crate::messages::say_all;
use crate::options::{AnonymizeArguments, ReadArguments};
use crate::outcome::{Exit, Failure, say};
use crate::output_file::{OutputFile, refuse_input};
use crate::report::truncated;
use crate::saved;
use crate::sources;
use crate::terminal::Progress;
use crate::unmatched::without_records;
use crate::withheld::Withheld;

/// Read logs, and save the records as a data set that opens at once
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SaveArguments {
    /// The data set to write. Its name ends in .weir. It is complete or as it was before
    #[arg(value_name = "FILE.weir")]
    output: PathBuf,

    /// The logs, or directories of them: plain, compressed with gzip, zstd, bzip2, xz or lz4,
    /// in tar or zip archives; `-` is standard input, which is also read if no file is named
    /// and it is not a terminal
    #[arg(value_name = "LOG")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    anonymize: AnonymizeArguments,

    #[command(flatten)]
    read: ReadArguments,
}

const EXAMPLES: &str = "\
Examples:
  weir save december.weir access.log access.log.1.gz
  weir december.weir                 the page with these logs, without reading them again
  weir report december.weir          the same report as of the logs
  zcat access.log.*.gz | weir save all.weir

A data set has the fields of all records, the counts of the lines and up to 20 lines of each log that
did not match. It has no other lines: what shows or searches whole lines needs the logs.

Exit codes: 0 the data set was written; 1 no line matched the format; 2 wrong usage, or a log
could not be read to its end.";

/// Runs the command.
pub(crate) fn run(arguments: &SaveArguments) -> Result<Exit, Failure> {
    let output = &arguments.output;
    let name = safe(&output.to_string_lossy());
    if output.extension().is_none_or(|ending| ending != "weir") {
        return Err(Failure::new(format_args!(
            "{name}: the file to write comes first, and its name ends in .weir, as in \
             weir save logs.weir access.log"
        )));
    }
    let mut inputs = sources::inputs(&arguments.files)?;
    if inputs.is_empty() && !io::stdin().is_terminal() {
        inputs.push(Input::Stdin(Vec::new()));
    }
    if inputs.is_empty() {
        return Err(Failure::new(
            "name the logs to save, or - for standard input; see weir save --help",
        ));
    }
    if let Some(saved) = saved::among(&inputs)? {
        return Err(Failure::new(format_args!(
            "{}: is a saved data set already; copy it",
            safe(&saved.to_string_lossy())
        )));
    }
    let format = arguments.anonymize.hiding(arguments.read.format_choice()?)?;
    let (inputs, mut complaints) = sources::find(&inputs, &format);
    refuse_input("save", output, &inputs)?;
    // A full disk or a folder without permission is found before the logs are read.
    let file = OutputFile::create(output).map_err(|error| Failure::output(&name, &error))?;

    let options = arguments.read.pipeline_options(Retention::Segments)?;
    let data = DataSet::new(Retention::Segments, options.memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let progress = Progress::of_reading(data.clone(), sources::bytes_total(&inputs));
    complaints.extend(sources::read_all(&pipeline, &inputs, &format, options.jobs));
    pipeline.finish();
    progress.end();

    let sources = data.snapshot().sources;
    complaints.extend(truncated(&sources));
    say_all(complaints.iter().chain(&without_records(&sources)));
    if let Some(withheld) = Withheld::of_sources(!complaints.is_empty(), &sources) {
        withheld.say(&output.to_string_lossy(), None);
        return Ok(if complaints.is_empty() { Exit::NoMatch } else { Exit::Failed });
    }
    let size = write(&data, file).map_err(|error| Failure::output(&name, &error))?;
    let records: u64 = sources.iter().map(|source| source.records).sum();
    say(format_args!("{name}: {} records in {}", separated(records), bytes(size)));
    Ok(if records > 0 { Exit::Done } else { Exit::NoMatch })
}

/// Writes the data set. Returns its size in bytes.
fn write(data: &DataSet, file: OutputFile) -> io::Result<u64> {
    let mut output = Counted { output: BufWriter::new(file), bytes: 0 };
    data.save(&mut output)?;
    output.output.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    Ok(output.bytes)
}

/// Counts what is written.
struct Counted<W> {
    output: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
