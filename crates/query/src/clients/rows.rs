//! Describes some clients of a data set by all of their requests there.

use std::collections::HashMap;

use weir_core::{
    ABSENT, AddressBlock, CompiledFilter, DecidedIds, Dictionary, Field, Filter, REMAINDER,
    Segment, TimeBounds, Values,
};
use weir_view::ClientProfile;

use super::assessment::{ClientAssessment, is_named};
use super::classes::{RequestClasses, RequestColumns};
use super::marks::{SIGNED_IN, is_set};
use super::minutes::MinuteWeights;
use super::sign_ins::{Believed, PathAnswers, USER_PATHS_MAX};

/// The requests of listed clients in some segments, by the positions of the clients in the list.
///
/// Memory: 192 bytes for each client, 8 for each of its minutes with requests, and two for each
/// distinct agent, user, status, method and path. If some requests name users, 12 more for each path.
#[derive(Debug, Clone)]
pub(crate) struct ClientRows {
    all: CompiledFilter,
    classes: RequestClasses,
    clients: Vec<RowCounts>,
    /// By path id, of all clients.
    answers: Vec<PathAnswers>,
}

/// The requests of one client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RowCounts {
    flags: u16,
    minutes: MinuteWeights,
    /// Its id, and the ids of the first paths that it got with a user.
    user_paths: Vec<(u32, u32)>,
    requests: u64,
    errors: u64,
    refused: u64,
    first: Option<FirstRequest>,
    agent: Option<FirstAgent>,
}

/// The first request of a client. The order of the members is that of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FirstRequest {
    place: RowPlace,
    path: u32,
}

/// The first agent of a client, or the first of a program: it says more about a client than the
/// browsers that it pretends to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FirstAgent {
    is_browser: bool,
    place: RowPlace,
    agent: u32,
}

/// Where a row is in the log: by source, and by the offset of its line there.
type RowPlace = (u32, u64);

impl ClientRows {
    /// Empty counts of so many clients.
    pub(crate) fn new(clients: usize) -> Self {
        Self::of_classes(RequestClasses::default(), clients)
    }

    /// The same, over values that are classified already.
    pub(super) fn of_classes(classes: RequestClasses, clients: usize) -> Self {
        let all = CompiledFilter::new(&Filter::default());
        Self { all, classes, clients: vec![RowCounts::default(); clients], answers: Vec::new() }
    }

    /// Classifies the values that were added since the last call.
    pub(crate) fn refresh(&mut self, values: &Values) {
        self.all.refresh(values);
        self.classes.refresh(values);
    }

    /// Adds the rows of a segment of requests that lie within the bounds. `listed` has the positions
    /// of the clients.
    pub(crate) fn update(&mut self, segment: &Segment, bounds: &TimeBounds, listed: &ListedIds) {
        let Some(codes) = segment.text(Field::Client.column()) else { return };
        let columns = RequestColumns::of(segment);
        let rows = self.all.pass_within(segment, bounds).selection();
        rows.for_each(|row| {
            let client = codes.get(row) as u32;
            let at = listed.position(client);
            let answer = match self.classes.has_users() {
                true => self.classes.answer(&columns, row, client),
                false => None,
            };
            if let Some((path, answer)) = answer {
                add_answer(&mut self.answers, path, answer);
            }
            let Some(at) = at else { return };
            let marks = self.classes.marks(&columns, row);
            let counts = &mut self.clients[at];
            if let Some((path, _)) = answer.filter(|(_, answer)| answer.has_user()) {
                counts.add_user_path((client, path as u32));
            }
            counts.minutes.take(segment.time(row), self.classes.path_flags(&columns, row));
            let place = (segment.source(), segment.line_offset(row));
            counts.requests += 1;
            counts.errors += u64::from(marks.is_failed);
            counts.refused += u64::from(marks.is_refused);
            counts.flags |= marks.flags;
            let (path, agent) = (columns.path(row), columns.agent(row));
            counts.first = earliest(counts.first, Some(FirstRequest { place, path }));
            if agent != ABSENT {
                let is_browser = !self.classes.is_program(agent);
                counts.agent =
                    earliest(counts.agent, Some(FirstAgent { is_browser, place, agent }));
            }
        });
    }

