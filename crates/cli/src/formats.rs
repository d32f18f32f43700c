//! `weir formats`: the known formats, and how well they match a file.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use weir_core::{
    Candidate, Format, LineMismatch, Lines, SuggestedFormat, Wrapper, detect, format_notes,
    suggest_format,
};
use weir_ingest::{ReadError, table_rows};
use weir_view::{FormatFits, JsonError, KnownFormats, to_json};

use crate::display::{safe, separated, share};
use crate::head::head_of;
use crate::messages::format_option;
use crate::options::FormatArguments;
use crate::outcome::{Exit, Failure, print, say};
use crate::sources;
use crate::terminal::{Screen, fit, marked};

/// List the known formats, or how well each matches a file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FormatsArguments {
    /// The log to examine, about its first 1,000 lines; `-` is standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print JSON: one object, which docs/json.md describes
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    format: FormatArguments,
}

const EXAMPLES: &str = "\
Examples:
  weir formats
  weir formats access.log
  weir formats --json access.log | jq -r '.formats[0].name'
  weir formats --format '$remote_addr [$time_local] \"$request\" $status' access.log

Exit codes: 0 a format matches a line; 1 none does; 2 wrong usage, or the file could not be
read.";

/// The number of bytes that detection examines, and room for one more line.
const BYTES: usize = 320 << 10;

/// The most mismatches that are shown for a format.
const MISMATCHES_MAX: usize = 5;

/// The number of formats that are shown if none matches.
const NEAREST_MAX: usize = 5;

/// Runs the command.
pub(crate) fn run(arguments: &FormatsArguments) -> Result<Exit, Failure> {
    let screen = Screen::of_stdout(false);
    let forced = arguments.format.format()?;
    let Some(path) = &arguments.file else {
        if forced.is_some() {
            let message = "--format: name the file whose lines it should be tried on";
            return Err(Failure::new(message));
        }
        print(&if arguments.json {
            json_line(to_json(&KnownFormats::all()))?
        } else {
            list(&screen)
        })?;
        return Ok(Exit::Done);
    };
    let mut inputs = sources::inputs(std::slice::from_ref(path))?;
    let input = &mut inputs[0];
    if let Some(rows) =
        table_rows(input).map_err(|error| Failure::new(cannot_read(&input.name(), &error)))?
    {
        print(&match arguments.json {
            true => json_line(to_json(&FormatFits::new(&input.name(), &[], None)))?,
            false => table_text(&input.name(), rows),
        })?;
        return Ok(Exit::Done);
    }
    let head = head_of(input, |text| text.len() >= BYTES)
        .map_err(|error| Failure::new(cannot_read(&input.name(), &error)))?;
    if head.text.is_empty() {
        say(format_args!("{}: is empty", safe(&input.name())));
        return Ok(Exit::NoMatch);
    }
    let candidates = match forced {
        Some(format) => vec![weir_core::try_format(&format, head.lines())],
        None => detect(head.lines()).candidates,
    };
    let any_parses = candidates.iter().any(|candidate| candidate.parsed_lines > 0);
    let lines = Lines::new(head.lines()).map(|line| line.bytes);
    let suggestion = suggest_format(lines).filter(|_| !any_parses);
    print(&if arguments.json {
        json_line(to_json(&FormatFits::new(&input.name(), &candidates, suggestion.as_ref())))?
    } else {
        let mut shown = candidates_text(&input.name(), &candidates, head.lines(), &screen);
        if let Some(suggested) = &suggestion {
            write_made_definition(&mut shown, suggested);
        }
        shown
    })?;
    Ok(if any_parses { Exit::Done } else { Exit::NoMatch })
}

fn json_line(text: Result<String, JsonError>) -> Result<String, Failure> {
    Ok(text.map_err(Failure::new)? + "\n")
}

fn cannot_read(name: &str, error: &ReadError) -> String {
    format!("{}: {}", safe(name), sources::sentence(name, error))
}

/// Lists every known format with its description.
fn list(screen: &Screen) -> String {
    let mut text = String::new();
    let name_columns = format_notes().iter().map(|notes| notes.name.len()).max().unwrap_or(0);
    for notes in format_notes() {
        let line = format!("{:<name_columns$}  {}", notes.name, notes.about);
        let _ = writeln!(text, "{}", fit(&line, screen.text_columns));
    }
    let wrappers: Vec<&str> = Wrapper::ALL.iter().map(|wrapper| wrapper.name()).collect();
    let _ = write!(
        text,
        "\nAny of these names, one of them in {} (as in `COMBINED in SYSLOG`), a\n\
         log_format of nginx, a LogFormat of Apache, a log-format of GoAccess or a file that ends\n\
         with .toml or goaccess.conf can be given to --format. See how they fit a file with\n\
         weir formats FILE.\n",
        wrappers.join(", ")
    );
    text
}

