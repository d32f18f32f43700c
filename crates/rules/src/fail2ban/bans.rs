//! Decides when the failures of a key lead to a ban, and how long the ban lasts.
//!
//! Source: `processLineAndAdd` of `server/filter.py`, `server/banmanager.py` and
//! `server/observer.py` of fail2ban 1.0.2, with the observer's work done at once.

use std::collections::VecDeque;

use super::estimator::{FailManager, Ticket};
use super::jail::Limits;

/// The least time between two searches for idle tickets, in seconds.
pub(super) const SERVICE_S: f64 = 5.0;

/// A ticket that became a ban.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewBan {
    pub(super) time_s: f64,
    /// `None` if it never ends.
    pub(super) until_s: Option<f64>,
    pub(super) matches: VecDeque<(u32, u64)>,
    pub(super) already_banned: bool,
    /// The count of failures that led to the ban.
    pub(super) retry: f64,
}

/// The bans of a key.
#[derive(Debug, Clone, Copy)]
struct Banned {
    /// The end of the present or last ban; infinite if it never ends.
    until_s: f64,
    /// How many bans there were, and when the last one began.
    count: u32,
    time_s: f64,
}

/// Counts the failures of a jail, and bans keys.
///
/// # Memory
///
/// 32 bytes for each banned key, besides the tickets.
#[derive(Debug, Clone)]
pub(super) struct Bans {
    limits: Limits,
    manager: FailManager,
    banned: Vec<Option<Banned>>,
    next_service_s: f64,
    /// The latest time so far. An expired ban stays expired even if the times of the log go back.
    latest_s: f64,
}

impl Bans {
    pub(super) fn new(limits: Limits) -> Self {
        let manager = FailManager::new(limits.find_time_s, limits.matches_max);
        Self {
            limits,
            manager,
            banned: Vec::new(),
            next_service_s: f64::NEG_INFINITY,
            latest_s: f64::NEG_INFINITY,
        }
    }

    /// Removes idle keys, unless that was done within [`SERVICE_S`]. fail2ban does so after each
    /// hundredth line of a file, and after a ban.
    pub(super) fn service(&mut self, now_s: f64) {
        if now_s >= self.next_service_s {
            self.next_service_s = now_s + SERVICE_S;
            self.manager.forget_idle(now_s);
        }
    }

    /// Expires the bans that end before the time of a line.
    pub(super) fn see(&mut self, now_s: f64) {
        self.latest_s = self.latest_s.max(now_s);
    }

    /// Counts a failure. Returns the count of the key, and the resulting bans: one, or two if the
    /// key was banned before.
    pub(super) fn fail(&mut self, key: u32, now_s: f64, line: (u32, u64)) -> (f64, Vec<NewBan>) {
        self.see(now_s);
        let mut tickets = Vec::new();
        let mut retry = self.manager.add(key, now_s, 1.0, line);
        if retry >= f64::from(self.limits.max_retry) {
            tickets.extend(self.manager.take(key));
            self.service(now_s);
        }
        let more = self.more_failures(key, now_s);
        // A key that has just been banned does not get further failures.
        if more > 0.0 && self.manager.has(key) {
            retry = self.manager.add_to(key, more);
            if retry >= f64::from(self.limits.max_retry) {
                tickets.extend(self.manager.take(key));
                self.service(now_s);
            }
        }
        (retry, tickets.into_iter().map(|ticket| self.ban(key, now_s, ticket)).collect())
    }

    /// The number of additional failures that one failure of a previously banned key counts for.
    fn more_failures(&self, key: u32, time_s: f64) -> f64 {
        let banned = self.banned.get(key as usize).copied().flatten();
        match banned.filter(|_| self.limits.increment.is_some()) {
            Some(banned) if banned.count > 0 && time_s > banned.time_s => {
                let count = f64::from(1u32 << banned.count.min(20)) / 2.0 + 1.0;
                count.min(f64::from(self.limits.max_retry)) - 1.0
            }
            _ => 0.0,
        }
    }

    /// Whether a ban of a key is in force.
    pub(super) fn is_banned(&self, key: u32, now_s: f64) -> bool {
        let banned = self.banned.get(key as usize).copied().flatten();
        banned.is_some_and(|banned| now_s.max(self.latest_s) <= banned.until_s)
    }

    fn ban(&mut self, key: u32, now_s: f64, ticket: Ticket) -> NewBan {
        let already_banned = self.is_banned(key, now_s);
        let index = key as usize;
        if self.banned.len() <= index {
            self.banned.resize(index + 1, None);
        }
        let before = self.banned[index];
        let count = before.map_or(0, |banned| banned.count);
        let time_s = ticket.last_s;
        let ban_time_s = match &self.limits.increment {
            Some(increment) if !already_banned && count > 0 && self.limits.ban_time_s > 0.0 => {
                increment.ban_time_s(self.limits.ban_time_s, count)
            }
            _ => self.limits.ban_time_s,
        };
        let until_s = if ban_time_s < 0.0 { f64::INFINITY } else { time_s + ban_time_s };
        if already_banned {
            // A ban that ends later extends the one in force.
            if let Some(banned) = &mut self.banned[index] {
                banned.until_s = banned.until_s.max(until_s);
            }
        } else if until_s >= now_s {
            let counted = Banned { until_s, count: count + 1, time_s: time_s.round_ties_even() };
            self.banned[index] = Some(counted);
        }
        NewBan {
            time_s,
            until_s: Some(until_s).filter(|until_s| until_s.is_finite()),
            matches: ticket.matches,
            already_banned,
            retry: ticket.retry,
        }
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.manager.memory_bytes() + self.banned.capacity() * size_of::<Option<Banned>>()
    }
}
