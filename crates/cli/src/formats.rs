//! `weir formats`: which formats are known, and how well they fit a file.

use std::fmt::Write;
use std::sync::Arc;

use weir_core::{
    Candidate, Format, LineMismatch, LineParser, Lines, Record, detect, known_formats,
};
use weir_ingest::ReadError;

use crate::arguments::FormatsArguments;
use crate::head::head_of;
use crate::outcome::{Exit, Failure, print, say};
use crate::sources;
use crate::terminal::{Screen, fit, marked, safe, separated, share};

/// As much of a file as detection looks at, and a line more.
const BYTES: usize = 320 << 10;

/// Mismatches shown of a format.
const MISMATCHES: usize = 5;

/// Runs the command.
pub(crate) fn run(arguments: &FormatsArguments) -> Result<Exit, Failure> {
    let screen = Screen::of_stdout();
    let Some(path) = &arguments.file else {
        print(&list())?;
        return Ok(Exit::Done);
    };
    let forced = arguments.format.as_deref().map(Format::parse).transpose();
    let forced = forced.map_err(Failure::new)?;
    let mut inputs = sources::inputs(std::slice::from_ref(path))?;
    let input = &mut inputs[0];
    let head = head_of(input, |text| text.len() >= BYTES)
        .map_err(|error| Failure::new(cannot_read(&input.name(), &error)))?;
    if head.text.is_empty() {
        say(format_args!("{}: is empty", safe(&input.name())));
        return Ok(Exit::NothingFitted);
    }
    let candidates = match forced {
        Some(format) => vec![candidate(Arc::new(format), head.lines())],
        None => detect(head.lines()).candidates,
    };
    print(&fits(&input.name(), &candidates, head.lines(), &screen))?;
    let fits = candidates.iter().any(|candidate| candidate.fitting > 0);
    Ok(if fits { Exit::Done } else { Exit::NothingFitted })
}

fn cannot_read(name: &str, error: &ReadError) -> String {
    format!("{}: {}", safe(name), sources::sentence(name, error))
}

/// Every known format with its definition.
fn list() -> String {
    let mut text = String::new();
    for format in known_formats() {
        let _ = writeln!(text, "{:<11}{}", format.name(), format.definition());
    }
    text + "\nAny of these names, a log_format of nginx or a LogFormat of Apache can be given to\n--format. See how they fit a file with weir formats FILE.\n"
}

/// How a format fits lines, where it is not among those that detection tries.
fn candidate(format: Arc<Format>, text: &[u8]) -> Candidate {
    let mut parser = LineParser::new(format.clone());
    let mut record = Record::new();
    let mut candidate =
        Candidate { format, lines: 0, fitting: 0, fields: 0, mismatches: Vec::new() };
    for (line, number) in Lines::new(text).zip(1..) {
        candidate.lines += 1;
        match parser.parse(line.bytes, &mut record) {
            Ok(()) => candidate.fitting += 1,
            Err(mismatch) if candidate.mismatches.len() < MISMATCHES => {
                let (column, reason) = (mismatch.at + 1, parser.explain(mismatch));
                candidate.mismatches.push(LineMismatch { line: number, column, reason });
            }
            Err(_) => {}
        }
    }
    candidate
}

/// The formats with their shares, and why lines fail.
fn fits(name: &str, candidates: &[Candidate], text: &[u8], screen: &Screen) -> String {
    let mut shown = String::new();
    let lines = candidates.first().map_or(0, |candidate| candidate.lines);
    let _ = writeln!(shown, "{}, the first {} lines\n", safe(name), separated(lines));
    for candidate in candidates {
        let share = share(candidate.fitting, candidate.lines);
        let fitting = separated(candidate.fitting);
        let name = safe(candidate.format.name());
        let _ = writeln!(shown, "  {share:>6}  {fitting:>7} lines  {name}");
    }
    let lines: Vec<&[u8]> = Lines::new(text).map(|line| line.bytes).collect();
    let anything_fits = candidates.iter().any(|candidate| candidate.fitting > 0);
    for (index, candidate) in candidates.iter().enumerate() {
        // Of the best format all that is known is shown; where nothing fits, of each why.
        let most = match (anything_fits, index) {
            (true, 0) => MISMATCHES,
            (true, _) => 0,
            (false, _) => 1,
        };
        let mismatches = &candidate.mismatches[..candidate.mismatches.len().min(most)];
        if !mismatches.is_empty() {
            let _ = writeln!(shown, "\nLines that do not fit {}", safe(candidate.format.name()));
        }
        for mismatch in mismatches {
            write_mismatch(&mut shown, mismatch, &lines, screen);
        }
    }
    shown
}

fn write_mismatch(shown: &mut String, mismatch: &LineMismatch, lines: &[&[u8]], screen: &Screen) {
    let LineMismatch { line, column, reason } = mismatch;
    let why = format!("  line {}, column {column}: {}", separated(*line), safe(reason));
    let _ = writeln!(shown, "{}", fit(&why, screen.columns));
    let line = lines.get(*line as usize - 1).copied().unwrap_or_default();
    let (text, mark) = marked(line, column - 1, screen.columns - 4);
    if !text.is_empty() {
        let _ = writeln!(shown, "    {text}");
        if let Some(mark) = mark {
            let _ = writeln!(shown, "    {}^", " ".repeat(mark));
        }
    }
}
