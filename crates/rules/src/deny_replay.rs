//! Replays a list of entries, where each verdict depends on one request alone.

use std::fmt;

use crate::event::Event;
use crate::keys::Interner;
use crate::keys::KeyLists;
use crate::report::{Decision, Exactness, MatchedRules, RequestCounts, RuleReport, Trip, Verdict};
use crate::rule::Replay;

/// The tag of an event that no entry matches; the others have the number of the entry.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

/// The most matching entries of a request that are counted and listed. Otherwise the requests of a
/// block would fill the memory, if they match all of many entries.
const MATCHED_MAX: usize = 1_000;

/// The entries of a list.
pub(crate) trait Entries: fmt::Debug + Send + Sync {
    /// Whether an entry denies a request that it matches.
    fn denies(&self, entry: u32) -> bool;

    /// The verdict that the tag of an event means.
    fn verdict(&self, tag: u32) -> Verdict {
        if tag != NO_ENTRY && self.denies(tag) { Verdict::Rejected } else { Verdict::Passed }
    }

    /// The number of the entry in the tag of an event.
    fn entry(&self, tag: u32) -> u32 {
        tag
    }

    /// The text of each entry, by its number.
    fn texts(&self) -> Vec<Option<String>>;

    /// The ids of the entries, by number, if decisions name them.
    fn ids(&self) -> Option<Vec<&str>> {
        None
    }

    /// Notes for the report: the limits of the verdicts, and statements about the number of
    /// requests that each entry matched.
    fn notes(&self, matches: &[u64]) -> Vec<String>;

    /// How far the verdicts can be relied on, from the number of requests that each entry matched.
    fn exactness(&self, matches: &[u64]) -> Exactness;
}

/// The entries that match a request, packed as a text of an event: the sum of their scores, and the
/// numbers of the entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchedEntries<'a> {
    score: Option<i64>,
    numbers: &'a [[u8; 4]],
}

impl<'a> MatchedEntries<'a> {
    pub(crate) fn pack(score: Option<i64>, entries: &[u32]) -> Vec<u8> {
        let mut text = vec![u8::from(score.is_some())];
        text.extend(score.unwrap_or(0).to_le_bytes());
        let listed = entries.iter().take(MATCHED_MAX);
        text.extend(listed.flat_map(|entry| entry.to_le_bytes()));
        text
    }

    fn unpack(text: &'a [u8]) -> Self {
        let (score, numbers) = match text.split_first_chunk::<9>() {
            Some(([has_score, score @ ..], numbers)) => {
                ((*has_score != 0).then(|| i64::from_le_bytes(*score)), numbers)
            }
            None => (None, &[][..]),
        };
        Self { score, numbers: numbers.as_chunks().0 }
    }

    fn entries(self) -> impl Iterator<Item = u32> {
        self.numbers.iter().map(|bytes| u32::from_le_bytes(*bytes))
    }
}

/// A request.
#[derive(Debug, Clone, Copy)]
struct Request {
    line: u64,
    source: u32,
    key: u32,
    /// The number of the packed entries that match it.
    matched: u32,
    verdict: Verdict,
}

/// The summary of a client.
#[derive(Debug, Clone, Copy, Default)]
struct Client {
    requests: RequestCounts,
    /// The first request that does not just pass: its time, source, line and entry.
    first: Option<(i64, u32, u64, u32)>,
}

/// The replay of a list. An event's first text is the client, and a second one is
/// [`MatchedEntries`].
///
/// # Memory
///
/// 32 bytes for each request; the distinct lists of matching entries, four bytes for each; 80 bytes
/// and the text for each distinct client.
#[derive(Debug)]
pub(crate) struct DenyReplay<'r> {
    entries: &'r dyn Entries,
    requests: Vec<Request>,
    keys: Interner,
    /// The packed entries that match requests.
    lists: Interner,
    clients: Vec<Client>,
    /// The number of matching requests, by entry.
    matches: Vec<u64>,
    /// Requests that were not counted because there are too many distinct clients.
    not_held: u64,
}

impl<'r> DenyReplay<'r> {
    pub(crate) fn new(entries: &'r dyn Entries) -> Self {
        let (requests, keys, lists, clients, matches) = Default::default();
        Self { entries, requests, keys, lists, clients, matches, not_held: 0 }
    }

