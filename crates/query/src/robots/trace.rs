//! What a client did, in about a hundred bytes.
//!
//! Traces of parts of a log can be merged in any order: of times and paths, those are kept that come
//! first in an order of their own, which is time for times and a mixed number for paths. A path that
//! was dropped once cannot come back, so the counts of those that stay are exact.

use weir_core::{ABSENT, REMAINDER};
use weir_view::RobotReason;

/// The most times that are kept, for one gap fewer.
const TIMES_MAX: usize = 9;

/// The most paths that are kept.
const PATHS_MAX: usize = 8;

/// The fewest requests by which a client is judged, unless it asks for robots.txt.
pub(super) const REQUESTS_MIN: u32 = 5;

/// The fewest seconds of an even gap: files that a page embeds follow one another in an instant.
const GAP_S_MIN: u32 = 2;

/// The id of the agent of a client that has several, or one that was not kept.
const SEVERAL: u32 = u32::MAX;

/// A request of the client.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowTrace {
    pub(super) path: u32,
    pub(super) is_asset: bool,
    pub(super) asks_robots_txt: bool,
    pub(super) has_referer: bool,
    pub(super) is_error: bool,
    /// The agent has a word of robots.
    pub(super) is_robot: bool,
    pub(super) agent: u32,
    pub(super) bytes: u64,
    pub(super) time_s: Option<i64>,
}

/// The requests of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) bytes: u64,
    pub(super) requests: u32,
    pub(super) errors: u32,
    /// Requests for files that pages embed.
    pub(super) assets: u32,
    /// Requests with a referrer.
    pub(super) referers: u32,
    /// The id of its agent; see [`Self::agent`].
    agent: u32,
    /// A request came without an agent that has a word of robots.
    has_other_agent: bool,
    asks_robots_txt: bool,
    /// Memory ran out for a path, which may be that of an asset.
    has_unknown_path: bool,
    /// The first times, ascending, in seconds since 1970.
    times: [u32; TIMES_MAX],
    times_len: u8,
    /// Paths other than assets, ascending by their mixed ids, and whether each was asked for again.
    paths: [u32; PATHS_MAX],
    again: [bool; PATHS_MAX],
    paths_len: u8,
}

/// What the whole log has, without which the lack of it says nothing about a client.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LogHas {
    pub(super) assets: bool,
    pub(super) referers: bool,
}

impl Trace {
    pub(super) fn take(&mut self, row: &RowTrace) {
        let mut one = Self {
            bytes: row.bytes,
            requests: 1,
            errors: row.is_error.into(),
            assets: row.is_asset.into(),
            referers: row.has_referer.into(),
            agent: if row.agent == REMAINDER { SEVERAL } else { row.agent },
            has_other_agent: !row.is_robot,
            asks_robots_txt: row.asks_robots_txt,
            has_unknown_path: row.path == REMAINDER,
            ..Self::default()
        };
        if let Some(time_s) = row.time_s {
            one.keep_time(u32::try_from(time_s.max(0)).unwrap_or(u32::MAX));
        }
        if !row.is_asset && row.path != ABSENT && row.path != REMAINDER {
            one.keep_path(row.path, false);
        }
        self.merge(&one);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if self.requests == 0 {
            *self = *other;
            return;
        }
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests = self.requests.saturating_add(other.requests);
        self.errors = self.errors.saturating_add(other.errors);
        self.assets = self.assets.saturating_add(other.assets);
        self.referers = self.referers.saturating_add(other.referers);
        if self.agent != other.agent {
            self.agent = SEVERAL;
        }
        self.has_other_agent |= other.has_other_agent;
        self.asks_robots_txt |= other.asks_robots_txt;
        self.has_unknown_path |= other.has_unknown_path;
        other.times().iter().for_each(|time| self.keep_time(*time));
        let paths = other.paths().iter().zip(other.again);
        paths.for_each(|(path, again)| self.keep_path(*path, again));
    }

