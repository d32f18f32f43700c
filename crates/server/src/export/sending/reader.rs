//! The client of an export, which others wait for.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use weir_net::{BodySender, ClientGoneError};

use crate::turns::ExportTurn;

/// An export whose client takes nothing for this time ends if another one waits for its place. The
/// client can ask for the rest.
///
/// A system tells that its reader has taken bytes once there is room for a packet, which has 64 KiB on
/// the same machine: of a client that reads 50 kB a second, this was seen every 1.0 to 1.7 s.
pub(super) const UNREAD_MAX: Duration = Duration::from_secs(3);

/// How often a wait for a client looks what the client has taken, and whether others wait. If one waits
/// for a turn, it gets that of a client that has taken nothing since the last look.
pub(super) const UNREAD_CHECK: Duration = Duration::from_millis(100);

/// A client that takes its bytes slowly keeps its turn for this time, if others wait.
pub(super) const SLOW_TURN_MAX: Duration = Duration::from_secs(1);

/// How often a wait looks whether the client has taken a part before the next one is made.
const TAKEN_CHECK: Duration = Duration::from_millis(10);

/// The client has gone or was cut off.
pub(super) struct Ended;

/// The client of an export, which others wait for.
pub(super) struct Reader<T, C> {
    pub(super) turn: ExportTurn,
    pub(super) taken_bytes: T,
    pub(super) cut_off: C,
}

/// What a wait for a client has seen.
struct Look {
    taken: Option<u64>,
    /// Since when it is the same.
    since: Instant,
}

impl<T: Fn() -> Option<u64>, C: Fn()> Reader<T, C> {
    fn first_look(&self) -> Look {
        Look { taken: (self.taken_bytes)(), since: Instant::now() }
    }

    /// Looks again what the client has taken. Makes way for others if that is nothing, or takes long.
    ///
    /// # Errors
    /// If the client was cut off.
    fn look_again(&mut self, look: &mut Look) -> Result<(), Ended> {
        let taken = (self.taken_bytes)();
        let is_unread = taken == look.taken;
        if !is_unread {
            (look.taken, look.since) = (taken, Instant::now());
        }
        if is_unread || self.turn.held() >= SLOW_TURN_MAX {
            self.turn.give_way();
        }
        if look.since.elapsed() >= UNREAD_MAX && self.turn.promise_place() {
            (self.cut_off)();
            return Err(Ended);
        }
        Ok(())
    }

    /// Waits until a part is queued for the client.
    ///
    /// # Errors
    /// If the client has gone or was cut off.
    pub(super) async fn wait_for_room(
        &mut self,
        sending: impl Future<Output = Result<(), ClientGoneError>>,
    ) -> Result<(), Ended> {
        let mut sending = pin!(sending);
        let mut look = self.first_look();
        loop {
            if let Ok(sent) = timeout(UNREAD_CHECK, &mut sending).await {
                return sent.map_err(|ClientGoneError| Ended);
            }
            self.look_again(&mut look)?;
        }
    }

    /// Waits until the client has taken this many bytes, or its connection all parts if only these can be
    /// counted, if another export waits for a turn or has got that of this one. So an unread export makes no more than it has to, and holds little.
    ///
    /// # Errors
    /// If the client was cut off.
    pub(super) async fn wait_until_taken(
        &mut self,
        bytes: u64,
        sender: &BodySender,
    ) -> Result<(), Ended> {
        let (mut look, mut looked) = (self.first_look(), Instant::now());
        let may_wait = |turn: &ExportTurn| turn.is_wanted() || turn.is_given_away();
        let is_untaken = |taken: Option<u64>| taken.map_or(sender.has_queued(), |it| it < bytes);
        while may_wait(&self.turn) && is_untaken((self.taken_bytes)()) {
            sleep(TAKEN_CHECK).await;
            if looked.elapsed() >= UNREAD_CHECK {
                looked = Instant::now();
                self.look_again(&mut look)?;
            }
        }
        Ok(())
    }
}
