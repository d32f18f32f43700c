//! Finds the files that the command line names, and reads them into a pipeline.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::{Format, FormatTracker, absent_keys};
use weir_ingest::{
    Fault, FaultKind, FormatChoice, Head, Input, Pipeline, ReadError, StopReason, find_inputs,
    is_table_input, read_inputs,
};

use crate::display::safe;
use crate::messages::say_all;
use crate::outcome::{Failure, say};
use crate::saved::is_saved;

/// Returns the inputs that the command line names, before directories are searched.
///
/// # Errors
/// If standard input is named twice.
pub(crate) fn inputs(files: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let input = |path: &PathBuf| match path.as_os_str() == OsStr::new("-") {
        true => Input::Stdin(Vec::new()),
        false => Input::File(path.clone().into()),
    };
    let inputs: Vec<Input> = files.iter().map(input).collect();
    if inputs.iter().filter(|input| is_stdin(input)).count() > 1 {
        return Err(Failure::new(
            "`-` is named twice, but standard input can be read only once; name it once",
        ));
    }
    Ok(inputs)
}

/// Replaces directories by the files in them. Each file is listed once, and rotated files are in
/// the order of their times. Also returns complaints about files that are left out.
pub(crate) fn find(inputs: &[Input], format: &FormatChoice) -> (Vec<Input>, Vec<Complaint>) {
    find_beside(inputs, format, None)
}

/// [`find`] without the files of a directory that this process writes.
pub(crate) fn find_beside(
    inputs: &[Input],
    format: &FormatChoice,
    own: Option<&Path>,
) -> (Vec<Input>, Vec<Complaint>) {
    let (inputs, faults) = find_inputs(inputs, format, own);
    let (saved, inputs): (Vec<_>, Vec<_>) =
        inputs.into_iter().partition(|input| matches!(input, Input::File(path) if is_saved(path)));
    if let (FormatChoice::Forced(format), Some(input)) = (format, inputs.first()) {
        say_absent_keys(format, input);
    }
    let sentence = "is a saved data set, which has no lines; show it with weir FILE or weir report \
                    FILE, or name the logs that it was made of";
    let no_lines =
        saved.iter().map(|input| Complaint { name: input.name(), sentence: sentence.to_owned() });
    (inputs, complaints(faults).into_iter().chain(no_lines).collect())
}

/// Names the keys of a definition that the first input does not have: a misspelled key would only be a field
/// without values.
fn say_absent_keys(format: &Arc<Format>, input: &Input) {
    // The bytes of a pipe can be read only once.
    if !matches!(input, Input::File(path) if path.is_file()) || is_table_input(input) {
        return;
    }
    let is_enough = |text: &[u8]| text.len() >= FormatTracker::DETECTION_BYTES;
    let Ok(head) = Head::of(input, is_enough) else { return };
    for key in absent_keys(format, head.lines()) {
        say(format_args!(
            "--format: no line at the start of {} has the key `{}`; check its spelling",
            safe(&input.name()),
            safe(&key)
        ));
    }
}

/// Leaves out the file that standard output is written to, because a search that appends to its
/// own input never ends. Returns the other inputs, and complaints about those that are left out.
pub(crate) fn without_output(inputs: Vec<Input>) -> (Vec<Input>, Vec<Complaint>) {
    let Some(output) = output() else { return (inputs, Vec::new()) };
    let (same, others): (Vec<_>, Vec<_>) =
        inputs.into_iter().partition(|input| input.is_same(&output));
    let sentence = "is the output of this command and was not read; write to another file";
    let complaint = |input: &Input| Complaint { name: input.name(), sentence: sentence.to_owned() };
    (others, same.iter().map(complaint).collect())
}

#[cfg(unix)]
fn output() -> Option<Metadata> {
    use std::os::fd::AsFd;
    File::from(io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok()
}

#[cfg(not(unix))]
fn output() -> Option<Metadata> {
    None
}

pub(crate) fn is_stdin(input: &Input) -> bool {
    matches!(input, Input::Stdin(_))
}

/// Returns the size of all inputs together; `None` if one of them has an unknown size.
pub(crate) fn bytes_total(inputs: &[Input]) -> Option<u64> {
    inputs.iter().map(Input::bytes_total).sum()
}

/// An input that could not be read to its end, and why, as a sentence without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) name: String,
    pub(crate) sentence: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", safe(&self.name), self.sentence)
    }
}

/// Reads all inputs. Compressed ones are decompressed at the same time, on up to `threads` threads.
/// The lines of an input before an error are kept.
pub(crate) fn read_all(
    pipeline: &Pipeline,
    inputs: &[Input],
    format: &FormatChoice,
    threads: usize,
) -> Vec<Complaint> {
    complaints(read_inputs(pipeline, inputs, format, threads))
}

/// Returns the errors among faults, and prints the notes.
pub(crate) fn complaints(faults: Vec<Fault>) -> Vec<Complaint> {
    let (mut complaints, mut notes) = (Vec::new(), Vec::new());
    for Fault { name, kind } in faults {
        match kind {
            FaultKind::Error(error) => {
                let sentence = sentence(&name, &error);
                complaints.push(Complaint { name, sentence });
            }
            FaultKind::Note(sentence) => notes.push(Complaint { name, sentence }),
        }
    }
    say_all(&notes);
    complaints
}

/// Returns a sentence about an error of the named input: what went wrong and what to do.
pub(crate) fn sentence(name: &str, error: &ReadError) -> String {
    match error {
        ReadError::Open(error) => cannot_open(Path::new(name), error),
        ReadError::Stopped(StopReason::MemoryFull) => {
            "the memory limit is reached; the lines read so far are kept; raise it with --memory"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// Returns a sentence about a file that cannot be opened: why, and what to do.
pub(crate) fn cannot_open(path: &Path, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::IsADirectory {
        let pattern = path.join("*.log");
        return format!("is a directory; name the files in it, such as {}", pattern.display());
    }
    cannot_read(error)
}

/// Returns a sentence about a file that cannot be read: why, and what to do.
pub(crate) fn cannot_read(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "the file does not exist; check the name".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory; name a file".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "permission denied; run weir as a user who may read it".to_owned()
        }
        _ => format!("cannot be read: {error}"),
    }
}
