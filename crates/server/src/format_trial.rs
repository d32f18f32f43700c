//! A format that a person gives a source on the page: it is tried on the first lines, and the source
//! is read again in it.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::Request;
use tokio::sync::oneshot;
use weir_core::{Format, UnparsedLine};
use weir_ingest::{
    Fault, FormatChoice, Input, Intake, Pipeline, SourceOptions, SourceProgress, SourceWriter,
    is_packed, read_inputs,
};
use weir_net::{IncomingBody, RequestBody};
use weir_sync::Lock;
use weir_view::FormatTrial;

use crate::read_back::unreadable_reason;
use crate::refusal::Refusal;
use crate::session::Session;

/// The most bytes of a definition.
const DEFINITION_BYTES_MAX: usize = 16 << 10;

/// The most bytes of lines that a page may send for a trial, and that are read of a file.
const LINES_BYTES_MAX: usize = 64 << 10;

/// Compiles the format that a page states.
pub(crate) fn forced_format(definition: &str) -> Result<FormatChoice, Refusal> {
    check_length(definition)?;
    match Format::parse(definition) {
        Ok(format) => Ok(FormatChoice::Forced(Arc::new(format))),
        Err(error) => Err(Refusal::BadRequest(error.to_string())),
    }
}

fn check_length(definition: &str) -> Result<(), Refusal> {
    match definition.len() > DEFINITION_BYTES_MAX {
        true => Err(Refusal::BadRequest(format!(
            "the definition of a format must have at most {DEFINITION_BYTES_MAX} bytes"
        ))),
        false => Ok(()),
    }
}

/// Tries a definition on the lines in the body of a request or, if it has none, on those of the
/// source that the server has.
pub(crate) async fn try_definition(
    session: &Session,
    number: u32,
    definition: String,
    request: Request<IncomingBody>,
) -> Result<FormatTrial, Refusal> {
    check_length(&definition)?;
    let source = source(session, number)?;
    let sent = read_lines(request).await?;
    let trial = move || {
        let lines = if sent.is_empty() || is_packed(&sent) { lines_of(&source) } else { sent };
        FormatTrial::of(&definition, whole_lines(&lines))
    };
    tokio::task::spawn_blocking(trial).await.map_err(Refusal::internal)
}

/// Reads the file of a source on the disk again in a format, in the place of the source. Returns when
/// the reading has begun.
///
/// # Errors
/// If that is not possible. The source then stays as it is.
pub(crate) async fn read_again(
    session: &Arc<Session>,
    number: u32,
    definition: &str,
) -> Result<(), Refusal> {
    let format = forced_format(definition)?;
    let pipeline = session.pipeline().ok_or(Refusal::SessionEnded)?;
    let source = source(session, number)?;
    if source.end().is_none() {
        let name = source.name();
        let why = format!("{name} is still being read; start Weir with this --format instead");
        return Err(Refusal::NotAgain(why));
    }
    let (path, numbers) = file_of(session, &source)?;
    let (removed, begun) = oneshot::channel();
    let intake = ReplacingIntake {
        pipeline,
        session: session.clone(),
        before: Lock::new(Some(Replaced { numbers, removed })),
    };
    let reading = tokio::task::spawn_blocking(move || {
        read_inputs(&intake, &[Input::File(path.into())], &format, 1).into_iter().next()
    });
    match begun.await {
        // What cannot be read from now on is said where the source stands.
        Ok(result) => result,
        Err(_) => {
            let fault = reading.await.map_err(Refusal::internal)?;
            let error = fault.as_ref().and_then(Fault::error);
            let why = error.map_or_else(String::new, |error| format!(": {error}"));
            Err(Refusal::NotAgain(format!("{} cannot be read again{why}", source.name())))
        }
    }
}

/// Removes sources when the first one opens that takes their place.
#[derive(Debug)]
struct ReplacingIntake {
    pipeline: Arc<Pipeline>,
    session: Arc<Session>,
    /// `None` after they were removed.
    before: Lock<Option<Replaced>>,
}

