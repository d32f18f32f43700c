//! Counts what all clients of a data set have requested, as far as it says what they look like.
//!
//! A client is judged by all of its requests in the data set, including those that a rule ignores.
//! Each distinct value is classified once, and requests are read by their ids alone.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use weir_core::{
    ABSENT, AddressBlock, CompiledFilter, Field, Filter, RecordKind, SnapshotSegment, Snapshots,
    Values,
};
use weir_view::ClientProfile;

use super::assessment::{ClientAssessment, is_named};
use super::classes::{RequestClasses, RequestColumns};
use super::marks::{MONITOR, SEARCH_CRAWLER, SIGNED_IN, UNKNOWN, USER_CLAIMED};
use super::minutes::{FLOOD_REQUESTS_MIN, MinuteWeights};
use super::rows::{ClientRows, ListedIds, add_answer, answers_at};
use super::sign_ins::{Believed, PathAnswers};
use crate::snapshot_work::{Interruption, SnapshotWork};
use crate::spread::spread_with;

/// The counts of all clients of a data set.
///
/// # Memory
///
/// 12 bytes for each distinct client, and two for each distinct agent, user, status, method and path.
/// If some requests name users, 20 more for each path. If some clients with many requests claim to be
/// crawlers or monitors, 4 for each client, and 8 for each of the minutes of these.
pub(crate) struct ClientTraits {
    /// By client id.
    clients: Vec<ClientCounts>,
    /// The ids of those that claim to be crawlers or monitors and flood.
    floods: HashSet<u32>,
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
        let segments = request_segments(work);
        let all = CompiledFilter::new(&Filter::default());
        let counted = Counted { classes: &classes, believed: &believed, clients: &clients };
        work.spread(segments.into_iter(), |segment| count(&counted, segment, &all))?;
        let floods = claims_that_flood(work, &classes, &clients)?;
        Ok(Self { clients, floods, classes, networks: networks.to_vec() })
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
        let segments = request_segments(work);
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
        // Only what a client claims to be depends on its requests in a minute.
        let floods = id.is_some_and(|id| self.floods.contains(&id));
        Some(ClientAssessment { flags, requests, refused, is_named, floods })
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
    let segments = request_segments(work);
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

/// Returns the ids of the clients that claim to be crawlers or monitors and send more in a minute than
/// these do. Reads the requests only if some of them have enough.
///
/// # Errors
/// Fails if `abandoned` becomes true.
fn claims_that_flood<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    classes: &RequestClasses,
    clients: &[ClientCounts],
) -> Result<HashSet<u32>, Interruption> {
    const NONE: u32 = u32::MAX;
    let may_flood = |counts: &ClientCounts| {
        let RunSums { requests, flags, .. } = counts.sums();
        requests >= FLOOD_REQUESTS_MIN && flags & (SEARCH_CRAWLER | MONITOR) != 0
    };
    let ids: Vec<u32> =
        (0..).zip(clients).filter(|(_, counts)| may_flood(counts)).map(|(id, _)| id).collect();
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let mut positions = vec![NONE; clients.len()];
    for (id, position) in ids.iter().zip(0..) {
        positions[*id as usize] = position;
    }
    let all = CompiledFilter::new(&Filter::default());
    let add = |minutes: &mut Vec<MinuteWeights>, it: &SnapshotSegment| {
        let Some(of_rows) = it.segment.text(Field::Client.column()) else { return };
        let columns = RequestColumns::of(&it.segment);
        all.pass_within(&it.segment, &it.bounds).selection().for_each(|row| {
            let position = positions.get(of_rows.get(row) as u32 as usize).copied();
            if let Some(position) = position.filter(|position| *position != NONE) {
                let path = classes.path_flags(&columns, row);
                minutes[position as usize].take(it.segment.time(row), path);
            }
        });
    };
    let blank = || vec![MinuteWeights::default(); ids.len()];
    let segments = request_segments(work).into_iter();
    let parts = spread_with(work.jobs, segments, work.abandoned, blank, add)?;
    let mut minutes = blank();
    for part in parts {
        minutes.iter_mut().zip(&part).for_each(|(sum, part)| sum.merge(part));
    }
    let floods = ids.into_iter().zip(&minutes).filter(|(_, minutes)| minutes.floods());
    Ok(floods.map(|(id, _)| id).collect())
}

/// The segments of a snapshot that have requests.
fn request_segments<'w, D: Snapshots>(work: &'w SnapshotWork<'_, D>) -> Vec<&'w SnapshotSegment> {
    let is_request = |it: &&SnapshotSegment| it.segment.kind() == RecordKind::Request;
    work.snapshot.segments.iter().filter(is_request).collect()
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
