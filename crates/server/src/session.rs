//! One session: a data set, its address, and who uses it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use weir_ingest::{DataSet, FormatChoice, MemberLimit, Pipeline};

use crate::options::Options;
use crate::refusal::Refusal;
use crate::upload::{Place, Purpose, Slot};

/// Files of one session: each is a line on the page and in every view.
const FILES_MAX: usize = 1_000;

/// Files in the archives of one session, all archives together: each is such a line too. One
/// archive may have as many.
const MEMBERS_MAX: usize = 10_000;

/// How long a session without users is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// For the grace time.
    Grace,
    /// Until somebody has looked at it, and for the grace time after that.
    UntilSeen,
    /// For ever.
    Pinned,
}

/// What somebody does with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Look,
    Upload,
}

#[derive(Debug)]
pub(crate) struct Session {
    id: String,
    zone: Option<String>,
    jobs: usize,
    /// `None` once the session is ended.
    pipeline: Mutex<Option<Arc<Pipeline>>>,
    slots: Mutex<Vec<Arc<Slot>>>,
    member_limit: Arc<MemberLimit>,
    presence: watch::Sender<Presence>,
    is_ended: watch::Sender<bool>,
}

#[derive(Debug)]
struct Presence {
    users: usize,
    hold: Hold,
}

impl Session {
    pub(crate) fn new(id: String, options: &Options, hold: Hold) -> Self {
        let settings = options.pipeline();
        let data = DataSet::new(settings.keep, settings.memory_bytes_max, &[]);
        let pipeline = Arc::new(Pipeline::start(&settings, data));
        Self {
            id,
            zone: options.zone.clone(),
            jobs: options.jobs,
            pipeline: Mutex::new(Some(pipeline)),
            slots: Mutex::default(),
            member_limit: Arc::new(MemberLimit::new(MEMBERS_MAX)),
            presence: watch::Sender::new(Presence { users: 0, hold }),
            is_ended: watch::Sender::new(false),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The zone of queries that name none.
    pub(crate) fn zone(&self) -> Option<&String> {
        self.zone.as_ref()
    }

    /// Threads for answering a question.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs
    }

    /// The pipeline; `None` once the session is ended.
    pub(crate) fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.pipeline.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The data set; an error once the session is ended.
    pub(crate) fn data(&self) -> Result<Arc<DataSet>, Refusal> {
        self.pipeline().map(|pipeline| pipeline.data().clone()).ok_or(Refusal::SessionEnded)
    }

    /// Says that the state of a source has changed.
    pub(crate) fn touch(&self) {
        if let Ok(data) = self.data() {
            data.touch();
        }
    }

    /// Counts a user until the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>, what: Use) -> User {
        self.presence.send_modify(|presence| {
            presence.users += 1;
            if what == Use::Look && presence.hold == Hold::UntilSeen {
                presence.hold = Hold::Grace;
            }
        });
        User(self.clone())
    }

    /// Keeps the session no longer than others.
    pub(crate) fn release(&self) {
        self.presence.send_modify(|presence| presence.hold = Hold::Grace);
    }

    /// Waits until the session had no user for so long, or is ended.
    pub(crate) async fn unused_for(&self, grace: Duration) {
        let mut presence = self.presence.subscribe();
        let free = |presence: &Presence| presence.users == 0 && presence.hold == Hold::Grace;
        let unused = async {
            loop {
                // The sender lives in `self`, so waiting cannot fail.
                let _ = presence.wait_for(free).await;
                let taken = presence.wait_for(|presence| !free(presence));
                if tokio::time::timeout(grace, taken).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = unused => {}
            () = self.ended() => {}
        }
    }

    /// Waits until the session is ended.
    pub(crate) async fn ended(&self) {
        let _ = self.is_ended.subscribe().wait_for(|is_ended| *is_ended).await;
    }

    /// The file of that id; a new one where there is none.
    pub(crate) fn open_file(
        &self,
        file: &str,
        bytes_total: Option<u64>,
        purpose: Purpose,
        format: &FormatChoice,
        name: &str,
    ) -> Result<Arc<Slot>, Refusal> {
        let mut slots = self.lock_slots();
        if let Some(slot) = slots.iter().find(|slot| slot.file() == file) {
            let is_same = slot.bytes_total() == bytes_total;
            return if is_same { Ok(slot.clone()) } else { Err(Refusal::FileChanged) };
        }
        if slots.len() >= FILES_MAX {
            return Err(Refusal::TooManyFiles(FILES_MAX));
        }
        let pipeline = self.pipeline().ok_or(Refusal::SessionEnded)?;
        let source = pipeline.source(name, bytes_total, format.clone());
        let limit = self.member_limit.clone();
        let place = Place { pipeline, format: format.clone(), limit };
        let slot = Arc::new(Slot::new(file, bytes_total, source, place, purpose));
        slots.push(slot.clone());
        Ok(slot)
    }

    /// The files that were uploaded.
    pub(crate) fn slots(&self) -> Vec<Arc<Slot>> {
        self.lock_slots().clone()
    }

    /// How many files of archives may become sources.
    pub(crate) fn member_limit(&self) -> &Arc<MemberLimit> {
        &self.member_limit
    }

    /// Ends the session: its sources, its threads, its connections. Its memory is free as
    /// soon as these have noticed.
    pub(crate) fn end(&self) {
        let pipeline = self.pipeline.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.is_ended.send_replace(true);
        for slot in self.lock_slots().drain(..) {
            slot.cancel();
        }
        if let Some(pipeline) = pipeline {
            pipeline.cancel();
        }
    }

    fn lock_slots(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who uses a session.
#[derive(Debug)]
pub(crate) struct User(Arc<Session>);

impl Drop for User {
    fn drop(&mut self) {
        self.0.presence.send_modify(|presence| presence.users -= 1);
    }
}
