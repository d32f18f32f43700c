//! The users of a session, and how long it is kept without any.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Session;

/// How long a session is kept while it has no users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// For the grace time.
    Grace,
    /// Until it was first viewed, and then for the grace time.
    UntilViewed,
    /// Until it is ended by a request or with the server.
    Pinned,
    /// Until the server ends: it is what the program shows.
    Served,
}

impl Lifetime {
    /// Returns whether disuse ends a session.
    pub(crate) fn can_end(self) -> bool {
        !matches!(self, Self::Pinned | Self::Served)
    }
}

/// How a user uses a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    View,
    Upload,
}

#[derive(Debug)]
pub(super) struct Presence {
    users: usize,
    lifetime: Lifetime,
    /// When the last user left; at first, when the session was created.
    unused_since: Instant,
}

impl Presence {
    pub(super) fn new(lifetime: Lifetime) -> Self {
        Self { users: 0, lifetime, unused_since: Instant::now() }
    }
}

impl Session {
    /// Counts a user until the returned value is dropped.
    pub(crate) fn enter(self: &Arc<Self>, access: Access) -> UserGuard {
        self.presence.send_modify(|presence| {
            presence.users += 1;
            if access == Access::View && presence.lifetime == Lifetime::UntilViewed {
                presence.lifetime = Lifetime::Grace;
            }
        });
        UserGuard(self.clone())
    }

    /// Returns the number of pages and uploads that use the session.
    pub(crate) fn users(&self) -> usize {
        self.presence.borrow().users
    }

    /// Returns whether a program fills the session.
    pub(crate) fn is_pinned(&self) -> bool {
        !self.presence.borrow().lifetime.can_end()
    }

    /// Returns whether the program serves the session under a name, which is its id.
    pub(crate) fn is_served(&self) -> bool {
        self.presence.borrow().lifetime == Lifetime::Served
    }

    /// Returns since when the session has had no user; `None` if it has one or is pinned.
    pub(crate) fn unused_since(&self) -> Option<Instant> {
        let presence = self.presence.borrow();
        let is_unused = presence.users == 0 && presence.lifetime.can_end();
        is_unused.then_some(presence.unused_since)
    }

    /// Sets the lifetime to the grace time.
    pub(crate) fn release(&self) {
        self.presence.send_modify(|presence| presence.lifetime = Lifetime::Grace);
    }

    /// Waits until the session has had no user for the grace time, or is ended.
    pub(crate) async fn unused_for(&self, grace: Duration) {
        let mut presence = self.presence.subscribe();
        let is_unused =
            |presence: &Presence| presence.users == 0 && presence.lifetime == Lifetime::Grace;
        let unused = async {
            loop {
                // Waiting cannot fail, because the sender lives in `self`.
                let _ = presence.wait_for(is_unused).await;
                let used = presence.wait_for(|presence| !is_unused(presence));
                if tokio::time::timeout(grace, used).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = unused => {}
            () = self.ended() => {}
        }
    }
}

/// Counts one user of a session.
#[derive(Debug)]
pub(crate) struct UserGuard(Arc<Session>);

impl Drop for UserGuard {
    fn drop(&mut self) {
        self.0.presence.send_modify(|presence| {
            presence.users -= 1;
            presence.unused_since = Instant::now();
        });
    }
}