    /// Adds the counts of other segments.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, other) in self.clients.iter_mut().zip(&other.clients) {
            own.flags |= other.flags;
            own.minutes.merge(&other.minutes);
            other.user_paths.iter().for_each(|path| own.add_user_path(*path));
            own.requests += other.requests;
            own.errors += other.errors;
            own.refused += other.refused;
            own.first = earliest(own.first, other.first);
            own.agent = earliest(own.agent, other.agent);
        }
        for (path, answer) in other.answers.iter().enumerate() {
            if *answer != PathAnswers::default() {
                add_answer(&mut self.answers, path, *answer);
            }
        }
    }

    /// Describes the client at a position, which is good if it is in one of the networks. Returns
    /// `None` if it has no requests.
    pub(crate) fn profile(
        &self,
        at: usize,
        client: &[u8],
        values: &Values,
        networks: &[AddressBlock],
    ) -> Option<ClientProfile> {
        let counts = self.clients.get(at).filter(|counts| counts.requests > 0)?;
        let &RowCounts { requests, errors, refused, first, agent, .. } = counts;
        let text = |field: Field, id: u32| {
            let dictionary: &Dictionary = values.dictionary(field.column());
            let value = dictionary.value(id).filter(|value| is_set(value));
            value.filter(|_| id != ABSENT && id != REMAINDER)
        };
        let paths = values.dictionary(Field::Path.column());
        let is_believed = |(client, path): &(u32, u32)| {
            let path = paths.value(*path).unwrap_or_default();
            Believed::at(path, |path| answers_at(&self.answers, paths, path)).holds_for(*client)
        };
        let has_signed_in = counts.user_paths.iter().any(is_believed);
        let assessed = ClientAssessment {
            flags: counts.flags | if has_signed_in { SIGNED_IN } else { 0 },
            requests,
            refused,
            is_named: is_named(client, networks),
            floods: counts.minutes.floods(),
        };
        let agent = agent.and_then(|found| text(Field::UserAgent, found.agent));
        let path = first.and_then(|found| text(Field::Path, found.path));
        Some(assessed.profile(client, agent, path, errors))
    }
}

impl RowCounts {
    fn add_user_path(&mut self, path: (u32, u32)) {
        if self.user_paths.len() < USER_PATHS_MAX && !self.user_paths.contains(&path) {
            self.user_paths.push(path);
        }
    }
}

/// Adds an answer to those of a path, by its id.
pub(super) fn add_answer(answers: &mut Vec<PathAnswers>, path: usize, answer: PathAnswers) {
    if answers.len() <= path {
        answers.resize(path + 1, PathAnswers::default());
    }
    answers[path].merge(answer);
}

/// The answers to a path, by the ids of paths.
pub(super) fn answers_at(
    answers: &[PathAnswers],
    paths: &Dictionary,
    path: &[u8],
) -> Option<PathAnswers> {
    answers.get(paths.find(path)? as usize).copied()
}

/// The lesser one of those that there are.
fn earliest<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The positions of listed clients by the client ids of a data set.
///
/// Memory: one entry for each id of a listed client, and one bit for each client.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListedIds {
    decided: DecidedIds,
    is_listed: Vec<u64>,
    positions: HashMap<u32, u32>,
}

impl ListedIds {
    /// The positions of these keys among the clients.
    pub(super) fn of_keys(clients: &Dictionary, keys: &[&[u8]]) -> Self {
        let mut listed = Self { is_listed: vec![0; clients.ids().div_ceil(64)], ..Self::default() };
        for (position, key) in keys.iter().enumerate() {
            if let Some(id) = clients.find(key) {
                listed.is_listed[id as usize / 64] |= 1 << (id % 64);
                listed.positions.insert(id, position as u32);
            }
        }
        listed
    }

    /// Looks up the clients that were added since the last call. `position` returns the position of
    /// a client, if it is listed.
    pub(crate) fn refresh(
        &mut self,
        clients: &Dictionary,
        position: impl Fn(&[u8]) -> Option<usize>,
    ) {
        self.is_listed.resize(clients.ids().div_ceil(64), 0);
        for id in self.decided.update(clients) {
            let value = clients.value(id as u32).filter(|_| id as u32 != REMAINDER);
            if let Some(position) = value.and_then(&position) {
                self.is_listed[id / 64] |= 1 << (id % 64);
                self.positions.insert(id as u32, position as u32);
            }
        }
    }

    /// Returns the position of the client with this id.
    #[inline]
    pub(crate) fn position(&self, id: u32) -> Option<usize> {
        let bits = self.is_listed.get(id as usize / 64)?;
        if bits >> (id % 64) & 1 == 0 {
            return None;
        }
        self.positions.get(&id).map(|position| *position as usize)
    }
}

#[cfg(test)]
mod tests {
    use weir_core::Dictionary;

    use super::ListedIds;

    #[test]
    fn ids_are_learned_as_they_come() {
        let (mut clients, mut listed) = (Dictionary::new(), ListedIds::default());
        let position = |address: &[u8]| address.ends_with(b"::1").then_some(7);
        let other = clients.intern(b"192.0.2.1");
        let short = clients.intern(b"2001:db8::1");
        listed.refresh(&clients, position);
        let long = clients.intern(b"2001:DB8:0::1");
        assert_eq!([other, short, long].map(|id| listed.position(id)), [None, Some(7), None]);
        listed.refresh(&clients, position);
        assert_eq!([other, short, long].map(|id| listed.position(id)), [None, Some(7), Some(7)]);
        assert_eq!(listed.position(9_999), None);
    }
}
