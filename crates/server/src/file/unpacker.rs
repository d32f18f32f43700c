//! Unpacks a packed file on a thread while it arrives. Each member of an archive becomes a source.

use std::io::{self, Read};
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};
use weir_ingest::{
    FormatChoice, HeldBytes, Intake, MemberLimit, ReadUpload, SourceProgress, SourceWriter,
    StopReason, read_upload,
};

use super::ack_offsets::AckOffsets;

/// The maximum size of a piece that is sent to the thread, in bytes.
const PIECE_BYTES: usize = 256 << 10;

/// The maximum number of pieces that wait for the thread. Above it the connection waits.
const PIECES_MAX: usize = 8;

/// The maximum number of packed files of a session that are unpacked at the same time, interrupted
/// ones included. Others wait, and so do their connections.
const THREADS_MAX: usize = 64;

/// The limits on all packed files of a session together.
#[derive(Debug)]
pub(crate) struct UnpackLimits {
    pub(crate) members: MemberLimit,
    threads: Arc<Semaphore>,
}

impl UnpackLimits {
    /// Creates limits of `members_max` files in archives.
    pub(crate) fn new(members_max: usize) -> Self {
        let threads = Arc::new(Semaphore::new(THREADS_MAX));
        Self { members: MemberLimit::new(members_max), threads }
    }
}

/// The destination of the text or the members in packed files.
#[derive(Debug, Clone)]
pub(crate) struct UnpackDestination {
    pub(crate) intake: Arc<dyn Intake>,
    pub(crate) format: FormatChoice,
    pub(crate) limits: Arc<UnpackLimits>,
}

/// Sends the bytes of a packed file to the thread that unpacks it. The thread ends if this is
/// dropped, or when the source has ended.
#[derive(Debug)]
pub(super) struct Unpacker {
    progress: Arc<SourceProgress>,
    pieces: mpsc::Sender<Piece>,
    outcome: oneshot::Receiver<ReadUpload>,
}

#[derive(Debug)]
enum Piece {
    Bytes(HeldPiece),
    /// The sender pauses. The channel is closed after all whole lines are submitted.
    Pause(oneshot::Sender<()>),
    End,
}

/// Bytes that count as waiting until they are unpacked.
#[derive(Debug)]
struct HeldPiece {
    bytes: Vec<u8>,
    _held: HeldBytes,
}

impl Unpacker {
    /// Starts the thread, and waits while too many run. If the system cannot start a thread,
    /// [`Self::finish`] returns `None`.
    ///
    /// # Errors
    /// If the source ends meanwhile.
    pub(super) async fn start(
        destination: UnpackDestination,
        writer: SourceWriter,
        ack_offsets: Arc<AckOffsets>,
    ) -> Result<Self, StopReason> {
        let progress = writer.progress().clone();
        // The semaphore is never closed.
        let permit = tokio::select! {
            permit = destination.limits.threads.clone().acquire_owned() => permit,
            () = wait_for_end(&progress) => return Err(StopReason::Cancelled),
        };
        let (pieces, receiver) = mpsc::channel(PIECES_MAX);
        let (sender, outcome) = oneshot::channel();
        let mut stream = PieceReader {
            receiver,
            progress: progress.clone(),
            ack_offsets,
            piece: None,
            position: 0,
            unpacked: 0,
            pause: None,
            has_ended: false,
        };
        let work = move || {
            let UnpackDestination { intake, format, limits } = &destination;
            let read = read_upload(intake, writer, &mut stream, format, &limits.members);
            if read.result.is_ok() {
                stream.skip_rest();
            }
            drop((stream, permit));
            // The receiver is gone if the upload was cancelled.
            let _ = sender.send(read);
        };
        // If the thread does not start, both channels are dropped, and `finish` returns `None`.
        let _ = std::thread::Builder::new().name("weir-unpack".to_owned()).spawn(work);
        Ok(Self { progress, pieces, outcome })
    }

    /// Sends the next bytes; waits while [`PIECES_MAX`] pieces are pending. Returns false if the
    /// thread has ended, which [`Self::finish`] explains.
    pub(super) async fn push(&mut self, bytes: &[u8]) -> bool {
        for piece in bytes.chunks(PIECE_BYTES) {
            let _held = self.progress.early_bytes().hold(piece.len());
            let piece = HeldPiece { bytes: piece.to_vec(), _held };
            if self.pieces.send(Piece::Bytes(piece)).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Lets the thread submit all whole lines of the bytes that were sent. Returns false if too many
    /// pieces wait for it.
    pub(super) fn submit_lines(&self) -> bool {
        let (sender, _) = oneshot::channel();
        !matches!(
            self.pieces.try_send(Piece::Pause(sender)),
            Err(mpsc::error::TrySendError::Full(_))
        )
    }

    /// Waits until all whole lines of the bytes that were sent are parsed, or the source ends.
    pub(super) async fn wait_until_parsed(&self) {
        let (sender, submitted) = oneshot::channel();
        let parsed = async {
            // Both fail only if the thread has ended.
            let _ = self.pieces.send(Piece::Pause(sender)).await;
            let _ = submitted.await;
            self.progress.wait_until_parsed(self.progress.submitted()).await;
        };
        tokio::select! {
            () = parsed => {}
            () = wait_for_end(&self.progress) => {}
        }
    }

    /// Ends the file after its last byte. Waits until everything is unpacked and the members of an
    /// archive are parsed. Returns `None` if the thread has failed.
    pub(super) async fn finish(self) -> Option<ReadUpload> {
        let _ = self.pieces.send(Piece::End).await;
        let read = self.outcome.await.ok()?;
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

/// Reads the bytes of the file in the thread. The bytes that earlier reads have returned are
/// unpacked when the next read begins, and their text is in the writer.
struct PieceReader {
    receiver: mpsc::Receiver<Piece>,
    progress: Arc<SourceProgress>,
    ack_offsets: Arc<AckOffsets>,
    piece: Option<HeldPiece>,
    /// The offset of the first unread byte in `piece`.
    position: usize,
    /// The number of bytes in earlier pieces.
    unpacked: u64,
    /// The pause of the sender, if the last read has reported one.
    pause: Option<oneshot::Sender<()>>,
    has_ended: bool,
}

impl PieceReader {
    /// Counts the last piece after it was read.
    fn count_piece(&mut self) {
        let bytes = self.piece.take().map_or(0, |piece| piece.bytes.len() as u64);
        self.position = 0;
        self.unpacked += bytes;
        self.progress.add_compressed(bytes);
        self.ack_offsets.record(self.progress.written(), self.unpacked);
        if self.pause.take().is_some() {
            self.ack_offsets.clamp(self.progress.submitted());
        }
    }

    /// Reads the bytes after an archive, until the file ends.
    fn skip_rest(&mut self) {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            match self.read(&mut buffer) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    }
}

impl Read for PieceReader {
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] once for each pause of the sender.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(piece) =
                self.piece.as_ref().filter(|piece| self.position < piece.bytes.len())
            {
                let length = (&piece.bytes[self.position..]).read(buffer)?;
                self.position += length;
                return Ok(length);
            }
            self.count_piece();
            if self.has_ended {
                return Ok(0);
            }
            match self.receiver.blocking_recv() {
                Some(Piece::Bytes(piece)) => self.piece = Some(piece),
                Some(Piece::Pause(sender)) => {
                    self.pause = Some(sender);
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Some(Piece::End) => self.has_ended = true,
                None => return Err(io::Error::other("the upload was cancelled")),
            }
        }
    }
}