    /// The id of its agent, which is [`ABSENT`] if it sends none; `None` if it has several.
    pub(super) fn agent(&self) -> Option<u32> {
        Some(self.agent).filter(|agent| *agent != SEVERAL)
    }

    /// Whether it calls itself a robot: `declares` says so of its agent, or all of several agents have a
    /// word of robots.
    pub(super) fn is_declared(&self, declares: impl FnOnce(u32) -> bool) -> bool {
        match self.agent() {
            Some(agent) => agent != ABSENT && declares(agent),
            None => !self.has_other_agent,
        }
    }

    /// The ids of its paths that are kept: of all that are no assets if there are at most eight.
    pub(super) fn paths(&self) -> &[u32] {
        &self.paths[..usize::from(self.paths_len)]
    }

    /// Whether it asked for no file that pages embed, as far as is known.
    pub(super) fn has_no_assets(&self, log: LogHas) -> bool {
        log.assets && self.assets == 0 && !self.has_unknown_path
    }

    /// What of its behaviour is that of a robot.
    pub(super) fn reasons(&self, log: LogHas) -> Vec<RobotReason> {
        let is_long = self.requests >= REQUESTS_MIN;
        let reasons = [
            (RobotReason::RobotsTxt, self.asks_robots_txt),
            (RobotReason::NoAssets, is_long && self.has_no_assets(log)),
            (RobotReason::NoReferer, is_long && log.referers && self.referers == 0),
            (RobotReason::EvenGaps, has_even_gaps(self.times())),
            (RobotReason::ManyPathsOnce, self.has_many_paths_once()),
        ];
        reasons.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect()
    }

    fn has_many_paths_once(&self) -> bool {
        let again = self.again.iter().filter(|again| **again).count();
        self.paths().len() == PATHS_MAX && again <= 1
    }

    fn times(&self) -> &[u32] {
        &self.times[..usize::from(self.times_len)]
    }

    fn keep_time(&mut self, time_s: u32) {
        let at = self.times().partition_point(|own| *own <= time_s);
        if at == TIMES_MAX {
            return;
        }
        let end = (usize::from(self.times_len) + 1).min(TIMES_MAX);
        self.times.copy_within(at..end - 1, at + 1);
        self.times[at] = time_s;
        self.times_len = end as u8;
    }

    fn keep_path(&mut self, path: u32, again: bool) {
        let at = self.paths().partition_point(|own| mixed(*own) < mixed(path));
        if self.paths().get(at) == Some(&path) {
            self.again[at] = true;
            return;
        }
        if at == PATHS_MAX {
            return;
        }
        let end = (usize::from(self.paths_len) + 1).min(PATHS_MAX);
        self.paths.copy_within(at..end - 1, at + 1);
        self.again.copy_within(at..end - 1, at + 1);
        (self.paths[at], self.again[at]) = (path, again);
        self.paths_len = end as u8;
    }
}

/// Whether the first requests have eight gaps of which six or more differ from the middle one by a
/// tenth or a second at most.
fn has_even_gaps(times: &[u32]) -> bool {
    if times.len() < TIMES_MAX {
        return false;
    }
    let mut gaps: Vec<u32> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let middle = gaps[gaps.len() / 2];
    let even = gaps.iter().filter(|gap| gap.abs_diff(middle) <= (middle / 10).max(1)).count();
    middle >= GAP_S_MIN && even * 4 >= gaps.len() * 3
}

/// Distributes ids evenly over all numbers: no two have the same (the finalizer of MurmurHash3 for 32
/// bits, whose steps are invertible).
pub(super) fn mixed(id: u32) -> u32 {
    let mut key = id.wrapping_add(0x9e37_79b9);
    key = (key ^ (key >> 16)).wrapping_mul(0x85eb_ca6b);
    key = (key ^ (key >> 13)).wrapping_mul(0xc2b2_ae35);
    key ^ (key >> 16)
}
