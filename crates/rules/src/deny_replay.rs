//! Replays a list of entries, where each verdict depends on one request alone.

use std::fmt;

use crate::event::Event;
use crate::keys::Interner;
use crate::keys::KeyLists;
use crate::report::{Decision, Exactness, RequestCounts, RuleReport, Trip, Verdict};
use crate::rule::Replay;

/// The tag of an event that no entry matches; the others have the number of the entry.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

/// The entries of a list.
pub(crate) trait Entries: fmt::Debug + Send + Sync {
    /// Whether an entry denies a request that it matches.
    fn denies(&self, entry: u32) -> bool;

    /// The text of each entry, by its number.
    fn texts(&self) -> Vec<Option<String>>;

    /// Notes for the report: the limits of the verdicts, and statements about the number of
    /// requests that each entry matched.
    fn notes(&self, matches: &[u64]) -> Vec<String>;

    /// How far the verdicts can be relied on.
    fn exactness(&self) -> Exactness;
}

/// A request.
#[derive(Debug, Clone, Copy)]
struct Request {
    line: u64,
    source: u32,
    key: u32,
    is_denied: bool,
}

/// The summary of a client.
#[derive(Debug, Clone, Copy, Default)]
struct Client {
    passed: u64,
    rejected: u64,
    /// The first denied request: its time, source, line and entry.
    first: Option<(i64, u32, u64, u32)>,
}

/// The replay of a list. An event's first text is the client. Its further texts are the numbers of
/// other matching entries, each as four little-endian bytes.
///
/// # Memory
///
/// 24 bytes for each request; 60 bytes and the text for each distinct client.
#[derive(Debug)]
pub(crate) struct DenyReplay<'r> {
    entries: &'r dyn Entries,
    requests: Vec<Request>,
    keys: Interner,
    clients: Vec<Client>,
    /// The number of matching requests, by entry.
    matches: Vec<u64>,
    /// Requests that were not counted because there are too many distinct clients.
    not_held: u64,
}

impl<'r> DenyReplay<'r> {
    pub(crate) fn new(entries: &'r dyn Entries) -> Self {
        let (requests, keys, clients, matches) = Default::default();
        Self { entries, requests, keys, clients, matches, not_held: 0 }
    }

    fn keys(&self) -> KeyLists {
        let texts = self.entries.texts();
        let mut keys = KeyLists::default();
        for (number, client) in self.clients.iter().enumerate() {
            let Some((time_ns, source, line, entry)) = client.first else {
                keys.put(Verdict::Passed, None);
                continue;
            };
            let denied = client.rejected as f64;
            let (passed, rejected) = (client.passed, client.rejected);
            let trip = Trip {
                key: self.keys.text(number as u32).to_vec(),
                limit: texts.get(entry as usize).cloned().flatten(),
                verdict: Verdict::Rejected,
                time_ns,
                source,
                line,
                peak: denied,
                peak_range: (denied, denied),
                margin: denied,
                requests: RequestCounts { passed, rejected, ..RequestCounts::default() },
                likely_rejected: None,
            };
            keys.put(Verdict::Rejected, Some(trip));
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
        let (others, _) = texts.next().unwrap_or_default().as_chunks();
        for entry in others.iter().map(|bytes| u32::from_le_bytes(*bytes) as usize) {
            self.matches.resize(self.matches.len().max(entry + 1), 0);
            self.matches[entry] += 1;
        }
        if key as usize >= self.clients.len() {
            self.clients.push(Client::default());
        }
        let client = &mut self.clients[key as usize];
        let is_denied = event.tag != NO_ENTRY && self.entries.denies(event.tag);
        if is_denied {
            client.rejected += 1;
            let time_ns = event.time_ns.unwrap_or(0);
            client.first.get_or_insert((time_ns, source, line, event.tag));
        } else {
            client.passed += 1;
        }
        self.requests.push(Request { line, source, key, is_denied });
    }

    fn memory_bytes(&self) -> usize {
        self.requests.capacity() * size_of::<Request>()
            + self.clients.capacity() * size_of::<Client>()
            + self.keys.memory_bytes()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        if let Some(decide) = decide {
            for request in &self.requests {
                decide(&Decision {
                    source: request.source,
                    line: request.line,
                    key: self.keys.text(request.key),
                    verdict: if request.is_denied { Verdict::Rejected } else { Verdict::Passed },
                    delay_ms: (!request.is_denied).then_some(0),
                    excess: None,
                });
            }
        }
        let sum = |count: fn(&Client) -> u64| self.clients.iter().map(count).sum();
        let requests = RequestCounts {
            passed: sum(|client| client.passed),
            delayed: 0,
            rejected: sum(|client| client.rejected),
            undecided: self.not_held,
        };
        RuleReport {
            exactness: self.entries.exactness(),
            notes: self.entries.notes(&self.matches),
            ..self.keys().into_report(requests, Vec::new())
        }
    }
}
