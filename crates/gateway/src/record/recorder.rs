//! Buffers records, and passes them to the data set at intervals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use weir_core::{Record, RecordLayout};
use weir_ingest::{RecordWriter, StopReason};
use weir_observe::mark;
use weir_sync::Lock;

use super::{EXTRA_FIELDS, layout};
use crate::access_log::AccessLog;
use crate::capture::{RequestCaptures, TunnelCaptures};
use crate::meter::Meter;

/// The longest time that a record waits before it is passed on.
const INTERVAL: Duration = Duration::from_millis(50);

/// This many waiting bytes are passed on before the interval ends.
const BLOCK_BYTES: usize = 1 << 20;

/// Records beyond this many waiting bytes are dropped and counted: requests must not wait for the
/// pipeline.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Collects the records of all requests.
#[derive(Debug)]
pub struct Recorder {
    layout: RecordLayout,
    waiting: Lock<Vec<u8>>,
    /// Signalled when a block of records is full.
    is_full: Notify,
    dropped: AtomicU64,
    access_log: AccessLog,
    meter: Meter,
    captures: Arc<RequestCaptures>,
    tunnels: Arc<TunnelCaptures>,
}

impl Recorder {
    /// Creates an empty recorder.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            layout: layout(),
            waiting: Lock::default(),
            is_full: Notify::new(),
            dropped: AtomicU64::new(0),
            access_log: AccessLog::new(&EXTRA_FIELDS),
            meter: Meter::default(),
            captures: Arc::default(),
            tunnels: Arc::default(),
        })
    }

    /// The layout of the records.
    pub fn layout(&self) -> &RecordLayout {
        &self.layout
    }

    /// The number of records that were dropped because the pipeline was too slow.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The counts of requests.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The pending captures of requests.
    pub(crate) fn captures(&self) -> &Arc<RequestCaptures> {
        &self.captures
    }

    /// The pending captures of tunnels.
    pub(crate) fn tunnels(&self) -> &Arc<TunnelCaptures> {
        &self.tunnels
    }

    /// Bytes of records that wait for the pipeline.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.lock().len()
    }

    /// The access log, which is off by default.
    pub fn access_log(&self) -> &AccessLog {
        &self.access_log
    }

    /// Buffers a record, and writes its line to the access log.
    pub(crate) fn put(&self, record: &Record<'_>) {
        let _call = mark!("Recorder::put").enter();
        self.access_log.put(record);
        let mut waiting = self.waiting.lock();
        let before = waiting.len();
        if before > WAITING_BYTES_MAX {
            drop(waiting);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.layout.pack(record, &mut waiting);
        if before < BLOCK_BYTES && waiting.len() >= BLOCK_BYTES {
            drop(waiting);
            self.is_full.notify_one();
        }
    }

    /// Passes the records to a source of a pipeline, until the pipeline stops.
    pub async fn run(&self, mut writer: RecordWriter) -> StopReason {
        let mut noted = 0;
        loop {
            // The end of the interval is not an error.
            let _ = tokio::time::timeout(INTERVAL, self.is_full.notified()).await;
            let spare = writer.take_spare();
            let packed = {
                let mut waiting = self.waiting.lock();
                std::mem::replace(&mut *waiting, spare)
            };
            if !packed.is_empty()
                && let Err(reason) = writer.submit(packed).await
            {
                return reason;
            }
            let dropped = self.dropped();
            if dropped != noted {
                noted = dropped;
                let note = format!(
                    "{dropped} requests were not counted: they arrived faster than they could be processed"
                );
                writer.progress().set_note(Some(note));
            }
        }
    }
}
