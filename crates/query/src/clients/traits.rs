//! Counts what all clients of a data set have requested, as far as it says what they look like.
//!
//! A client is judged by all of its requests in the data set, including those that a rule ignores.
//! Each distinct value is classified once, and requests are read by their ids alone.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use weir_core::{
    ABSENT, AddressBlock, Codes, CompiledFilter, Dictionary, Field, Filter, REMAINDER, RecordKind,
    SnapshotSegment, Snapshots, Values,
};

use super::assessment::{ClientAssessment, is_named};
use super::marks::{
    REFUSED, ROBOT, SCANNED, SERVED, SIGNED_IN, UNKNOWN, agent_flags, is_set, path_flags,
    status_flags,
};
use crate::snapshot_work::{Interruption, SnapshotWork};

/// The counts of all clients of a data set.
///
/// # Memory
///
/// 12 bytes for each distinct client, and during the count one byte for each distinct agent, user,
/// status and path.
pub(crate) struct ClientTraits {
    /// By client id.
    clients: Vec<ClientCounts>,
    networks: Vec<AddressBlock>,
}

/// The counts of one client, while threads add to them.
#[derive(Debug, Default)]
struct ClientCounts {
    requests: AtomicU32,
    refused: AtomicU32,
    flags: AtomicU8,
}

/// The sums over adjacent rows of one client.
#[derive(Debug, Clone, Copy, Default)]
struct RunSums {
    requests: u32,
    refused: u32,
    flags: u8,
}

/// The flags of each value of a column, by id.
struct Classes {
    field: Field,
    flags: Vec<u8>,
}

impl ClientTraits {
    /// Counts the requests of the clients of a snapshot on up to `jobs` threads. Clients in
    /// `networks` are good.
    ///
    /// # Errors
    /// Fails if ids of the snapshot are stale, or if `abandoned` becomes true.
    pub(crate) fn of<D: Snapshots>(
        work: &SnapshotWork<'_, D>,
        networks: &[AddressBlock],
    ) -> Result<Self, Interruption> {
        // The lock on the values is released here, because parsers wait for it.
        let (tables, ids) = work.with_values(|values| {
            (Tables::new(values), values.dictionary(Field::Client.column()).ids())
        })?;
        let clients: Vec<ClientCounts> = (0..ids).map(|_| ClientCounts::default()).collect();
        let is_request = |it: &&SnapshotSegment| it.segment.kind() == RecordKind::Request;
        let segments = work.snapshot.segments.iter().filter(is_request);
        let segments: Vec<&SnapshotSegment> = segments.collect();
        let all = CompiledFilter::new(&Filter::default());
        work.spread(segments.into_iter(), |segment| tables.count(segment, &all, &clients))?;
        Ok(Self { clients, networks: networks.to_vec() })
    }

    /// Assesses the client with this key. Returns `None` if the key is not an address.
    pub(crate) fn assess(&self, key: &[u8], values: &Values) -> Option<ClientAssessment> {
        std::str::from_utf8(key).ok()?.parse::<IpAddr>().ok()?;
        let id = values.dictionary(Field::Client.column()).find(key);
        let counts = id.and_then(|id| self.clients.get(id as usize));
        let RunSums { requests, refused, flags } =
            counts.map(ClientCounts::sums).unwrap_or_default();
        let (requests, refused) = (requests.into(), refused.into());
        let is_named = is_named(key, &self.networks);
        Some(ClientAssessment { flags, requests, refused, is_named })
    }

    /// Returns whether values of some requests were not kept.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.clients.iter().any(|counts| counts.sums().flags & UNKNOWN != 0)
    }
}

impl ClientCounts {
    fn sums(&self) -> RunSums {
        RunSums {
            requests: self.requests.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            flags: self.flags.load(Ordering::Relaxed),
        }
    }

    fn add(&self, RunSums { requests, refused, flags }: RunSums) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        if refused > 0 {
            self.refused.fetch_add(refused, Ordering::Relaxed);
        }
        if self.flags.load(Ordering::Relaxed) & flags != flags {
            self.flags.fetch_or(flags, Ordering::Relaxed);
        }
    }
}

/// The flags of the values in each column that says something about a client.
struct Tables {
    agents: Classes,
    users: Classes,
    statuses: Classes,
    paths: Classes,
}

impl Tables {
    fn new(values: &Values) -> Self {
        let classes = |field: Field, classify: fn(&[u8]) -> u8| {
            let dictionary: &Dictionary = values.dictionary(field.column());
            let ids = 0..dictionary.ids() as u32;
            let flags = ids.map(|id| dictionary.value(id).map_or(0, classify)).collect();
            Classes { field, flags }
        };
        Self {
            agents: classes(Field::UserAgent, agent_flags),
            users: classes(Field::User, |user| if is_set(user) { SIGNED_IN } else { 0 }),
            statuses: classes(Field::Status, status_flags),
            paths: classes(Field::Path, path_flags),
        }
    }

    fn count(&self, segment: &SnapshotSegment, all: &CompiledFilter, clients: &[ClientCounts]) {
        let SnapshotSegment { segment, bounds, .. } = segment;
        let Some(of_rows) = segment.text(Field::Client.column()) else { return };
        let column = |classes: &Classes| segment.text(classes.field.column());
        let [agents, users, statuses, paths] =
            [&self.agents, &self.users, &self.statuses, &self.paths].map(column);
        let add = |client: u32, sums: RunSums| {
            if let Some(counts) = clients.get(client as usize) {
                counts.add(sums);
            }
        };
        // The rows of a client that floods are adjacent, and threads should not wait for its counts.
        let (mut client, mut sums) = (ABSENT, RunSums::default());
        all.pass_within(segment, bounds).selection().for_each(|row| {
            let own = of_rows.get(row) as u32;
            if own != client {
                add(std::mem::replace(&mut client, own), std::mem::take(&mut sums));
            }
            let status = flags_at((&self.statuses, statuses), row, 0);
            let of_path = flags_at((&self.paths, paths), row, 0);
            sums.requests += 1;
            sums.refused += u32::from(status & REFUSED != 0);
            sums.flags |= flags_at((&self.agents, agents), row, ROBOT) | status & UNKNOWN;
            sums.flags |= of_path & SCANNED;
            if status & SERVED != 0 {
                sums.flags |= of_path | flags_at((&self.users, users), row, 0);
            }
        });
        add(client, sums);
    }
}

/// Returns the flags of the value that a row has in a column, or `of_none` if it has none there.
fn flags_at((classes, codes): (&Classes, Option<&Codes>), row: usize, of_none: u8) -> u8 {
    let Some(codes) = codes else { return 0 };
    match codes.get(row) as u32 {
        ABSENT => of_none,
        REMAINDER => UNKNOWN,
        id => classes.flags.get(id as usize).copied().unwrap_or(0),
    }
}
