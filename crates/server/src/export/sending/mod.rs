//! Sends the bytes of an export, or counts them.
//!
//! Parts are computed on blocking threads one at a time, so that a client that does not read holds
//! no thread.

mod reader;

use std::ops::Range;

use bytes::Bytes;
use tokio::task::spawn_blocking;
use weir_ingest::DataSet;
use weir_net::BodySender;
use weir_observe::task::{TaskKind, TaskName};
use weir_query::RowExport;

use crate::refusal::Refusal;
use crate::turns::ExportTurn;
use reader::{Ended, Reader};

/// A source of a file's parts.
pub(super) trait PartSource: Send + 'static {
    /// Returns the next part, which may be empty, or `None` at the end.
    ///
    /// # Errors
    /// Fails if the rest cannot be computed.
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal>;
}

impl PartSource for Box<dyn PartSource> {
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        (**self).next_part()
    }
}

impl PartSource for RowExport<DataSet> {
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        Ok(self.next_part()?)
    }
}

/// Where an export is sent.
pub(super) struct Destination<T, C> {
    pub(super) sender: BodySender,
    pub(super) turn: ExportTurn,
    /// The bytes that the client has taken so far; `None` if only whole parts can be counted.
    pub(super) taken_bytes: T,
    /// Ends the connection to a client that leaves bytes untaken while another export wants its place.
    pub(super) cut_off: C,
}

/// Sends a range of a file's bytes until the client disconnects or is cut off. The range may end
/// beyond the file. Returns the length of the file if all of it was computed.
pub(super) async fn send(
    mut parts: impl PartSource,
    range: Range<u64>,
    destination: Destination<impl Fn() -> Option<u64>, impl Fn()>,
) -> Option<u64> {
    let Destination { sender, turn, taken_bytes, cut_off } = destination;
    let mut reader = Reader { turn, taken_bytes, cut_off };
    let mut taken_bytes_expected = (reader.taken_bytes)().unwrap_or_default();
    let mut at = 0;
    while at < range.end {
        let next = async {
            reader.wait_until_taken(taken_bytes_expected, &sender).await?;
            reader.turn.resume().await;
            next(parts).await.map_err(|_| Ended)
        };
        let next = tokio::select! {
            next = next => next,
            // Nothing is sent before the range begins, so a failed send cannot reveal that the
            // client has gone.
            () = sender.closed() => return None,
        };
        // Leaving here cuts the body short, which the client notices.
        let Ok((part, rest)) = next else { return None };
        parts = rest;
        let Some(part) = part else {
            // An error means that the client has gone.
            let _ = sender.finish();
            return Some(at);
        };
        let end = at + part.len() as u64;
        let wanted = range.start.clamp(at, end)..range.end.clamp(at, end);
        let bytes =
            Bytes::from(part).slice((wanted.start - at) as usize..(wanted.end - at) as usize);
        taken_bytes_expected += bytes.len() as u64;
        if reader.wait_for_room(sender.send(bytes)).await.is_err() {
            return None;
        }
        at = end;
    }
    let _ = sender.finish();
    None
}

/// Computes all bytes of a file to count them. Dropping the future stops the work after the current
/// part.
///
/// # Errors
/// Fails if the file cannot be computed, or the server ends.
pub(super) async fn length(mut parts: impl PartSource) -> Result<u64, Refusal> {
    let mut bytes = 0;
    loop {
        let (part, rest) = next(parts).await?;
        parts = rest;
        let Some(part) = part else { return Ok(bytes) };
        bytes += part.len() as u64;
    }
}

/// Computes a part of an export.
static PART: TaskKind = TaskKind::short("part of an export");

/// Computes the next part on another thread.
async fn next<P: PartSource>(mut parts: P) -> Result<(Option<Vec<u8>>, P), Refusal> {
    let call = PART.observe_call(TaskName::Unnamed, move || (parts.next_part(), parts));
    let made = spawn_blocking(call).await;
    // This fails only if the work panics, or the server ends.
    let (part, parts) = made.map_err(|_| Refusal::SessionEnded)?;
    Ok((part?, parts))
}

#[cfg(test)]
mod tests;
