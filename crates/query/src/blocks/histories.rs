//! The second pass over a log: the requests and blocks of the listed addresses.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use weir_core::{
    ABSENT, CompiledFilter, Dictionary, Field, Fold, RecordKind, Segment, TimeBounds, Values,
};
use weir_view::{BlockCause, ClockEstimate};

use super::addresses::usual_spelling;
use super::census::BlockedAddresses;
use super::clocks::{ClientTimes, estimate};
use super::events::{Block, BlockFinder};
use crate::clients::{ClientRows, ListedIds};
use crate::value_classes::ValueClasses;

/// The maximum number of distinct targets, and of agents, that are counted for an address. Above
/// it, the report omits the most frequent one.
pub(super) const DISTINCT_MAX: usize = 2_000;

/// The statuses with which nginx's limits reject requests.
const REFUSALS: [&[u8]; 2] = [b"429", b"503"];

const SECOND_NS: i64 = 1_000_000_000;

/// The histories of the listed addresses, over some segments.
///
/// Memory for each address: at most 16 KiB of seconds to compare the clocks, 24 bytes for each
/// second of the window with a request, and 48 bytes for each of up to 2,000 targets and 2,000
/// agents. With 1,000 addresses and a window of 10 minutes this is 230 MB, if each sends thousands
/// of different targets and agents.
#[derive(Debug, Clone)]
pub struct BlockHistories {
    filter: CompiledFilter,
    finder: BlockFinder,
    listed: Arc<AddressList>,
    ids: ListedIds,
    /// By status id.
    refusals: ValueClasses<bool>,
    window_ns: i64,
    offset_ns: i64,
    pub(super) clients: Vec<History>,
    /// What all requests of the addresses say about them, whatever the filter selects.
    pub(super) profiles: ClientRows,
}

/// The positions of the listed addresses, and the time of each one's first block.
#[derive(Debug)]
struct AddressList {
    positions: HashMap<Vec<u8>, usize>,
    firsts_ns: Vec<Option<i64>>,
}

/// The blocks and requests of one address.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// The blocks by each rule.
    pub(super) rules: HashMap<(BlockCause, u32), RuleBlocks>,
    pub(super) last_ns: Option<i64>,
    pub(super) is_sampled: bool,
    pub(super) before: PriorActivity,
    /// The number of requests after the first block, by status id.
    pub(super) after: HashMap<u32, u64>,
    times: ClientTimes,
}

/// The blocks of an address by one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RuleBlocks {
    pub(super) blocks: u64,
    /// The lowest and the highest, in thousandths of a request.
    pub(super) excess: Option<(u32, u32)>,
}

/// The requests of an address within the window up to its first block.
#[derive(Debug, Clone, Default)]
pub(super) struct PriorActivity {
    seconds: HashMap<i64, u64>,
    pub(super) statuses: HashMap<u32, u64>,
    /// By method id and path id.
    pub(super) targets: Distinct<(u32, u32)>,
    pub(super) agents: Distinct<u32>,
}

/// The counts of distinct values; `None` after there were more than [`DISTINCT_MAX`].
#[derive(Debug, Clone)]
pub(super) struct Distinct<K>(Option<HashMap<K, u64>>);

impl BlockHistories {
    /// Creates empty histories of the listed addresses, over the records that pass the filter. A
    /// request counts as *before* if it is at most `window_s` seconds before the first block. The
    /// clock of the blocks is `offset_s` seconds ahead of that of the requests.
    pub fn new(
        filter: CompiledFilter,
        addresses: &BlockedAddresses,
        (window_s, offset_s): (u64, i64),
    ) -> Self {
        let listed = addresses.listed.iter().enumerate();
        let positions = listed.map(|(at, blocked)| (blocked.address.clone(), at)).collect();
        let firsts_ns = addresses.listed.iter().map(|blocked| blocked.first_ns).collect();
        Self {
            filter,
            finder: BlockFinder::default(),
            listed: Arc::new(AddressList { positions, firsts_ns }),
            ids: ListedIds::default(),
            refusals: ValueClasses::default(),
            window_ns: i64::try_from(window_s).unwrap_or(i64::MAX).saturating_mul(SECOND_NS),
            offset_ns: offset_s.saturating_mul(SECOND_NS),
            clients: vec![History::default(); addresses.listed.len()],
            profiles: ClientRows::new(addresses.listed.len()),
        }
    }

    /// Estimates the offset of the clocks from the records. The estimate does not depend on the
    /// offset that these histories were created with.
    pub fn clock_estimate(&self) -> Option<ClockEstimate> {
        let times: Vec<ClientTimes> =
            self.clients.iter().map(|client| client.times.clone()).collect();
        estimate(&times)
    }

    /// Adds the rows of a segment that lie within the bounds.
    pub(super) fn update_within(&mut self, segment: &Segment, bounds: &TimeBounds) {
        if segment.kind() == RecordKind::Request {
            self.add_requests(segment, bounds);
            self.profiles.update(segment, bounds, &self.ids);
            return;
        }
        let Self { filter, finder, ids, clients, .. } = self;
        finder.for_each(segment, &filter.pass_within(segment, bounds), |block| {
            if let Some(at) = ids.position(block.client) {
                clients[at].add_block(&block);
            }
        });
    }

