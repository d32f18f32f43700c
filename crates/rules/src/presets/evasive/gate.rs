//! mod_evasive enforced: a decision about each request as it arrives.

use weir_core::{Field, Record};

use super::Settings;
use super::history::{History, PageHits, write_page};
use crate::gate::{
    Gate, GateClock, GateDecision, GateLimit, GateOptions, GateUsage, GateVerdict, KeyState,
    KeyStates,
};

impl KeyState for History {}

impl KeyState for PageHits {}

/// The gate of the limits.
///
/// # Memory
///
/// About 150 bytes for each client and for each of its pages, and their texts.
pub(super) struct EvasiveGate {
    name: String,
    settings: Settings,
    clients: KeyStates<History>,
    /// Pages with their clients.
    pages: KeyStates<PageHits>,
    page_text: Vec<u8>,
    clock: GateClock,
}

impl EvasiveGate {
    pub(super) fn new(name: &str, settings: Settings, options: GateOptions) -> Self {
        Self {
            name: name.to_owned(),
            settings,
            clients: KeyStates::new(options),
            pages: KeyStates::new(options),
            page_text: Vec::new(),
            clock: GateClock::default(),
        }
    }

    /// The number of seconds after which a rejected client passes: the hold is over, and counts
    /// restart.
    fn retry_after_s(&self) -> u64 {
        let Settings { page, site, block_s } = self.settings;
        block_s.max(page.interval_s).max(site.interval_s).unsigned_abs()
    }
}

impl Gate for EvasiveGate {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        let (arrival_ns, was_set_back) = self.clock.advance(now_ns);
        if was_set_back {
            self.clients.clear();
            self.pages.clear();
        }
        let (Some(client), Some(path)) = (record.text(Field::Client), record.text(Field::Path))
        else {
            return GateDecision::unlimited(arrival_ns);
        };
        let Self { settings, clients, pages, page_text, .. } = self;
        write_page(client, path, page_text);
        let now_s = arrival_ns.div_euclid(1_000_000_000);
        // A new node has a lower count than one that restarts, so no node is like new.
        let number = clients.number(client, |_| false);
        let page = pages.number(page_text, |_| false);
        let check = clients.update(number, |history| {
            pages.update(page, |page| history.check(page, *settings, now_s, 0))
        });
        GateDecision {
            verdict: if check.is_over() {
                GateVerdict::Rejected { retry_after_s: Some(self.retry_after_s()) }
            } else {
                GateVerdict::Passed
            },
            limit: &self.name,
            key: self.clients.text(number),
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn limits(&self) -> Vec<GateLimit<'_>> {
        GateLimit::only(&self.name)
    }

    fn usage(&self) -> GateUsage {
        let mut usage = self.clients.usage();
        usage.add(self.pages.usage());
        GateUsage { clock_resets: self.clock.resets(), ..usage }
    }
}
