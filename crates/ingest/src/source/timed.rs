//! Streams that bring bytes when they like: read on a thread of their own, so that whoever
//! waits for more can do something with what came.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::broken::Medium;

/// How long nothing may come before that is said.
const TICK: Duration = Duration::from_millis(20);

/// Bytes that are read at once: what a pipe holds, unless it was made larger.
const READ_BYTES: usize = 64 << 10;

/// Reads that wait.
const WAITING_MAX: usize = 16;

/// What one read brought: the first `length` bytes of a buffer that is used again.
struct Piece {
    buffer: Vec<u8>,
    length: usize,
}

/// A stream that says `WouldBlock` where it brings nothing for now, once the medium may tick.
pub(super) struct Timed {
    pieces: Receiver<io::Result<Piece>>,
    /// Buffers go back here: to make one anew costs as much as to fill it.
    used: SyncSender<Vec<u8>>,
    piece: Piece,
    given: usize,
    medium: Medium,
}

impl Timed {
    /// Opens a stream and reads it, both on a thread of its own: to open a FIFO takes until
    /// somebody writes to it. The thread ends with the stream, or at the next bytes when
    /// this is dropped.
    pub(super) fn new<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        medium: &Medium,
    ) -> io::Result<Self> {
        let (sender, pieces) = sync_channel(WAITING_MAX);
        let (used, spare) = sync_channel(WAITING_MAX);
        let thread = thread::Builder::new().name("weir-read".to_owned());
        thread.spawn(move || send(open, &sender, &spare))?;
        let piece = Piece { buffer: Vec::new(), length: 0 };
        Ok(Self { pieces, used, piece, given: 0, medium: medium.clone() })
    }

    /// The next piece; `None` at the end.
    fn receive(&self) -> io::Result<Option<Piece>> {
        let received = match self.medium.may_tick() {
            true => self.pieces.recv_timeout(TICK),
            false => self.pieces.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(piece) => piece.map(Some),
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::WouldBlock.into()),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.length {
            let Some(piece) = self.receive()? else { return Ok(0) };
            let old = std::mem::replace(&mut self.piece, piece);
            self.given = 0;
            // Where there are enough, it is freed.
            let _ = self.used.try_send(old.buffer);
        }
        let length = (&self.piece.buffer[self.given..self.piece.length]).read(buffer)?;
        self.given += length;
        Ok(length)
    }
}

fn send<R: Read>(
    open: impl FnOnce() -> io::Result<R>,
    sender: &SyncSender<io::Result<Piece>>,
    spare: &Receiver<Vec<u8>>,
) {
    let mut stream = match open() {
        Ok(stream) => stream,
        // Nobody is there to be told where this fails, here and below.
        Err(error) => return drop(sender.send(Err(error))),
    };
    loop {
        let mut buffer = spare.try_recv().unwrap_or_default();
        buffer.resize(READ_BYTES, 0);
        let length = match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return drop(sender.send(Err(error))),
        };
        if sender.send(Ok(Piece { buffer, length })).is_err() {
            return;
        }
    }
}
