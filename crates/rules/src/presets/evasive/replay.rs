//! The replay of mod_evasive: stores requests until the end of the log, then decides them in the
//! order of their arrival.

use super::Settings;
use super::history::{Check, History, PageHits, write_page};
use crate::arrivals::{Arrival, Arrivals, Stamps, arrival_ns};
use crate::engine::Outcome;
use crate::event::Event;
use crate::keys::{Interner, KeyLists, KeySummary, Peak, Units};
use crate::report::{Decision, Exactness, RequestCounts, RuleReport, Verdict};
use crate::rule::Replay;

/// Requests are counted one by one. A trip has the time of its request.
const UNITS: Units = Units { request: 1, clock_ns: 1 };

/// A replay.
///
/// # Memory
///
/// 40 bytes for each request, and the text of each client and of each of its pages.
pub(super) struct EvasiveReplay {
    settings: Settings,
    /// The keys of a request are its client and its page.
    arrivals: Arrivals,
    clients: Interner,
    /// Pages with their clients.
    pages: Interner,
    page_text: Vec<u8>,
    /// The precision of the stamps that are those of the ends of requests.
    ends: Stamps,
    /// Whether the arrival may be in the second before, for a request whose stamp is cut to the
    /// second.
    is_ambiguous: bool,
    untimed: u64,
}

/// A client, and the nodes that the module keeps for it.
#[derive(Debug, Clone, Default)]
struct Client {
    history: History,
    summary: KeySummary,
}

impl EvasiveReplay {
    pub(super) fn new(settings: Settings) -> Self {
        let (arrivals, clients, pages, page_text, ends) = Default::default();
        Self {
            settings,
            arrivals,
            clients,
            pages,
            page_text,
            ends,
            is_ambiguous: false,
            untimed: 0,
        }
    }

    /// Stores a request; `None` if it has no time or key, or there is no room.
    fn store(&mut self, source: u32, line: u64, event: &Event<'_>) -> Option<()> {
        let mut texts = event.texts;
        let (time_ns, client, path) = (event.time_ns?, texts.next()?, texts.next()?);
        write_page(client, path, &mut self.page_text);
        let keys = [self.clients.number(client)?, self.pages.number(&self.page_text)?];
        if event.tag == 0 {
            let has_fraction = |ns: i128| ns % 1_000_000_000 != 0;
            self.ends.count(source, time_ns);
            self.is_ambiguous |=
                !has_fraction(time_ns.into()) && has_fraction(event.duration_ns.into());
        }
        let arrival_ns = arrival_ns(time_ns, event.duration_ns);
        let arrival = Arrival::new(arrival_ns, source, line, 0);
        self.arrivals.push(time_ns, arrival, &keys).then_some(())
    }

    /// Decides about the requests, and calls `keep` with their positions and verdicts.
    fn replay(&self, is_exact: bool, mut keep: impl FnMut(usize, Verdict)) -> Vec<Client> {
        let mut clients = vec![Client::default(); self.clients.len()];
        let mut pages = vec![PageHits::default(); self.pages.len()];
        let (settings, more_s) = (self.settings, i64::from(!is_exact));
        self.arrivals.each(
            &self.arrivals.by_arrival(),
            |_| 2,
            |position, arrival, keys| {
                let now_s = arrival.time_ns.div_euclid(1_000_000_000);
                let Client { history, summary } = &mut clients[keys[0] as usize];
                let is_over = !is_exact && summary.has_tripped() || {
                    let check =
                        history.check(&mut pages[keys[1] as usize], settings, now_s, more_s);
                    if let Check::Counted { page, site, .. } = check {
                        for (count, limit) in
                            [(page, settings.page.most), (site, settings.site.most)]
                        {
                            summary.peak(limit, Peak::known(count, position as u32));
                        }
                    }
                    check.is_over()
                };
                let verdict = match (is_over, is_exact) {
                    (false, _) => Verdict::Passed,
                    (true, true) => Verdict::Rejected,
                    (true, false) => Verdict::Undecided,
                };
                if is_over {
                    summary.trip(position as u32);
                }
                summary.count(verdict);
                keep(position, verdict);
            },
        );
        clients
    }

    fn report(&self, clients: &[Client], is_exact: bool) -> RuleReport {
        let (mut keys, mut counts) = (KeyLists::default(), RequestCounts::default());
        for (number, Client { summary, .. }) in clients.iter().enumerate() {
            let verdict = match (summary.has_tripped(), is_exact) {
                (false, _) => Verdict::Passed,
                (_, true) => Verdict::Rejected,
                (_, false) => Verdict::Undecided,
            };
            let text = self.clients.text(number as u32);
            let trip = summary.entry(text, None, verdict, &self.arrivals.list, UNITS);
            let Some(trip) = trip else { continue };
            counts += summary.requests;
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

impl Replay for EvasiveReplay {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let stored = self.store(source, line, event);
        self.untimed += u64::from(stored.is_none());
    }

    fn memory_bytes(&self) -> usize {
        self.arrivals.memory_bytes() + self.clients.memory_bytes() + self.pages.memory_bytes()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let is_exact = !self.is_ambiguous || self.ends.have_fractions();
        let mut outcomes = Vec::new();
        if decide.is_some() {
            outcomes.resize(self.arrivals.list.len(), Outcome::UNDECIDED);
        }
        let clients = self.replay(is_exact, |position, verdict| {
            if let Some(outcome) = outcomes.get_mut(position) {
                let delay_ms = (verdict == Verdict::Passed).then_some(0);
                *outcome = Outcome { delay_ms, ..Outcome::verdict(verdict) };
            }
        });
        if let Some(decide) = decide {
            let client =
                |arrival: &Arrival, _| self.clients.text(self.arrivals.keys_of(arrival, 2)[0]);
            self.arrivals.decide(&outcomes, client, decide);
        }
        self.report(&clients, is_exact)
    }
}