/// Sources that are to be removed.
#[derive(Debug)]
struct Replaced {
    numbers: Vec<u32>,
    /// Receives whether they were still there.
    removed: oneshot::Sender<Result<(), Refusal>>,
}

impl Intake for ReplacingIntake {
    fn open(&self, options: SourceOptions) -> SourceWriter {
        let writer = self.pipeline.open(options);
        if let Some(Replaced { numbers, removed }) = self.before.lock().take() {
            let results = numbers.into_iter().map(|number| self.session.remove_source(number));
            let result = results.reduce(Result::or).unwrap_or(Ok(()));
            if result.is_err() {
                // Another request has replaced them already.
                let _ = self.session.remove_source(writer.progress().number());
            }
            // A client that has gone needs no answer.
            let _ = removed.send(result);
        }
        writer
    }

    fn is_watched(&self) -> bool {
        self.pipeline.is_watched()
    }
}

fn source(session: &Session, number: u32) -> Result<Arc<SourceProgress>, Refusal> {
    let sources = session.data()?.sources();
    sources.into_iter().find(|source| source.number() == number).ok_or(Refusal::UnknownSource)
}

/// The path of the file that a source was read from, and the numbers of all sources in it.
fn file_of(session: &Session, source: &SourceProgress) -> Result<(PathBuf, Vec<u32>), Refusal> {
    let gone = |why: &dyn std::fmt::Display| {
        Refusal::NotAgain(format!("{} cannot be read again: {why}", source.name()))
    };
    if let Some(packed) = source.packed_file() {
        let path = packed.current_path().map_err(|error| gone(&error))?;
        let is_in_file = |other: &Arc<SourceProgress>| {
            other.packed_file().is_some_and(|file| Arc::ptr_eq(file, packed))
        };
        let sources = session.data()?.sources();
        let numbers = sources.iter().filter(|other| is_in_file(other)).map(|it| it.number());
        return Ok((path, numbers.collect()));
    }
    match source.file_spans().as_deref() {
        Some([span]) => {
            span.read(|_| false).map_err(|error| gone(&error))?;
            Ok((span.current_path().map_err(|error| gone(&error))?, vec![source.number()]))
        }
        _ => Err(Refusal::NotAgain(format!(
            "{}; add the file, or start Weir with this --format",
            unreadable_reason(source)
        ))),
    }
}

/// The body of a request: lines.
async fn read_lines(request: Request<IncomingBody>) -> Result<Vec<u8>, Refusal> {
    let (_, mut body) = RequestBody::of(request);
    let mut lines = Vec::new();
    while let Some(bytes) = body.next().await {
        let bytes = bytes.map_err(|error| Refusal::SlowUpload(error.to_string()))?;
        if lines.len() + bytes.len() > LINES_BYTES_MAX {
            return Err(Refusal::BadRequest(format!(
                "a format is tried on at most {LINES_BYTES_MAX} bytes; send fewer lines"
            )));
        }
        lines.extend_from_slice(&bytes);
    }
    Ok(lines)
}

/// The first lines of a file on the disk, or else the samples of lines that could not be parsed.
fn lines_of(source: &SourceProgress) -> Vec<u8> {
    let mut lines = Vec::new();
    if let Some(spans) = source.file_spans() {
        for span in spans {
            let read = span.read(|bytes| {
                lines.extend_from_slice(bytes);
                lines.len() < LINES_BYTES_MAX
            });
            if read.is_err() || lines.len() >= LINES_BYTES_MAX {
                break;
            }
        }
        lines.truncate(LINES_BYTES_MAX);
    }
    if lines.is_empty() {
        let samples = source.snapshot().samples;
        let whole = samples.iter().filter(|sample| sample.text.len() < UnparsedLine::BYTES_MAX);
        lines = whole.flat_map(|sample| [&sample.text[..], b"\n"].concat()).collect();
    }
    lines
}

/// The lines without the last one, if it may have been cut off.
fn whole_lines(lines: &[u8]) -> &[u8] {
    let end = lines.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
    match end {
        Some(end) if lines.len() == LINES_BYTES_MAX => &lines[..end],
        _ => lines,
    }
}
