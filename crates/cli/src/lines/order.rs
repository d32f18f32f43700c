//! Several inputs at once, with their output in order.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Output that is handed on at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks of an input that wait for its turn, at the most; the input is not read on then.
const CHUNKS_MAX: usize = 32;

/// Where the work on one input writes to.
pub(crate) enum Ordered<'a> {
    /// The output itself: it is the turn of this input.
    Direct(&'a mut (dyn Write + Send)),
    /// Chunks that wait for the input's turn.
    Chunks { chunk: Vec<u8>, sender: SyncSender<Vec<u8>> },
}

impl Ordered<'_> {
    fn send(&mut self) -> io::Result<()> {
        let Self::Chunks { chunk, sender } = self else { return Ok(()) };
        if chunk.is_empty() {
            return Ok(());
        }
        let full = std::mem::replace(chunk, Vec::with_capacity(CHUNK_BYTES));
        sender.send(full).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Ordered<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(output) => output.write(bytes),
            Self::Chunks { chunk, .. } => {
                chunk.extend_from_slice(bytes);
                if chunk.len() >= CHUNK_BYTES {
                    self.send()?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(output) => output.flush(),
            Self::Chunks { .. } => self.send(),
        }
    }
}

/// Does `work` on inputs `0..count`, on so many at once, and writes what each writes in their
/// order. Gives the results in that order; those of inputs after a failed write are missing.
///
/// # Errors
/// Where the output cannot be written.
pub(crate) fn in_order<T: Send>(
    jobs: usize,
    count: usize,
    output: &mut (dyn Write + Send),
    work: impl Fn(usize, &mut Ordered<'_>) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    if jobs.min(count) <= 1 {
        let mut results = Vec::new();
        for index in 0..count {
            results.push(work(index, &mut Ordered::Direct(output))?);
        }
        output.flush()?;
        return Ok(results);
    }
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..count).map(|_| sync_channel::<Vec<u8>>(CHUNKS_MAX)).unzip();
    let senders: Vec<_> = senders.into_iter().map(|sender| Mutex::new(Some(sender))).collect();
    let results: Vec<Mutex<Option<io::Result<T>>>> = (0..count).map(|_| Mutex::default()).collect();
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let written = std::thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(|| {
                while !stopped.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(sender) = senders.get(index).and_then(taken) else { break };
                    let mut ordered = Ordered::Chunks { chunk: Vec::new(), sender };
                    let result = work(index, &mut ordered);
                    let result = result.and_then(|value| ordered.send().map(|()| value));
                    *locked(&results[index]) = Some(result);
                }
            });
        }
        let written = receivers.into_iter().try_for_each(|chunks| {
            chunks.into_iter().try_for_each(|chunk| output.write_all(&chunk))
        });
        stopped.store(true, Ordering::Relaxed);
        written.and_then(|()| output.flush())
    });
    written?;
    results.iter().filter_map(taken).collect()
}

fn taken<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    locked(slot).take()
}

fn locked<T>(slot: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::in_order;

    #[test]
    fn output_is_in_order_whatever_takes_longer() {
        for jobs in [1, 2, 7] {
            let mut output = Vec::new();
            let results = in_order(jobs, 20, &mut output, |index, ordered| {
                for _ in 0..(20 - index) * 5_000 {
                    ordered.write_all(&[b'a' + index as u8])?;
                }
                Ok(index)
            });
            assert_eq!(results.expect("it is written"), (0..20).collect::<Vec<_>>());
            assert!(output.is_sorted());
            assert_eq!(output.len(), 5_000 * 210);
        }
    }

    #[test]
    fn a_gone_reader_ends_all() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for jobs in [1, 3] {
            let endless = |_, ordered: &mut super::Ordered<'_>| loop {
                ordered.write_all(&[0; 1_000])?;
            };
            let result: io::Result<Vec<()>> = in_order(jobs, 5, &mut Gone, endless);
            assert_eq!(result.expect_err("nobody reads").kind(), io::ErrorKind::BrokenPipe);
        }
    }
}
