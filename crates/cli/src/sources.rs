//! The files of the command line, read into a pipeline in the order given.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use weir_ingest::{FormatChoice, Pipeline, ReadError, Stopped, read_file, read_stream};

use crate::outcome::Failure;
use crate::terminal::safe;

/// What is read: a file by its path, or standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    File(PathBuf),
    Stdin,
}

/// The name of standard input in sentences and reports.
const STDIN_NAME: &str = "standard input";

impl Input {
    /// Its name, to show.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin => STDIN_NAME.to_owned(),
        }
    }

    /// Its size in bytes where that is known.
    fn bytes_total(&self) -> Option<u64> {
        let Self::File(path) = self else { return None };
        let metadata = std::fs::metadata(path).ok()?;
        metadata.is_file().then_some(metadata.len())
    }
}

/// The inputs that the command line names.
pub(crate) fn inputs(files: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let input = |path: &PathBuf| match path.as_os_str() == OsStr::new("-") {
        true => Input::Stdin,
        false => Input::File(path.clone()),
    };
    let inputs: Vec<Input> = files.iter().map(input).collect();
    if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Err(Failure::new("standard input (-) can be read only once"));
    }
    Ok(inputs)
}

/// Bytes of all inputs together, where that is known of each.
pub(crate) fn bytes_total(inputs: &[Input]) -> Option<u64> {
    inputs.iter().map(Input::bytes_total).sum()
}

/// An input that could not be read to its end, and a sentence without its name.
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

/// Reads all inputs, one after the other. What was read of one that fails stands.
/// `stdin_start` are bytes of standard input that were read already.
pub(crate) fn read_all(
    pipeline: &Pipeline,
    inputs: &[Input],
    format: &FormatChoice,
    stdin_start: Vec<u8>,
) -> Vec<Complaint> {
    let mut stdin_start = Some(stdin_start);
    let mut complaints = Vec::new();
    for input in inputs {
        let result = match input {
            Input::File(path) => read_file(pipeline, path, format.clone()),
            Input::Stdin => {
                let start = io::Cursor::new(stdin_start.take().unwrap_or_default());
                let stream = start.chain(io::stdin().lock());
                read_stream(pipeline, STDIN_NAME, None, stream, format.clone())
            }
        };
        if let Err(error) = result {
            complaints.push(Complaint { name: input.name(), sentence: sentence(input, &error) });
        }
    }
    complaints
}

/// What happened and what to do.
fn sentence(input: &Input, error: &ReadError) -> String {
    match (input, error) {
        (Input::File(path), ReadError::Open(error)) => cannot_open(path, error),
        (_, ReadError::Stopped(Stopped::MemoryFull)) => {
            "the memory limit is reached; what was read stands, give more with --memory".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Why a file cannot be opened and what to do.
pub(crate) fn cannot_open(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the name".to_owned(),
        io::ErrorKind::IsADirectory => {
            let pattern = path.join("*.log");
            format!("is a directory; name the files in it, such as {}", pattern.display())
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied; run weir as a user who may read it".to_owned()
        }
        _ => format!("cannot be opened: {error}"),
    }
}
