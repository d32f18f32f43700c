//! The replay of mod_evasive: requests are held until the end of the log, then decided in the order
//! of their arrival.

use std::collections::HashMap;

use super::Settings;
use super::history::{Check, History, PageHits};
use crate::event::Event;
use crate::interner::Interner;
use crate::key_lists::KeyLists;
use crate::report::{Decision, Exactness, RequestCounts, RuleReport, Trip, Verdict};
use crate::rule::Replay;
use crate::stamps::Stamps;

#[derive(Debug, Clone, Copy)]
struct Request {
    arrival_ns: i64,
    line: u64,
    source: u32,
    client: u32,
    page: u32,
}

/// A replay.
///
/// # Memory
///
/// 36 bytes for each request, and the text of each client and of each of its pages.
pub(super) struct EvasiveReplay {
    settings: Settings,
    requests: Vec<Request>,
    clients: Interner,
    /// Pages with their clients.
    pages: Interner,
    page_text: Vec<u8>,
    /// Those of the ends of requests.
    stamps: Stamps,
    /// Whether the arrival may be in the second before, for a request whose stamp is cut to the
    /// second.
    is_ambiguous: bool,
    untimed: u64,
}

/// The summary of a client.
#[derive(Debug, Clone, Default)]
struct Client {
    history: History,
    requests: RequestCounts,
    peak: Option<Peak>,
    first_over: Option<usize>,
}

/// The highest count, compared with its limit, and the request that reached it.
#[derive(Debug, Clone, Copy)]
struct Peak {
    count: i64,
    limit: i64,
    position: usize,
}

impl Client {
    fn take_peak(&mut self, count: i64, limit: i64, position: usize) {
        if self.peak.is_none_or(|known| count - limit > known.count - known.limit) {
            self.peak = Some(Peak { count, limit, position });
        }
    }
}

impl EvasiveReplay {
    pub(super) fn new(settings: Settings) -> Self {
        let (requests, clients, pages, page_text) = Default::default();
        Self {
            settings,
            requests,
            clients,
            pages,
            page_text,
            stamps: Stamps::default(),
            is_ambiguous: false,
            untimed: 0,
        }
    }
}

impl Replay for EvasiveReplay {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let mut texts = event.texts;
        let (Some(time_ns), Some(client), Some(path)) = (event.time_ns, texts.next(), texts.next())
        else {
            self.untimed += 1;
            return;
        };
        self.page_text.clear();
        self.page_text.extend_from_slice(client);
        self.page_text.push(b'_');
        self.page_text.extend_from_slice(path);
        let numbers = (self.clients.number(client), self.pages.number(&self.page_text));
        let (Some(client), Some(page)) = numbers else {
            self.untimed += 1;
            return;
        };
        if event.tag == 0 {
            let has_fraction = |ns: i128| ns % 1_000_000_000 != 0;
            self.stamps.count(source, time_ns);
            self.is_ambiguous |=
                !has_fraction(time_ns.into()) && has_fraction(event.duration_ns.into());
        }
        let duration_ns = i64::try_from(event.duration_ns).unwrap_or(i64::MAX);
        let arrival_ns = time_ns.saturating_sub(duration_ns);
        self.requests.push(Request { arrival_ns, line, source, client, page });
    }

    fn memory_bytes(&self) -> usize {
        self.requests.capacity() * size_of::<Request>()
            + self.clients.memory_bytes()
            + self.pages.memory_bytes()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let is_exact = !self.is_ambiguous || self.stamps.have_fractions();
        let (clients, verdicts) = self.replay(is_exact);
        if let Some(decide) = decide {
            for (request, verdict) in self.requests.iter().zip(&verdicts) {
                decide(&Decision {
                    source: request.source,
                    line: request.line,
                    key: self.clients.text(request.client),
                    verdict: *verdict,
                    delay_ms: (*verdict == Verdict::Passed).then_some(0),
                    excess: None,
                });
            }
        }
        self.report(&clients, is_exact)
    }
}

impl EvasiveReplay {
    fn replay(&self, is_exact: bool) -> (Vec<Client>, Vec<Verdict>) {
        let mut order: Vec<usize> = (0..self.requests.len()).collect();
        order.sort_by_key(|position| self.requests[*position].arrival_ns);
        let mut clients = vec![Client::default(); self.clients.len()];
        let mut pages: HashMap<u32, PageHits> = HashMap::new();
        let mut verdicts = vec![Verdict::Passed; self.requests.len()];
        let more_s = i64::from(!is_exact);
        for position in order {
            let request = &self.requests[position];
            let now_s = request.arrival_ns.div_euclid(1_000_000_000);
            let client = &mut clients[request.client as usize];
            let is_over = if !is_exact && client.first_over.is_some() {
                true
            } else {
                let page = pages.entry(request.page).or_default();
                let check = client.history.check(page, self.settings, now_s, more_s);
                if let Check::Counted { page, site, .. } = check {
                    client.take_peak(page, self.settings.page.most, position);
                    client.take_peak(site, self.settings.site.most, position);
                }
                check.is_over()
            };
            let verdict = match (is_over, is_exact) {
                (false, _) => Verdict::Passed,
                (true, true) => Verdict::Rejected,
                (true, false) => Verdict::Undecided,
            };
            if is_over {
                client.first_over.get_or_insert(position);
            }
            client.requests.count(verdict);
            verdicts[position] = verdict;
        }
        (clients, verdicts)
    }

    fn report(&self, clients: &[Client], is_exact: bool) -> RuleReport {
        let (mut keys, mut counts) = (KeyLists::default(), RequestCounts::default());
        for (number, client) in clients.iter().enumerate() {
            let Some(Peak { count, limit, position: peak_at }) = client.peak else { continue };
            let verdict = match (client.first_over, is_exact) {
                (None, _) => Verdict::Passed,
                (_, true) => Verdict::Rejected,
                (_, false) => Verdict::Undecided,
            };
            counts += client.requests;
            let request = &self.requests[client.first_over.unwrap_or(peak_at)];
            let trip = Trip {
                key: self.clients.text(number as u32).to_vec(),
                limit: None,
                verdict,
                time_ns: request.arrival_ns,
                source: request.source,
                line: request.line,
                peak: count as f64,
                peak_range: (count as f64, count as f64),
                margin: (count - limit) as f64,
                requests: client.requests,
            };
            keys.put(verdict, Some(trip));
        }
        counts.undecided += self.untimed;
        let mut notes =
            vec!["each process of Apache counts alone; one process is replayed".to_owned()];
        if !is_exact {
            notes.push(
                "the log has whole seconds of the ends of requests; a client that passes only with \
                 the intervals as they are cannot be told"
                    .to_owned(),
            );
        }
        let exactness = if is_exact { Exactness::Exact } else { Exactness::Bounded };
        RuleReport { exactness, notes, ..keys.into_report(counts, Vec::new()) }
    }
}
