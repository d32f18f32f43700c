//! Turns of one kind of work, which are limited in all sessions and in each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The limits of one kind of work: in all sessions, and in this one.
#[derive(Debug)]
pub(super) struct TurnLimit {
    server: Arc<Semaphore>,
    pub(super) session: Arc<Semaphore>,
}

/// Something that waits for a turn, until it is dropped.
pub(super) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    pub(super) fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The permission for one piece of work, until it is dropped.
pub(crate) type Turn = [Option<OwnedSemaphorePermit>; 3];

impl TurnLimit {
    pub(super) fn new(server: &Arc<Semaphore>, session_max: usize) -> Self {
        Self { server: server.clone(), session: Arc::new(Semaphore::new(session_max)) }
    }

    /// Waits for a turn, in order of arrival. It always gets one, because the semaphores are never
    /// closed.
    pub(super) async fn turn(&self) -> Turn {
        [None, self.session_turn().await, self.server_turn().await]
    }

    pub(super) async fn session_turn(&self) -> Option<OwnedSemaphorePermit> {
        self.session.clone().acquire_owned().await.ok()
    }

    pub(super) async fn server_turn(&self) -> Option<OwnedSemaphorePermit> {
        self.server.clone().acquire_owned().await.ok()
    }

    /// Waits for a turn of a viewer, who must have no other of the kind.
    pub(super) async fn turn_of(&self, viewer: &Arc<Semaphore>) -> Turn {
        let own = viewer.clone().acquire_owned().await.ok();
        let [_, session, server] = self.turn().await;
        [own, session, server]
    }

    /// Returns a turn of a viewer if one is free.
    pub(super) fn free_turn(&self, viewer: &Arc<Semaphore>) -> Option<Turn> {
        let free = |turns: &Arc<Semaphore>| turns.clone().try_acquire_owned().ok().map(Some);
        Some([free(viewer)?, free(&self.session)?, free(&self.server)?])
    }
}
