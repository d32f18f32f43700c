//! The first pass over a log: which addresses were blocked, how often, and when first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use weir_core::{
    ABSENT, CompiledFilter, Field, Fold, REMAINDER, RecordKind, Segment, TimeBounds, Values,
};
use weir_view::{BlockCause, CauseBlocks};

use super::addresses::usual_spelling;
use super::events::BlockFinder;

/// Counts the blocks of each address in some segments.
///
/// Memory: 32 bytes for each spelling of each blocked address.
#[derive(Debug, Clone)]
pub struct BlockCensus {
    filter: CompiledFilter,
    finder: BlockFinder,
    clients: HashMap<u32, BlockTally>,
    unknown: u64,
    causes: Causes,
    has_requests: bool,
}

/// The number of blocks of each cause, and how many of them are from a sampled log.
type Causes = BTreeMap<BlockCause, (u64, u64)>;

/// The number of blocks of an address, and the time of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlockTally {
    blocks: u64,
    /// The time of the first block that has a time; `i64::MAX` if none has.
    first_ns: i64,
}

/// The result of a census.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedAddresses {
    pub(super) blocks: u64,
    pub(super) unknown: u64,
    pub(super) addresses: u64,
    /// In descending order of their blocks.
    pub(super) causes: Vec<CauseBlocks>,
    /// The addresses with the most blocks, in descending order.
    pub(super) listed: Vec<BlockedAddress>,
}

/// An address with its blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockedAddress {
    /// In the canonical spelling.
    pub(super) address: Vec<u8>,
    pub(super) blocks: u64,
    pub(super) first_ns: Option<i64>,
}

impl BlockCensus {
    /// Creates an empty census of the records that pass the filter.
    pub fn new(filter: CompiledFilter) -> Self {
        Self {
            filter,
            finder: BlockFinder::default(),
            clients: HashMap::new(),
            unknown: 0,
            causes: Causes::new(),
            has_requests: false,
        }
    }

    /// Adds the rows of a segment that lie within the bounds.
    pub(super) fn update_within(&mut self, segment: &Segment, bounds: &TimeBounds) {
        if segment.kind() == RecordKind::Request {
            self.has_requests |= segment.rows() > 0;
            return;
        }
        if !self.finder.has_blocks() {
            return;
        }
        let Self { filter, finder, clients, unknown, causes, .. } = self;
        finder.for_each(segment, &filter.pass_within(segment, bounds), |block| {
            let counts = causes.entry(block.cause).or_default();
            *counts = (counts.0 + 1, counts.1 + u64::from(block.is_sampled));
            if block.client == ABSENT || block.client == REMAINDER {
                *unknown += 1;
                return;
            }
            let time_ns = block.time_ns.unwrap_or(i64::MAX);
            let one = BlockTally { blocks: 1, first_ns: time_ns };
            clients.entry(block.client).and_modify(|known| known.add(one)).or_insert(one);
        });
    }

    /// Returns the blocked addresses, and lists up to `max` of them. Returns `None` if the log has
    /// no blocks, or no requests beside them.
    pub fn addresses(&self, values: &Values, max: usize) -> Option<BlockedAddresses> {
        let blocks = self.unknown + self.clients.values().map(|known| known.blocks).sum::<u64>();
        if blocks == 0 || !self.has_requests {
            return None;
        }
        let dictionary = values.dictionary(Field::Client.column());
        let mut by_address: HashMap<Vec<u8>, BlockTally> = HashMap::new();
        for (id, blocked) in &self.clients {
            let address = usual_spelling(dictionary.value(*id).unwrap_or_default()).into_owned();
            let known = by_address.entry(address);
            known.and_modify(|known| known.add(*blocked)).or_insert(*blocked);
        }
        let addresses = by_address.len() as u64;
        let address = |(address, BlockTally { blocks, first_ns })| BlockedAddress {
            address,
            blocks,
            first_ns: Some(first_ns).filter(|first_ns| *first_ns != i64::MAX),
        };
        let mut listed: Vec<BlockedAddress> = by_address.into_iter().map(address).collect();
        listed.sort_unstable_by(|one, other| {
            other.blocks.cmp(&one.blocks).then_with(|| one.address.cmp(&other.address))
        });
        listed.truncate(max);
        let (unknown, causes) = (self.unknown, self.causes());
        Some(BlockedAddresses { blocks, unknown, addresses, causes, listed })
    }

    fn causes(&self) -> Vec<CauseBlocks> {
        let count = |(&cause, &(blocks, sampled))| CauseBlocks { cause, blocks, sampled };
        let mut causes: Vec<CauseBlocks> = self.causes.iter().map(count).collect();
        causes.sort_by_key(|count| (Reverse(count.blocks), count.cause));
        causes
    }
}

impl BlockTally {
    fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.first_ns = self.first_ns.min(other.first_ns);
    }
}

impl Fold for BlockCensus {
    fn refresh(&mut self, values: &Values) {
        self.finder.refresh(values);
        // Skips the filter's work for a log without blocks.
        if self.finder.has_blocks() {
            self.filter.refresh(values);
        }
    }

    fn update(&mut self, segment: &Segment) {
        self.update_within(segment, &TimeBounds::ALL);
    }

    fn merge(&mut self, other: &Self) {
        for (id, blocked) in &other.clients {
            let known = self.clients.entry(*id);
            known.and_modify(|known| known.add(*blocked)).or_insert(*blocked);
        }
        self.unknown += other.unknown;
        for (cause, (blocks, sampled)) in &other.causes {
            let counts = self.causes.entry(*cause).or_default();
            *counts = (counts.0 + blocks, counts.1 + sampled);
        }
        self.has_requests |= other.has_requests;
    }
}