    /// The ids of the rules that match a request.
    fn matched_rules<'i>(&self, request: &Request, ids: &[&'i str]) -> MatchedRules<'i> {
        let is_known = (request.matched as usize) < self.lists.len();
        let list = if is_known { self.lists.text(request.matched) } else { b"" };
        let matched = MatchedEntries::unpack(list);
        let ids = matched.entries().filter_map(|entry| ids.get(entry as usize).copied());
        MatchedRules { ids: ids.collect(), score: matched.score }
    }

    fn keys(&self) -> KeyLists {
        let texts = self.entries.texts();
        let mut keys = KeyLists::default();
        for (number, client) in self.clients.iter().enumerate() {
            let Some((time_ns, source, line, entry)) = client.first else {
                keys.put(Verdict::Passed, None);
                continue;
            };
            let requests = client.requests;
            let denied = requests.rejected as f64;
            let verdict = match requests {
                RequestCounts { rejected: 1.., .. } => Verdict::Rejected,
                RequestCounts { undecided: 1.., .. } => Verdict::Undecided,
                _ => Verdict::Passed,
            };
            let trip = Trip {
                key: self.keys.text(number as u32).to_vec(),
                limit: texts.get(entry as usize).cloned().flatten(),
                verdict,
                time_ns,
                source,
                line,
                peak: denied,
                peak_range: (denied, denied),
                margin: denied,
                requests,
                likely_rejected: None,
            };
            keys.put(verdict, Some(trip));
        }
        keys
    }
}

impl Replay for DenyReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let mut texts = event.texts;
        let Some(key) = texts.next().and_then(|text| self.keys.number(text)) else {
            self.not_held += 1;
            return;
        };
        let list = texts.next().unwrap_or_default();
        let matched = self.lists.number(list).unwrap_or(u32::MAX);
        for entry in MatchedEntries::unpack(list).entries().map(|entry| entry as usize) {
            self.matches.resize(self.matches.len().max(entry + 1), 0);
            self.matches[entry] += 1;
        }
        if key as usize >= self.clients.len() {
            self.clients.push(Client::default());
        }
        let client = &mut self.clients[key as usize];
        let verdict = self.entries.verdict(event.tag);
        let counts = &mut client.requests;
        *match verdict {
            Verdict::Passed => &mut counts.passed,
            Verdict::Delayed => &mut counts.delayed,
            Verdict::Rejected => &mut counts.rejected,
            Verdict::Undecided => &mut counts.undecided,
        } += 1;
        // The first rejected request is shown, if there is one.
        if verdict == Verdict::Rejected && counts.rejected == 1 {
            client.first = None;
        }
        if verdict != Verdict::Passed {
            let entry = self.entries.entry(event.tag);
            client.first.get_or_insert((event.time_ns.unwrap_or(0), source, line, entry));
        }
        self.requests.push(Request { line, source, key, matched, verdict });
    }

    fn memory_bytes(&self) -> usize {
        self.requests.capacity() * size_of::<Request>()
            + self.clients.capacity() * size_of::<Client>()
            + self.keys.memory_bytes()
            + self.lists.memory_bytes()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        if let Some(decide) = decide {
            let ids = self.entries.ids();
            for request in &self.requests {
                decide(&Decision {
                    source: request.source,
                    line: request.line,
                    key: self.keys.text(request.key),
                    verdict: request.verdict,
                    delay_ms: (request.verdict == Verdict::Passed).then_some(0),
                    excess: None,
                    matched: ids.as_deref().map(|ids| self.matched_rules(request, ids)),
                });
            }
        }
        let sum = |count: fn(&RequestCounts) -> u64| {
            self.clients.iter().map(|client| count(&client.requests)).sum::<u64>()
        };
        let requests = RequestCounts {
            passed: sum(|counts| counts.passed),
            delayed: sum(|counts| counts.delayed),
            rejected: sum(|counts| counts.rejected),
            undecided: sum(|counts| counts.undecided) + self.not_held,
        };
        RuleReport {
            exactness: self.entries.exactness(&self.matches),
            notes: self.entries.notes(&self.matches),
            ..self.keys().into_report(requests, Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MATCHED_MAX, MatchedEntries};

    #[test]
    fn the_entries_of_a_request_are_bounded() {
        let entries: Vec<u32> = (0..5_000).collect();
        let packed = MatchedEntries::pack(Some(-3), &entries);
        let unpacked = MatchedEntries::unpack(&packed);
        assert_eq!(unpacked.score, Some(-3));
        assert_eq!(unpacked.entries().collect::<Vec<_>>(), entries[..MATCHED_MAX]);
        let few = MatchedEntries::pack(None, &entries[..2]);
        assert_eq!(MatchedEntries::unpack(&few).entries().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(MatchedEntries::unpack(b"").entries().count(), 0);
    }
}
