//! Unpacks archives on a thread while they arrive. Each member becomes a source.

use std::io::{self, Read};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use weir_ingest::{
    EarlyBytes, FormatChoice, HeldBytes, MemberLimit, Pipeline, ReadArchive, SourceProgress,
    StreamError, read_archive,
};

/// The maximum size of a piece that is sent to the thread, in bytes.
const PIECE_BYTES: usize = 256 << 10;

/// The maximum number of pieces that wait for the thread. Above it the connection waits.
const PIECES_MAX: usize = 8;

/// The destination of an archive's members.
#[derive(Debug, Clone)]
pub(crate) struct MemberDestination {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) format: FormatChoice,
    /// The limit on the members of all archives of the session.
    pub(crate) limit: Arc<MemberLimit>,
}

/// Sends the bytes of an archive to the thread that unpacks it. If it is dropped before
/// [`Self::finish`], the current member ends as failed.
#[derive(Debug)]
pub(super) struct Unpacker {
    pieces: mpsc::Sender<Piece>,
    /// The count of the pieces that wait.
    early: EarlyBytes,
    outcome: oneshot::Receiver<ReadArchive>,
}

#[derive(Debug)]
enum Piece {
    Bytes {
        bytes: Vec<u8>,
        _held: HeldBytes,
    },
    End,
    /// The archive cannot be read further.
    Damage(StreamError),
}

impl Unpacker {
    /// Starts the thread, which stops after the archive's source has ended. If the system cannot
    /// start a thread, [`Self::finish`] returns `None`.
    pub(super) fn start(destination: MemberDestination, archive: Arc<SourceProgress>) -> Self {
        let (pieces, receiver) = mpsc::channel(PIECES_MAX);
        let (sender, outcome) = oneshot::channel();
        let early = archive.early_bytes().clone();
        let work = move || {
            let stream = PieceReader { receiver, piece: Vec::new(), position: 0, end: None };
            let MemberDestination { pipeline, format, limit } = &destination;
            let read = read_archive(pipeline, &archive, stream, format, limit);
            // The receiver is gone if the upload was cancelled.
            let _ = sender.send(read);
        };
        // If the thread does not start, both channels are dropped, and `finish` returns `None`.
        let _ = std::thread::Builder::new().name("weir-unpack".to_owned()).spawn(work);
        Self { pieces, early, outcome }
    }

    /// Sends the next bytes; waits while [`PIECES_MAX`] pieces are pending. Bytes after the last
    /// member are ignored.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE_BYTES) {
            let bytes = piece.to_vec();
            let piece = Piece::Bytes { _held: self.early.hold(bytes.len()), bytes };
            if self.pieces.send(piece).await.is_err() {
                return;
            }
        }
    }

    /// Ends the archive after its last byte or before the damage. Waits until everything is
    /// unpacked and parsed, and returns the outcome. Returns `None` if the thread has failed.
    pub(super) async fn finish(&mut self, damage: Option<&StreamError>) -> Option<ReadArchive> {
        let end = damage.map_or(Piece::End, |damage| Piece::Damage(damage.clone()));
        let _ = self.pieces.send(end).await;
        let read = (&mut self.outcome).await.ok()?;
        for source in &read.sources {
            wait_for_end(source).await;
        }
        Some(read)
    }
}

/// Waits until a source has ended, completely parsed or not.
async fn wait_for_end(source: &SourceProgress) {
    let mut parsed = source.parsed();
    loop {
        parsed.mark_unchanged();
        // The sender lives as long as the source.
        if source.end().is_some() || parsed.changed().await.is_err() {
            return;
        }
    }
}

/// Reads the bytes of an archive in the thread.
struct PieceReader {
    receiver: mpsc::Receiver<Piece>,
    piece: Vec<u8>,
    /// The offset of the first unread byte in `piece`.
    position: usize,
    /// The end of the pieces. Every later read returns it again.
    end: Option<Result<(), StreamError>>,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.piece.len() && self.end.is_none() {
            match self.receiver.blocking_recv() {
                Some(Piece::Bytes { bytes, .. }) => (self.piece, self.position) = (bytes, 0),
                Some(Piece::End) => self.end = Some(Ok(())),
                Some(Piece::Damage(damage)) => self.end = Some(Err(damage)),
                None => return Err(io::Error::other("the upload was cancelled")),
            }
        }
        if let Some(Err(damage)) = &self.end {
            return Err(damage.clone().into_io_error());
        }
        let length = (&self.piece[self.position..]).read(buffer)?;
        self.position += length;
        Ok(length)
    }
}
