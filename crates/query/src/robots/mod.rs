//! Robots that do not call themselves so, found by what they do.
//!
//! A [`RobotCensus`] runs over the segments and keeps a [`Trace`](trace::Trace) of each client. At the
//! end the traces are judged one by one (a client is *like a robot*) and together: many clients of few
//! requests each that share an agent and a pattern of paths are a *cohort*. docs/crawlers.md has the
//! rules, and how often they are wrong.

mod answer;
mod cohorts;
mod field;
mod path_pattern;
mod trace;

use std::collections::HashMap;

use weir_core::{
    ABSENT, Codes, CompiledFilter, Field, Filter, Fold, REMAINDER, RecordKind, Segment, Values,
};

pub use self::field::RobotLike;
use self::trace::{RowTrace, Trace, mixed};
use crate::clients::marks::{ASSET, FAILED, ROBOT, agent_flags, is_set, path_flags, status_flags};
use crate::question::{ParsedQuery, QueryError};
use crate::value_classes::ValueClasses;

/// A path that only robots ask for.
const ROBOTS_TXT: &[u8] = b"/robots.txt";

/// A flag of paths beside those of [`crate::clients::marks`].
const ASKS_ROBOTS_TXT: u16 = 1 << 15;

/// What each client did, in bounded memory.
///
/// Exact for up to [`Self::CLIENTS_MAX`] clients. Beyond, every second client is kept, then every
/// fourth, and so on, and the answer says so. Which ones depends on their ids alone, so the result is
/// the same for every order of the segments and every division of them among threads.
///
/// # Memory
///
/// At most 64 MiB for each thread, and two bytes for each distinct path, status, referrer and agent.
#[derive(Debug, Clone)]
pub struct RobotCensus {
    filter: CompiledFilter,
    paths: ValueClasses<u16>,
    statuses: ValueClasses<u16>,
    referers: ValueClasses<bool>,
    /// Whether an agent has a word of robots.
    agents: ValueClasses<bool>,
    /// By client id, at most `clients_max`, of which each has a number with `level` leading zeros.
    clients: HashMap<u32, Trace, foldhash::fast::RandomState>,
    clients_max: usize,
    level: u32,
    /// The requests without a client that is known.
    unattributed: u64,
}

/// Creates the census of the clients of the requests that match a query.
///
/// # Errors
/// Fails if the query is not valid for these values.
pub fn robot_census(query: &ParsedQuery, values: &Values) -> Result<RobotCensus, QueryError> {
    Ok(RobotCensus::new(query.filter(values)?, RobotCensus::CLIENTS_MAX))
}

// A table of 2^19 places takes less than 64 MiB.
const _: () = assert!(size_of::<(u32, Trace)>() <= 120);

impl RobotCensus {
    /// The most clients that are kept: what a table of 2^19 places can hold.
    pub const CLIENTS_MAX: usize = 7 << 16;

    fn new(filter: Filter, clients_max: usize) -> Self {
        let filter = Filter { kind: Some(RecordKind::Request), ..filter };
        Self {
            filter: CompiledFilter::new(&filter),
            paths: ValueClasses::default(),
            statuses: ValueClasses::default(),
            referers: ValueClasses::default(),
            agents: ValueClasses::default(),
            clients: HashMap::default(),
            clients_max,
            level: 0,
            unattributed: 0,
        }
    }

    fn keeps(level: u32, client: u32) -> bool {
        mixed(client).leading_zeros() >= level
    }

    /// Returns the trace of a client, unless it is left out.
    fn trace(&mut self, client: u32) -> Option<&mut Trace> {
        if !Self::keeps(self.level, client) {
            return None;
        }
        while self.clients.len() >= self.clients_max && !self.clients.contains_key(&client) {
            self.thin_to(self.level + 1);
            if !Self::keeps(self.level, client) {
                return None;
            }
        }
        Some(self.clients.entry(client).or_default())
    }

    /// Keeps one client in 2^`level`.
    #[cold]
    fn thin_to(&mut self, level: u32) {
        self.level = level;
        self.clients.retain(|client, _| Self::keeps(level, *client));
    }
}

