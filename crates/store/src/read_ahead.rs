//! Reads records, and decodes their segments, on a thread of its own.

use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Scope;

use crate::code::Decoder;
use crate::record::{RecordKind, Torn, read_record};
use crate::section::Tag;
use crate::segment::{self, DecodedSegment};

/// The most segments that are decoded ahead in one record. A record of a writer has one.
const SEGMENTS_MAX: usize = 16;

/// A whole record.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) kind: RecordKind,
    pub(crate) payload: Vec<u8>,
    /// The first segments of its sections, in their order. `None` for one that is damaged.
    pub(crate) segments: Vec<Option<DecodedSegment>>,
}

/// The records of an input, in their order.
#[derive(Debug)]
pub(crate) struct RecordsAhead {
    records: Receiver<Result<Option<Record>, Torn>>,
    /// Payloads that were used, so that their memory is used again.
    used: Sender<Vec<u8>>,
}

impl RecordsAhead {
    /// Begins to read one record ahead. The thread ends after the last record, or after these records are dropped.
    pub(crate) fn begin<'scope>(
        scope: &'scope Scope<'scope, '_>,
        input: &'scope mut (impl Read + Send),
    ) -> Self {
        let (sender, records) = sync_channel(0);
        let (used, spare) = channel();
        scope.spawn(move || read_all(input, &sender, &spare));
        Self { records, used }
    }

    /// Returns the next record; `None` at the end of the input. After an error there is no other.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, Torn> {
        self.records.recv().unwrap_or(Ok(None))
    }

    /// Takes back the payload of a record.
    pub(crate) fn give_back(&mut self, payload: Vec<u8>) {
        // If the thread has ended, nothing needs it.
        let _ = self.used.send(payload);
    }
}

fn read_all(
    input: &mut impl Read,
    sender: &SyncSender<Result<Option<Record>, Torn>>,
    spare: &Receiver<Vec<u8>>,
) {
    loop {
        let mut payload = spare.try_recv().unwrap_or_default();
        let read = read_record(input, &mut payload)
            .map(|kind| kind.map(|kind| Record { kind, segments: segments(&payload), payload }));
        let is_last = !matches!(read, Ok(Some(_)));
        if sender.send(read).is_err() || is_last {
            return;
        }
    }
}

/// The first segments of a payload, up to one that is damaged.
fn segments(payload: &[u8]) -> Vec<Option<DecodedSegment>> {
    let (mut decoder, mut segments) = (Decoder::new(payload), Vec::new());
    while segments.len() < SEGMENTS_MAX
        && let Some((tag, mut section)) = decoder.section()
    {
        if tag == Tag::Segment {
            let decoded = segment::decode_whole(&mut section);
            let is_damaged = decoded.is_none();
            segments.push(decoded);
            if is_damaged {
                break;
            }
        }
    }
    segments
}
