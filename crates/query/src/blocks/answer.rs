//! Builds the blocks report from the census and the histories.

use std::collections::HashMap;
use std::hash::Hash;

use weir_core::{
    ABSENT, AddressBlock, ColumnId, Dictionary, Field, REMAINDER, Timestamp, Values, Zone,
    format_rfc3339,
};
use weir_view::{
    BlockClock, BlockRule, BlockedActivity, BlockedClient, BlocksReport, CauseBlocks,
    ClockEstimate, NO_VALUE, REMAINDER_VALUE, ValueShare,
};

use super::census::{BlockedAddress, BlockedAddresses};
use super::events::rule_column;
use super::histories::{BlockHistories, History, PriorActivity, RuleBlocks};

/// The maximum number of rules, and of statuses, for each address in a report.
const ROWS_MAX: usize = 5;

const SECOND_NS: i64 = 1_000_000_000;

/// Builds the report on addresses and their histories. Times are in `zone`. The histories must have
/// been made with the same window and clock offset. Clients in `good_networks` are good.
pub fn blocks_report(
    addresses: &BlockedAddresses,
    histories: &BlockHistories,
    values: &Values,
    zone: &Zone,
    (window_s, offset_s, estimate): (u64, i64, Option<ClockEstimate>),
    good_networks: &[AddressBlock],
) -> BlocksReport {
    let builder = ReportBuilder { values, zone, window_s };
    let profiles = &histories.profiles;
    let client = |(at, (address, history)): (usize, (&BlockedAddress, &History))| BlockedClient {
        profile: profiles.profile(at, &address.address, values, good_networks),
        ..builder.client(address, history)
    };
    let clients = addresses.listed.iter().zip(&histories.clients).enumerate();
    BlocksReport {
        blocks: addresses.blocks,
        unknown: addresses.unknown,
        addresses: addresses.addresses,
        window_s,
        clock: BlockClock { offset_s, estimate },
        sampled: addresses.causes.iter().any(|count| count.sampled > 0),
        omissions: CauseBlocks::omissions(&addresses.causes),
        causes: addresses.causes.clone(),
        clients: clients.map(client).collect(),
    }
}

/// Converts histories to the entries of a report, and resolves ids to their values.
struct ReportBuilder<'a> {
    values: &'a Values,
    zone: &'a Zone,
    window_s: u64,
}

impl ReportBuilder<'_> {
    fn client(&self, address: &BlockedAddress, history: &History) -> BlockedClient {
        let span_ns = address.first_ns.zip(history.last_ns).map(|(first, last)| last - first);
        let span_s = span_ns.map(|span_ns| span_ns.max(0).unsigned_abs() / SECOND_NS as u64);
        let client = BlockedClient {
            first: address.first_ns.map(|time_ns| self.stamp(time_ns)),
            last: history.last_ns.map(|time_ns| self.stamp(time_ns)),
            rules: self.rules(history),
            before: self.before(&history.before),
            after: BlockedActivity {
                requests: history.after.values().sum(),
                statuses: self.statuses(&history.after),
                ..BlockedActivity::default()
            },
            ..BlockedClient::new(&address.address, address.blocks)
        };
        client.with_sentence(self.window_s, span_s, history.is_sampled)
    }

    fn rules(&self, history: &History) -> Vec<BlockRule> {
        let rule = |(&(cause, id), blocks): (&(_, u32), &RuleBlocks)| {
            let column = rule_column(cause, self.values).filter(|_| id != ABSENT);
            let in_requests = |thousandths: u32| f64::from(thousandths) / 1_000.0;
            BlockRule {
                cause,
                name: column.map(|column| self.text(column, id)),
                blocks: blocks.blocks,
                excess: blocks.excess.map(|(low, high)| [in_requests(low), in_requests(high)]),
                remedy: None,
            }
        };
        let mut rules: Vec<BlockRule> = history.rules.iter().map(rule).collect();
        rules.sort_by(|one, other| {
            let by_name = || (one.cause, &one.name).cmp(&(other.cause, &other.name));
            other.blocks.cmp(&one.blocks).then_with(by_name)
        });
        rules.truncate(ROWS_MAX);
        rules
    }

    fn before(&self, before: &PriorActivity) -> BlockedActivity {
        let requests: u64 = before.statuses.values().sum();
        let method = Field::Method.column();
        let target = |(method_id, path_id): (u32, u32)| {
            let path = self.text(Field::Path.column(), path_id);
            match method_id {
                ABSENT => path,
                id => format!("{} {path}", self.text(method, id)),
            }
        };
        let agent = |id| self.text(Field::UserAgent.column(), id);
        let most = |share: Option<Vec<ValueShare>>| share?.into_iter().next();
        BlockedActivity {
            requests,
            peak_per_second: (requests > 0).then(|| before.peak()),
            statuses: self.statuses(&before.statuses),
            target: most(before.targets.counts().map(|counts| ordered(counts, target))),
            user_agent: most(before.agents.counts().map(|counts| ordered(counts, agent))),
        }
    }

    fn statuses(&self, counts: &HashMap<u32, u64>) -> Vec<ValueShare> {
        let mut statuses = ordered(counts, |id| self.text(Field::Status.column(), id));
        statuses.truncate(ROWS_MAX);
        statuses
    }

    fn text(&self, column: ColumnId, id: u32) -> String {
        let dictionary: &Dictionary = self.values.dictionary(column);
        match id {
            ABSENT => NO_VALUE.to_owned(),
            REMAINDER => REMAINDER_VALUE.to_owned(),
            id => String::from_utf8_lossy(dictionary.value(id).unwrap_or_default()).into_owned(),
        }
    }

    fn stamp(&self, unix_ns: i64) -> String {
        let offset_s = self.zone.offset_s(unix_ns.div_euclid(SECOND_NS));
        format_rfc3339(Timestamp { unix_ns, offset_s })
    }
}

/// Returns the values in descending order of their counts, and then by their texts.
fn ordered<K: Copy + Eq + Hash>(
    counts: &HashMap<K, u64>,
    text: impl Fn(K) -> String,
) -> Vec<ValueShare> {
    let value = |(key, requests): (&K, &u64)| ValueShare { value: text(*key), requests: *requests };
    let mut values: Vec<ValueShare> = counts.iter().map(value).collect();
    values.sort_unstable_by(|one, other| {
        other.requests.cmp(&one.requests).then_with(|| one.value.cmp(&other.value))
    });
    values
}