/// Describes a file that needs no format.
fn table_text(name: &str, rows: u64) -> String {
    let noun = if rows == 1 { "row" } else { "rows" };
    format!(
        "{} is a Parquet file of {} {noun}. Its columns are fields by their names, without a format.\n",
        safe(name),
        separated(rows)
    )
}

/// Formats the share of lines that each format matches, and why other lines fail.
fn candidates_text(name: &str, candidates: &[Candidate], text: &[u8], screen: &Screen) -> String {
    let mut shown = String::new();
    let lines = candidates.first().map_or(0, |candidate| candidate.lines);
    let _ = writeln!(shown, "{}, the first {} lines\n", safe(name), separated(lines));
    let any_parses = candidates.iter().any(|candidate| candidate.parsed_lines > 0);
    let mut explained = worth_showing(candidates);
    if explained.is_empty() {
        shown.push_str("No known format fits a line, or the start of one.\n");
        explained.extend(candidates.first());
    } else {
        if !any_parses && candidates.len() > 1 {
            shown.push_str("No known format fits a line. The nearest come first:\n\n");
        }
        write_shares(&mut shown, &explained, candidates.len() - explained.len());
        write_suggestion(&mut shown, &explained[0].format);
    }
    let lines: Vec<&[u8]> = Lines::new(text).map(|line| line.bytes).collect();
    for (index, candidate) in explained.iter().enumerate() {
        // The best format is explained in full. If no format matches, each has one reason.
        let most = match (any_parses, index) {
            (true, 0) => MISMATCHES_MAX,
            (true, _) => 0,
            (false, _) => 1,
        };
        let mismatches = &candidate.mismatches[..candidate.mismatches.len().min(most)];
        if !mismatches.is_empty() {
            let _ = writeln!(shown, "\nLines that do not match {}", safe(candidate.format.name()));
        }
        for mismatch in mismatches {
            write_mismatch(&mut shown, mismatch, &lines, screen);
        }
    }
    shown
}

/// Writes how many lines each format matches, and the number of other formats.
fn write_shares(shown: &mut String, candidates: &[&Candidate], others: usize) {
    for candidate in candidates {
        let share = share(candidate.parsed_lines, candidate.lines);
        let parsed = separated(candidate.parsed_lines);
        let name = safe(candidate.format.name());
        let _ = writeln!(shown, "  {share:>6}  {parsed:>7} lines  {name}");
    }
    if others > 0 {
        let _ = writeln!(shown, "\nThe other {others} formats fit no line.");
    }
}

/// Writes the definition of a format that was found in the log, so that a person can change the names
/// in it.
fn write_suggestion(shown: &mut String, format: &Format) {
    let Some(definition) = format.suggested_definition() else { return };
    let _ = writeln!(
        shown,
        "\n{}. To give the values other names, change them in:\n  weir report {}",
        safe(format.name()),
        format_option(definition)
    );
}

/// Writes the definition that was made from the values of the lines.
fn write_made_definition(shown: &mut String, suggested: &SuggestedFormat) {
    let SuggestedFormat { definition, lines, parsed_lines } = suggested;
    let _ = writeln!(
        shown,
        "\nMade from the form of the values, for {} of the first {}. To name the others, change them in:\n  \
         weir report {}",
        separated(*parsed_lines),
        separated(*lines),
        format_option(definition)
    );
}

/// Returns the formats that match a line. If none does, returns those that come nearest, which are
/// first. A single candidate is always returned.
fn worth_showing(candidates: &[Candidate]) -> Vec<&Candidate> {
    let mut shown: Vec<&Candidate> = candidates.iter().collect();
    shown.retain(|candidate| candidate.parsed_lines > 0);
    if shown.is_empty() {
        let is_near = |candidate: &&Candidate| candidate.closeness > 0 || candidates.len() == 1;
        shown.extend(candidates.iter().take(NEAREST_MAX).filter(is_near));
    }
    shown
}

fn write_mismatch(shown: &mut String, mismatch: &LineMismatch, lines: &[&[u8]], screen: &Screen) {
    let LineMismatch { line, column, .. } = mismatch;
    let why = format!("  line {}, column {column}: {}", separated(*line), safe(&mismatch.reason()));
    let _ = writeln!(shown, "{}", fit(&why, screen.text_columns));
    let line = lines.get(*line as usize - 1).copied().unwrap_or_default();
    let (text, mark) = marked(line, column - 1, screen.columns - 4);
    if !text.is_empty() {
        let _ = writeln!(shown, "    {text}");
        if let Some(mark) = mark {
            let _ = writeln!(shown, "    {}^", " ".repeat(mark));
        }
    }
}