    fn add_requests(&mut self, segment: &Segment, bounds: &TimeBounds) {
        let Some(codes) = segment.text(Field::Client.column()) else { return };
        let rows = self.filter.pass_within(segment, bounds).selection();
        let Self { ids, clients, listed, refusals, window_ns, offset_ns, .. } = self;
        let id = |field: Field, row: usize| {
            segment.text(field.column()).map_or(ABSENT, |codes| codes.get(row) as u32)
        };
        rows.for_each(|row| {
            let Some(at) = ids.position(codes.get(row) as u32) else { return };
            let Some(time) = segment.time(row) else { return };
            let second = time.unix_ns.div_euclid(SECOND_NS);
            let status = id(Field::Status, row);
            let client = &mut clients[at];
            let is_refused = refusals.get(status).copied().unwrap_or(false);
            client.times.add_request(is_refused, second);
            let Some(first_ns) = listed.firsts_ns[at] else { return };
            let first_ns = first_ns.saturating_sub(*offset_ns);
            if time.unix_ns > end_of_stamp(first_ns) {
                *client.after.entry(status).or_insert(0) += 1;
            } else if time.unix_ns >= first_ns.saturating_sub(*window_ns) {
                let target = (id(Field::Method, row), id(Field::Path, row));
                client.before.add(second, status, target, id(Field::UserAgent, row));
            }
        });
    }
}

/// Returns the last instant that a time stamp may mean: one in whole seconds means its whole
/// second.
fn end_of_stamp(unix_ns: i64) -> i64 {
    let is_whole = unix_ns.rem_euclid(SECOND_NS) == 0;
    if is_whole { unix_ns.saturating_add(SECOND_NS - 1) } else { unix_ns }
}

impl History {
    fn add_block(&mut self, block: &Block) {
        self.rules
            .entry((block.cause, block.rule))
            .or_default()
            .add(RuleBlocks { blocks: 1, excess: block.excess.map(|excess| (excess, excess)) });
        self.is_sampled |= block.is_sampled;
        if let Some(time_ns) = block.time_ns {
            self.last_ns = self.last_ns.max(Some(time_ns));
            self.times.add_block(block.cause, time_ns.div_euclid(SECOND_NS));
        }
    }

    fn merge(&mut self, other: &Self) {
        for (rule, blocks) in &other.rules {
            self.rules.entry(*rule).or_default().add(*blocks);
        }
        self.last_ns = self.last_ns.max(other.last_ns);
        self.is_sampled |= other.is_sampled;
        self.before.merge(&other.before);
        add_all(&mut self.after, &other.after);
        self.times.merge(&other.times);
    }
}

impl RuleBlocks {
    fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.excess = match (self.excess, other.excess) {
            (Some((low, high)), Some((from, to))) => Some((low.min(from), high.max(to))),
            (own, others) => own.or(others),
        };
    }
}

impl PriorActivity {
    fn add(&mut self, second: i64, status: u32, target: (u32, u32), agent: u32) {
        *self.seconds.entry(second).or_insert(0) += 1;
        *self.statuses.entry(status).or_insert(0) += 1;
        self.targets.add(target, 1);
        self.agents.add(agent, 1);
    }

    fn merge(&mut self, other: &Self) {
        add_all(&mut self.seconds, &other.seconds);
        add_all(&mut self.statuses, &other.statuses);
        self.targets.merge(&other.targets);
        self.agents.merge(&other.agents);
    }

    /// Returns the highest number of requests in one second.
    pub(super) fn peak(&self) -> u64 {
        self.seconds.values().max().copied().unwrap_or(0)
    }
}

impl<K> Default for Distinct<K> {
    fn default() -> Self {
        Self(Some(HashMap::new()))
    }
}

impl<K: Copy + Eq + Hash> Distinct<K> {
    fn add(&mut self, value: K, count: u64) {
        let Some(counts) = &mut self.0 else { return };
        *counts.entry(value).or_insert(0) += count;
        if counts.len() > DISTINCT_MAX {
            self.0 = None;
        }
    }

    fn merge(&mut self, other: &Self) {
        match &other.0 {
            Some(counts) => counts.iter().for_each(|(value, count)| self.add(*value, *count)),
            None => self.0 = None,
        }
    }

    /// Returns the counts, or `None` if there are too many distinct values.
    pub(super) fn counts(&self) -> Option<&HashMap<K, u64>> {
        self.0.as_ref()
    }
}

fn add_all<K: Copy + Eq + Hash>(counts: &mut HashMap<K, u64>, others: &HashMap<K, u64>) {
    for (key, count) in others {
        *counts.entry(*key).or_insert(0) += count;
    }
}

impl Fold for BlockHistories {
    fn refresh(&mut self, values: &Values) {
        self.filter.refresh(values);
        self.finder.refresh(values);
        let Self { ids, listed, refusals, .. } = self;
        let clients = values.dictionary(Field::Client.column());
        let position = |address: &[u8]| listed.positions.get(&*usual_spelling(address)).copied();
        ids.refresh(clients, position);
        self.profiles.refresh(values);
        let statuses: &Dictionary = values.dictionary(Field::Status.column());
        refusals.refresh(statuses, |status| REFUSALS.contains(&status));
    }

    fn update(&mut self, segment: &Segment) {
        self.update_within(segment, &TimeBounds::ALL);
    }

    fn merge(&mut self, other: &Self) {
        for (own, others) in self.clients.iter_mut().zip(&other.clients) {
            own.merge(others);
        }
        self.profiles.merge(&other.profiles);
    }
}