impl Fold for RobotCensus {
    fn refresh(&mut self, values: &Values) {
        self.filter.refresh(values);
        let dictionary = |field: Field| values.dictionary(field.column());
        self.paths.refresh(dictionary(Field::Path), |path| {
            let robots_txt = if path == ROBOTS_TXT { ASKS_ROBOTS_TXT } else { 0 };
            path_flags(path) & ASSET | robots_txt
        });
        self.statuses.refresh(dictionary(Field::Status), status_flags);
        self.referers.refresh(dictionary(Field::Referer), is_set);
        let is_robot = |agent: &[u8]| is_set(agent) && agent_flags(agent) & ROBOT != 0;
        self.agents.refresh(dictionary(Field::UserAgent), is_robot);
    }

    fn update(&mut self, segment: &Segment) {
        let Some(clients) = segment.text(Field::Client.column()) else {
            self.unattributed += self.filter.select(segment).len() as u64;
            return;
        };
        let column = |field: Field| segment.text(field.column());
        let [paths, statuses, referers, agents] =
            [Field::Path, Field::Status, Field::Referer, Field::UserAgent].map(column);
        let id = |codes: Option<&Codes>, row| codes.map_or(ABSENT, |codes| codes.get(row) as u32);
        self.filter.select(segment).for_each(|row| {
            let client = clients.get(row) as u32;
            if client == ABSENT || client == REMAINDER {
                self.unattributed += 1;
                return;
            }
            let path = id(paths, row);
            let path_flags = self.paths.get(path).copied().unwrap_or_default();
            let status = self.statuses.get(id(statuses, row)).copied().unwrap_or_default();
            let agent = id(agents, row);
            let row = RowTrace {
                path,
                is_asset: path_flags & ASSET != 0,
                asks_robots_txt: path_flags & ASKS_ROBOTS_TXT != 0,
                has_referer: self.referers.get(id(referers, row)).copied().unwrap_or_default(),
                is_error: status & FAILED != 0,
                is_robot: self.agents.get(agent).copied().unwrap_or_default(),
                agent,
                bytes: segment.number(Field::Bytes, row).unwrap_or(0),
                time_s: segment.time(row).map(|time| time.unix_ns.div_euclid(1_000_000_000)),
            };
            if let Some(trace) = self.trace(client) {
                trace.take(&row);
            }
        });
    }

    fn merge(&mut self, other: &Self) {
        self.unattributed += other.unattributed;
        if other.level > self.level {
            self.thin_to(other.level);
        }
        for (client, trace) in &other.clients {
            if let Some(own) = self.trace(*client) {
                own.merge(trace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_core::{Block, BlockLimits, BlockReader, Filter, Fold, Format, Values};

    use super::RobotCensus;

    /// A census of clients that each ask for robots.txt twice, of which at most `clients_max` are kept.
    fn census(clients: u32, clients_max: usize, folds: usize) -> (Values, RobotCensus) {
        let format = Arc::new(Format::parse("$remote_addr \"$request\"").expect("a format"));
        let mut values = Values::new(1 << 26);
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let mut parts = vec![RobotCensus::new(Filter::default(), clients_max); folds];
        for number in 0..clients * 2 {
            let client = std::net::Ipv4Addr::from(0x0a00_0000 + number % clients);
            let line = format!("{client} \"GET /robots.txt HTTP/1.1\"\n");
            let segment = reader.read_segment(&Block::new(line.into_bytes()), 0, &mut values);
            let part = &mut parts[number as usize % folds];
            part.refresh(&values);
            part.update(&segment);
        }
        let mut whole = parts.remove(0);
        parts.iter().for_each(|part| whole.merge(part));
        (values, whole)
    }

    #[test]
    fn too_many_clients_are_sampled_whatever_the_threads() {
        let robots = |folds| {
            let (values, census) = census(3_000, 200, folds);
            assert!(census.clients.len() <= 200, "{}", census.clients.len());
            census.robots(&values, 10, |_| false)
        };
        let one = robots(1);
        assert_eq!(one.sampled, 16, "the least power of two that leaves at most 200");
        // Four standard errors of a sample of about 187.
        assert!(one.clients.clients.abs_diff(3_000) < 3_000 * 4 / 13, "{:?}", one.clients);
        assert_eq!(one.clients.requests, one.clients.clients * 2);
        for folds in [2, 5] {
            assert_eq!(robots(folds), one, "{folds} folds");
        }
        let (values, exact) = census(150, 200, 3);
        let exact = exact.robots(&values, 1_000, |_| false);
        assert_eq!((exact.sampled, exact.clients.clients, exact.rows.len()), (0, 150, 150));
    }
}
