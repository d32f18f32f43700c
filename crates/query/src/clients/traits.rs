//! Counts what all clients of a data set have requested, as far as it says what they look like.
//!
//! A client is judged by all of its requests in the data set, including those that a rule ignores.
//! Each distinct value is classified once, and requests are read by their ids alone.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use weir_core::{
    ABSENT, AddressBlock, CompiledFilter, Field, Filter, RecordKind, SnapshotSegment, Snapshots,
    Values,
};
use weir_view::ClientProfile;

use super::assessment::{ClientAssessment, is_named};
use super::classes::{RequestClasses, RequestColumns};
use super::marks::{SIGNED_IN, UNKNOWN, USER_CLAIMED};
use super::rows::{ClientRows, ListedIds, add_answer, answers_at};
use super::sign_ins::{Believed, PathAnswers};
use crate::snapshot_work::{Interruption, SnapshotWork};
use crate::spread::spread_with;

/// The counts of all clients of a data set.
///
/// # Memory
///
/// 12 bytes for each distinct client, and two for each distinct agent, user, status, method and path.
/// If some requests name users, 20 more for each path.
pub(crate) struct ClientTraits {
    /// By client id.
    clients: Vec<ClientCounts>,
    classes: RequestClasses,
    networks: Vec<AddressBlock>,
}

/// The counts of one client, while threads add to them.
#[derive(Debug, Default)]
struct ClientCounts {
    requests: AtomicU32,
    refused: AtomicU32,
    flags: AtomicU16,
}

/// The sums over adjacent rows of one client.
#[derive(Debug, Clone, Copy, Default)]
struct RunSums {
    requests: u32,
    refused: u32,
    flags: u16,
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
        let mut classes = RequestClasses::default();
        let ids = work.with_values(|values| {
            classes.refresh(values);
            values.dictionary(Field::Client.column()).ids()
        })?;
        let believed = believed(work, &classes)?;
        let clients: Vec<ClientCounts> = (0..ids).map(|_| ClientCounts::default()).collect();
        let is_request = |it: &&SnapshotSegment| it.segment.kind() == RecordKind::Request;
        let segments = work.snapshot.segments.iter().filter(is_request);
        let segments: Vec<&SnapshotSegment> = segments.collect();
        let all = CompiledFilter::new(&Filter::default());
        let counted = Counted { classes: &classes, believed: &believed, clients: &clients };
        work.spread(segments.into_iter(), |segment| count(&counted, segment, &all))?;
        Ok(Self { clients, classes, networks: networks.to_vec() })
    }

    /// Describes those of these keys that are clients with requests, in more detail.
    ///
    /// # Errors
    /// Fails if ids of the snapshot are stale, or if the answer is abandoned.
    pub(crate) fn profiles<D: Snapshots>(
        &self,
        work: &SnapshotWork<'_, D>,
        keys: &[&[u8]],
    ) -> Result<Vec<ClientProfile>, Interruption> {
        let listed = work.with_values(|values| {
            ListedIds::of_keys(values.dictionary(Field::Client.column()), keys)
        })?;
        let blank = ClientRows::of_classes(self.classes.clone(), keys.len());
        let is_request = |it: &&SnapshotSegment| it.segment.kind() == RecordKind::Request;
        let segments = work.snapshot.segments.iter().filter(is_request);
        let segments: Vec<&SnapshotSegment> = segments.collect();
        let update = |rows: &mut ClientRows, it: &SnapshotSegment| {
            rows.update(&it.segment, &it.bounds, &listed);
        };
        let segments = segments.into_iter();
        let parts = spread_with(work.jobs, segments, work.abandoned, || blank.clone(), update)?;
        let rows = parts.into_iter().reduce(|mut all, part| {
            all.merge(&part);
            all
        });
        let Some(rows) = rows else { return Ok(Vec::new()) };
        work.with_values(|values| {
            let profile =
                |(at, key): (usize, &&[u8])| rows.profile(at, key, values, &self.networks);
            keys.iter().enumerate().filter_map(profile).collect()
        })
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
        // What a client says of itself is not held against its requests in a minute here.
        Some(ClientAssessment { flags, requests, refused, is_named, floods: false })
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

/// Decides for each path, by its id, whose users are believed there. Reads the requests only if some
/// of them name a user.
///
/// # Errors
/// Fails if ids of the snapshot are stale, or if `abandoned` becomes true.
fn believed<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    classes: &RequestClasses,
) -> Result<Vec<Believed>, Interruption> {
    if !classes.has_users() {
        return Ok(Vec::new());
    }
    let all = CompiledFilter::new(&Filter::default());
    let add = |answers: &mut Vec<PathAnswers>, it: &SnapshotSegment| {
        let Some(clients) = it.segment.text(Field::Client.column()) else { return };
        let columns = RequestColumns::of(&it.segment);
        all.pass_within(&it.segment, &it.bounds).selection().for_each(|row| {
            if let Some((path, answer)) = classes.answer(&columns, row, clients.get(row) as u32) {
                add_answer(answers, path, answer);
            }
        });
    };
    let is_request = |it: &&SnapshotSegment| it.segment.kind() == RecordKind::Request;
    let segments: Vec<&SnapshotSegment> =
        work.snapshot.segments.iter().filter(is_request).collect();
    let parts = spread_with(work.jobs, segments.into_iter(), work.abandoned, Vec::new, add)?;
    let mut answers = Vec::new();
    for part in parts {
        for (path, answer) in part.into_iter().enumerate() {
            add_answer(&mut answers, path, answer);
        }
    }
    work.with_values(|values| {
        let paths = values.dictionary(Field::Path.column());
        let decide = |(path, own): (usize, &PathAnswers)| {
            let path = paths.value(path as u32).filter(|_| own.has_user());
            let answers = |path: &[u8]| answers_at(&answers, paths, path);
            path.map(|path| Believed::at(path, answers)).unwrap_or_default()
        };
        answers.iter().enumerate().map(decide).collect()
    })
}

/// What the requests of segments are counted with.
struct Counted<'a> {
    classes: &'a RequestClasses,
    /// By path id.
    believed: &'a [Believed],
    clients: &'a [ClientCounts],
}

/// Adds the requests of a segment to the counts of their clients.
fn count(counted: &Counted<'_>, segment: &SnapshotSegment, all: &CompiledFilter) {
    let Counted { classes, believed, clients } = *counted;
    let SnapshotSegment { segment, bounds, .. } = segment;
    let Some(of_rows) = segment.text(Field::Client.column()) else { return };
    let columns = RequestColumns::of(segment);
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
        let marks = classes.marks(&columns, row);
        sums.requests += 1;
        sums.refused += u32::from(marks.is_refused);
        sums.flags |= marks.flags;
        if marks.flags & USER_CLAIMED != 0
            && let Some((path, answer)) = classes.answer(&columns, row, own)
            && answer.has_user()
            && believed.get(path).is_some_and(|believed| believed.holds_for(own))
        {
            sums.flags |= SIGNED_IN;
        }
    });
    add(client, sums);
}
