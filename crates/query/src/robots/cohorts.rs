//! Many clients of few requests each that share an agent and a pattern of paths.

use std::collections::HashMap;

use weir_core::Dictionary;

use super::path_pattern::path_pattern;
use super::trace::{LogHas, Trace};

/// The most requests of a client of a cohort.
pub(super) const REQUESTS_MAX: u32 = 5;

/// The fewest clients of a cohort.
pub(super) const CLIENTS_MIN: usize = 10;

/// For each client that asks for assets, a cohort has this many or more that do not.
const CLIENTS_PER_OTHER: usize = 3;

/// The clients of a cohort.
pub(super) struct Cohort {
    /// The id of the agent.
    pub(super) agent: u32,
    pub(super) pattern: Vec<u8>,
    pub(super) clients: Vec<u32>,
    /// Clients with the same agent and pattern that did ask for assets.
    pub(super) others: usize,
}

/// The numbers of an agent and a pattern.
type Key = (u32, u32);

/// The patterns of paths by their numbers.
struct Patterns<'a> {
    dictionary: &'a Dictionary,
    of_path: HashMap<u32, u32>,
    numbers: HashMap<Vec<u8>, u32>,
    texts: Vec<Vec<u8>>,
}

/// Returns the cohorts among some clients, in no order. A client with several patterns is in the cohort
/// of the pattern that most clients of its agent have. Agents for which `declares` is true are left out:
/// they call themselves robots.
pub(super) fn cohorts<'t>(
    clients: impl Iterator<Item = (u32, &'t Trace)> + Clone,
    log: LogHas,
    paths: &Dictionary,
    mut declares: impl FnMut(u32) -> bool,
) -> Vec<Cohort> {
    let mut patterns = Patterns::new(paths);
    let mut sharing: HashMap<Key, (usize, usize)> = HashMap::new();
    let may_belong = |trace: &Trace| trace.requests <= REQUESTS_MAX && trace.has_no_assets(log);
    let mut candidates: Vec<(u32, u32, Vec<u32>)> = Vec::new();
    for (client, trace) in clients {
        let is_candidate = may_belong(trace);
        let Some(agent) = trace.agent().filter(|_| is_candidate || trace.assets > 0) else {
            continue;
        };
        if trace.is_declared(&mut declares) {
            continue;
        }
        let of_client = patterns.of(trace);
        for pattern in &of_client {
            let (clients, others) = sharing.entry((agent, *pattern)).or_default();
            *(if is_candidate { clients } else { others }) += 1;
        }
        if is_candidate {
            candidates.push((client, agent, of_client));
        }
    }
    let mut found: HashMap<Key, Vec<u32>> = HashMap::new();
    for (client, agent, of_client) in candidates {
        let shared = |pattern: &u32| sharing[&(agent, *pattern)].0;
        let order = |one: &u32, other: &u32| {
            let by_text = || patterns.texts[*other as usize].cmp(&patterns.texts[*one as usize]);
            shared(one).cmp(&shared(other)).then_with(by_text)
        };
        if let Some(pattern) = of_client.into_iter().max_by(order) {
            found.entry((agent, pattern)).or_default().push(client);
        }
    }
    let cohort = |((agent, pattern), clients): (Key, Vec<u32>)| {
        let others = sharing[&(agent, pattern)].1;
        let is_cohort = clients.len() >= CLIENTS_MIN && clients.len() >= others * CLIENTS_PER_OTHER;
        let pattern = patterns.texts[pattern as usize].clone();
        is_cohort.then_some(Cohort { agent, pattern, clients, others })
    };
    found.into_iter().filter_map(cohort).collect()
}

impl<'a> Patterns<'a> {
    fn new(dictionary: &'a Dictionary) -> Self {
        Self { dictionary, of_path: HashMap::new(), numbers: HashMap::new(), texts: Vec::new() }
    }

    /// The distinct patterns of the paths of a client.
    fn of(&mut self, trace: &Trace) -> Vec<u32> {
        let mut patterns: Vec<u32> = trace.paths().iter().map(|path| self.of_path(*path)).collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }

    fn of_path(&mut self, path: u32) -> u32 {
        if let Some(known) = self.of_path.get(&path) {
            return *known;
        }
        let text = path_pattern(self.dictionary.value(path).unwrap_or_default());
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        self.of_path.insert(path, number);
        number
    }
}
