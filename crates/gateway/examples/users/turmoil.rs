//! What goes wrong during a run.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::clients::Shared;
use crate::site::Site;

/// The time between two events, and until a killed server is started again.
const PAUSE: Duration = Duration::from_millis(700);
const DOWN_FOR: Duration = Duration::from_millis(300);

/// What happened.
#[derive(Default)]
pub(crate) struct Events {
    /// The backends whose servers were killed, and when.
    pub(crate) kills: Vec<(&'static str, [Instant; 2])>,
    reloads: usize,
    losses_of_sessions: usize,
    changes_of_key: usize,
}

impl Events {
    pub(crate) fn summary(&self) -> String {
        format!(
            "{} servers killed, {} times the configuration read again, {} times the sessions of a \
             backend lost, {} changes of the key",
            self.kills.len(),
            self.reloads,
            self.losses_of_sessions,
            self.changes_of_key
        )
    }
}

/// Lets one thing go wrong after the other until all requests have been sent.
pub(crate) async fn run(site: &mut Site, shared: &Shared) -> Outcome<Events> {
    let mut events = Events::default();
    for step in 0.. {
        if shared.next.load(Ordering::Relaxed) >= shared.requests {
            break;
        }
        match step % 10 {
            0 | 6 => {
                site.reload()?;
                events.reloads += 1;
            }
            1 | 4 | 9 => kill(site, step % 4, &mut events).await?,
            2 | 7 => {
                site.forget_sessions(step % 2)?;
                events.losses_of_sessions += 1;
            }
            3 => {
                shared.issuer.prepare()?;
                site.publish(&shared.issuer.key_set())?;
            }
            5 => {
                shared.issuer.change();
                events.changes_of_key += 1;
            }
            // Requests with the old tokens are over by now.
            _ => site.publish(&shared.issuer.key_set())?,
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(events)
}

async fn kill(site: &mut Site, server: usize, events: &mut Events) -> Outcome {
    events.kills.push(site.kill(server)?);
    tokio::time::sleep(DOWN_FOR).await;
    site.start_again(server)
}
