//! Decides which requests were allowed to fail.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::turmoil::Events;

/// How long after the end of a server the gateway may still take its connections for open.
const NOTICED_AFTER: Duration = Duration::from_millis(100);

/// Failures that are printed.
const SHOWN: usize = 10;

/// What happened to the requests of a client.
#[derive(Default)]
pub(crate) struct Report {
    /// Requests with the right answer.
    pub(crate) answered: usize,
    /// Answers that no user may get.
    pub(crate) wrong: Vec<String>,
    pub(crate) lost: Vec<Loss>,
    /// Answers 401 to requests with a body after the backend lost its sessions, by user and by the
    /// name of the time from then on.
    pub(crate) forgotten: HashMap<(usize, String), usize>,
}

/// A request without an answer of the backend.
pub(crate) struct Loss {
    /// The backend.
    pub(crate) tenant: &'static str,
    /// From when to when it was in flight.
    pub(crate) times: [Instant; 2],
    pub(crate) why: String,
}

/// The reports of all clients.
#[derive(Default)]
pub(crate) struct Judge(Report);

impl Judge {
    pub(crate) fn add(&mut self, report: Report) {
        let Self(all) = self;
        all.answered += report.answered;
        all.wrong.extend(report.wrong);
        all.lost.extend(report.lost);
        all.forgotten.extend(report.forgotten);
    }

    pub(crate) fn summary(&self) -> String {
        let Self(all) = self;
        format!(
            "{} answered, {} in flight to a killed server, {} with a body after the sessions were \
             lost, {} wrong",
            all.answered,
            all.lost.len(),
            all.forgotten.values().sum::<usize>(),
            all.wrong.len()
        )
    }

    /// # Errors
    /// If a user got a wrong answer, or a request was lost that should not have been.
    pub(crate) fn verdict(&self, events: &Events) -> Outcome {
        let Self(all) = self;
        let unexplained = all.lost.iter().filter(|loss| !loss.is_explained(events));
        let unexplained = unexplained.map(|loss| format!("lost, {}: {}", loss.tenant, loss.why));
        let twice = all.forgotten.iter().filter(|(_, times)| **times > 1);
        let twice =
            twice.map(|((user, epoch), times)| format!("user {user}, {epoch}: {times} times 401"));
        let failures: Vec<String> =
            all.wrong.iter().cloned().chain(unexplained).chain(twice).collect();
        if failures.is_empty() {
            return Ok(());
        }
        let shown = failures.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
        Err(format!("{} failures, such as\n{shown}", failures.len()).into())
    }
}

impl Loss {
    /// Whether a server of the backend was killed while the request was in flight.
    fn is_explained(&self, events: &Events) -> bool {
        let [started, ended] = self.times;
        events.kills.iter().any(|(tenant, [from, to])| {
            *tenant == self.tenant && started <= *to + NOTICED_AFTER && ended >= *from
        })
    }
}
