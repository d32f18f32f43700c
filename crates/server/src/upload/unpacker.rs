//! Archives: a thread takes them apart while they come, each file in them a source of its own.

use std::io::{self, Read};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use weir_ingest::{FormatChoice, MemberLimit, Pipeline, ReadArchive, SourceProgress, read_archive};

/// Bytes that are handed over at once, at the most.
const PIECE_BYTES: usize = 256 << 10;

/// Pieces that wait to be unpacked, at the most; beyond these the connection waits.
const PIECES_MAX: usize = 8;

/// What an archive's files become sources of.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) format: FormatChoice,
    /// How many there may be of all archives of the session.
    pub(crate) limit: Arc<MemberLimit>,
}

/// The way of an archive's bytes to the thread that takes it apart. Dropped before its end, it
/// breaks the file off that is just being read.
#[derive(Debug)]
pub(super) struct Unpacker {
    pieces: mpsc::Sender<Piece>,
    outcome: oneshot::Receiver<ReadArchive>,
}

#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    End,
}

impl Unpacker {
    /// Starts the thread, which stops when the archive's source has ended. Where the system has
    /// no thread, [`Self::finish`] says so.
    pub(super) fn start(place: Place, archive: Arc<SourceProgress>) -> Self {
        let (pieces, receiver) = mpsc::channel(PIECES_MAX);
        let (ended, outcome) = oneshot::channel();
        let work = move || {
            let stream = Pieces { receiver, piece: Vec::new(), taken: 0, is_over: false };
            let Place { pipeline, format, limit } = &place;
            let read = read_archive(pipeline, &archive, stream, format, limit);
            // Nobody listens where the upload was given up.
            let _ = ended.send(read);
        };
        // A thread that did not start drops both channels, which is noticed at the end.
        let _ = std::thread::Builder::new().name("weir-unpack".to_owned()).spawn(work);
        Self { pieces, outcome }
    }

    /// Takes the next bytes; waits while as many wait as may. What stands behind the last
    /// file of an archive is passed over.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE_BYTES) {
            if self.pieces.send(Piece::Bytes(piece.to_vec())).await.is_err() {
                return;
            }
        }
    }

    /// Every byte has come: waits until all is unpacked and parsed. Gives what there is to say of it;
    /// `None` where the thread has failed.
    pub(super) async fn finish(&mut self) -> Option<ReadArchive> {
        let _ = self.pieces.send(Piece::End).await;
        let read = (&mut self.outcome).await.ok()?;
        for source in &read.sources {
            ended(source).await;
        }
        Some(read)
    }
}

/// Waits until a source has ended, parsed to its end or not.
async fn ended(source: &SourceProgress) {
    let mut parsed = source.parsed();
    loop {
        parsed.mark_unchanged();
        // The sender lives as long as the source.
        if source.end().is_some() || parsed.changed().await.is_err() {
            return;
        }
    }
}

/// The bytes of an archive, for the thread.
struct Pieces {
    receiver: mpsc::Receiver<Piece>,
    piece: Vec<u8>,
    /// Bytes of the piece that were read.
    taken: usize,
    is_over: bool,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() && !self.is_over {
            match self.receiver.blocking_recv() {
                Some(Piece::Bytes(bytes)) => (self.piece, self.taken) = (bytes, 0),
                Some(Piece::End) => self.is_over = true,
                None => return Err(io::Error::other("the upload was given up")),
            }
        }
        let length = (&self.piece[self.taken..]).read(buffer)?;
        self.taken += length;
        Ok(length)
    }
}
