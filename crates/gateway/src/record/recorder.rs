//! Collects records, and hands them to the data set from time to time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use weir_core::{Record, RecordLayout};
use weir_ingest::{RecordWriter, StopReason};
use weir_observe::mark;

use super::{EXTRA_FIELDS, layout};
use crate::access_log::AccessLog;
use crate::glass::{RequestCaptures, TunnelCaptures};
use crate::meter::Meter;
use crate::notices::Notices;

/// How long records wait for others.
const INTERVAL: Duration = Duration::from_millis(50);

/// Waiting records that are handed on before the end of the interval.
const BLOCK_BYTES: usize = 1 << 20;

/// Waiting records beyond this are dropped and counted: requests must not wait for the picture of them.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Collects the records of all requests.
#[derive(Debug)]
pub struct Recorder {
    layout: RecordLayout,
    waiting: Mutex<Vec<u8>>,
    /// There is a block of records.
    is_full: Notify,
    dropped: AtomicU64,
    notices: Notices,
    access_log: AccessLog,
    meter: Meter,
    captures: Arc<RequestCaptures>,
    tunnels: Arc<TunnelCaptures>,
}

impl Recorder {
    /// An empty recorder.
    pub(crate) fn new(notices: Notices) -> Arc<Self> {
        Arc::new(Self {
            layout: layout(),
            waiting: Mutex::default(),
            is_full: Notify::new(),
            dropped: AtomicU64::new(0),
            access_log: AccessLog::new(&EXTRA_FIELDS, notices.clone()),
            notices,
            meter: Meter::default(),
            captures: Arc::default(),
            tunnels: Arc::default(),
        })
    }

    /// What a person should hear of.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// The form of the records.
    pub fn layout(&self) -> &RecordLayout {
        &self.layout
    }

    /// The number of records that were dropped because those before them were not taken in time.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The counts of requests.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Those who wait for a request.
    pub(crate) fn captures(&self) -> &Arc<RequestCaptures> {
        &self.captures
    }

    /// Those who wait to look at a tunnel.
    pub(crate) fn tunnels(&self) -> &Arc<TunnelCaptures> {
        &self.tunnels
    }

    /// Bytes of records that wait to be handed on.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The log that has a line for each record, if it is on.
    pub fn access_log(&self) -> &AccessLog {
        &self.access_log
    }

    /// Takes a record.
    pub(crate) fn put(&self, record: &Record<'_>) {
        let _call = mark!("Recorder::put").enter();
        self.access_log.put(record);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Hands the records to a source of a pipeline, until that has to stop.
    pub async fn run(&self, mut writer: RecordWriter) -> StopReason {
        let mut noted = 0;
        loop {
            // The end of the interval is no error.
            let _ = tokio::time::timeout(INTERVAL, self.is_full.notified()).await;
            let spare = writer.take_spare();
            let packed = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
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
                    "{dropped} requests are not in the picture: they came faster than they were counted"
                );
                writer.progress().set_note(Some(note));
            }
        }
    }
}
