//! Runs parallel work and writes its output in the order of its parts.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use weir_sync::Lock;

/// The size of the chunks in which the output of a part is passed on.
const CHUNK_BYTES: usize = 64 << 10;

/// The number of chunks of one part that may wait for its turn. Work on the part pauses then,
/// which bounds the memory.
const CHUNKS_MAX: usize = 32;

/// The output of one part of the work.
#[derive(Debug)]
pub struct OrderedOutput<'a> {
    target: Target<'a>,
}

/// A chunk of the output of a part.
struct Chunk {
    bytes: Vec<u8>,
    /// Whether the output is flushed after it.
    is_flushed: bool,
}

enum Target<'a> {
    /// The output itself, because no earlier part is unwritten.
    Direct(&'a mut (dyn Write + Send)),
    /// Chunks that wait for the part's turn.
    Queued { chunk: Vec<u8>, sender: SyncSender<Chunk> },
}

impl std::fmt::Debug for Target<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Direct(_) => "Direct",
            Self::Queued { .. } => "Queued",
        })
    }
}

impl<'a> OrderedOutput<'a> {
    /// Creates an output that is written immediately.
    pub fn direct(output: &'a mut (dyn Write + Send)) -> Self {
        Self { target: Target::Direct(output) }
    }

    fn queued(sender: SyncSender<Chunk>) -> Self {
        Self { target: Target::Queued { chunk: Vec::new(), sender } }
    }

    /// Sends what waits, and whether the output is to be flushed after it.
    fn send_chunk(&mut self, is_flushed: bool) -> io::Result<()> {
        let Target::Queued { chunk, sender } = &mut self.target else { return Ok(()) };
        if chunk.is_empty() && !is_flushed {
            return Ok(());
        }
        let bytes = std::mem::replace(chunk, Vec::with_capacity(CHUNK_BYTES));
        sender.send(Chunk { bytes, is_flushed }).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for OrderedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Direct(output) => output.write(bytes),
            Target::Queued { chunk, .. } => {
                chunk.extend_from_slice(bytes);
                if chunk.len() >= CHUNK_BYTES {
                    self.send_chunk(false)?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Direct(output) => output.flush(),
            Target::Queued { .. } => self.send_chunk(true),
        }
    }
}

/// Calls `work` for the parts `0..count` on up to `threads` threads, and writes the output of
/// the parts in the order of their numbers.
///
/// Returns the results in that order. With one thread, output is written immediately; with more,
/// each part may be up to 2 MiB ahead of its turn.
///
/// # Errors
/// If the output cannot be written. Work that has begun ends at its next write.
pub fn run_in_order<T: Send>(
    threads: usize,
    count: usize,
    output: &mut (dyn Write + Send),
    work: impl Fn(usize, &mut OrderedOutput<'_>) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    if threads.min(count) <= 1 {
        let mut results = Vec::new();
        for index in 0..count {
            results.push(work(index, &mut OrderedOutput::direct(output))?);
        }
        output.flush()?;
        return Ok(results);
    }
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..count).map(|_| sync_channel::<Chunk>(CHUNKS_MAX)).unzip();
    let senders: Vec<_> = senders.into_iter().map(|sender| Lock::new(Some(sender))).collect();
    let results: Vec<Lock<Option<io::Result<T>>>> = (0..count).map(|_| Lock::default()).collect();
    let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let written = std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                while !is_stopped.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(sender) = senders.get(index).and_then(take) else { break };
                    let mut ordered = OrderedOutput::queued(sender);
                    let result = work(index, &mut ordered);
                    let result = result.and_then(|value| ordered.send_chunk(false).map(|()| value));
                    *results[index].lock() = Some(result);
                }
            });
        }
        let written = receivers.into_iter().try_for_each(|chunks| {
            chunks.into_iter().try_for_each(|chunk| {
                output.write_all(&chunk.bytes)?;
                if chunk.is_flushed { output.flush() } else { Ok(()) }
            })
        });
        is_stopped.store(true, Ordering::Relaxed);
        written.and_then(|()| output.flush())
    });
    written?;
    results.iter().filter_map(take).collect()
}

fn take<T>(slot: &Lock<Option<T>>) -> Option<T> {
    slot.lock().take()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::run_in_order;

    #[test]
    fn output_is_in_order_whichever_part_takes_longer() {
        for jobs in [1, 2, 7] {
            let mut output = Vec::new();
            let results = run_in_order(jobs, 20, &mut output, |index, ordered| {
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
    fn a_broken_pipe_ends_all_parts() {
        struct BrokenPipe;
        impl Write for BrokenPipe {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for jobs in [1, 3] {
            let endless = |_, ordered: &mut super::OrderedOutput<'_>| loop {
                ordered.write_all(&[0; 1_000])?;
            };
            let result: io::Result<Vec<()>> = run_in_order(jobs, 5, &mut BrokenPipe, endless);
            assert_eq!(result.expect_err("the pipe is broken").kind(), io::ErrorKind::BrokenPipe);
        }
    }
}
