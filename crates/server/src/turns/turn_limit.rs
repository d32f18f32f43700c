//! Turns of one kind of work, which are limited in all sessions and in each.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The limits of one kind of work: in all sessions, and in this one.
#[derive(Debug)]
pub(super) struct TurnLimit {
    pub(super) server: Arc<Semaphore>,
    pub(super) session: Arc<Semaphore>,
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
        let acquire = |turns: &Arc<Semaphore>| turns.clone().acquire_owned();
        [None, acquire(&self.session).await.ok(), acquire(&self.server).await.ok()]
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
