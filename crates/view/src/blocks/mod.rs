//! Blocks: what the rules in force did, as a block log beside an access log shows it.
//!
//! A *block* is a record of an error log or a firewall which states that an address was refused,
//! delayed or banned. [`BlocksReport`] lists the addresses with the most blocks, and what they
//! requested before.

mod remedy;
mod sentence;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::bytes::{hex_if_needed, lossy_text};
use crate::client_profile::ClientProfile;

/// A question about blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlocksQuestion {
    /// The window before the first block of an address in which its requests count, in seconds; at
    /// most an hour.
    #[serde(default = "window_s")]
    pub window_s: u64,
    /// How far the clock of the block log is ahead of that of the access log, in seconds; null to
    /// estimate it.
    #[serde(default)]
    pub clock_offset_s: Option<i64>,
    /// Addresses and networks, such as `192.0.2.0/24`, whose clients are good.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub good_networks: Vec<String>,
}

fn window_s() -> u64 {
    BlocksQuestion::default().window_s
}

impl BlocksQuestion {
    /// The maximum window. The requests in each of its seconds are counted for each listed address.
    pub const WINDOW_S_MAX: u64 = 3_600;

    /// The maximum offset: two days, more than that between any two zones.
    pub const CLOCK_OFFSET_S_MAX: i64 = 172_800;
}

impl Default for BlocksQuestion {
    fn default() -> Self {
        Self { window_s: 600, clock_offset_s: None, good_networks: Vec::new() }
    }
}

/// The answer to a question about blocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlocksAnswer {
    /// The report; null if the log has no blocks, or no requests beside them.
    pub report: Option<BlocksReport>,
    /// Whether all sources had ended, so that the answer is the last one.
    pub complete: bool,
}

/// The blocked addresses, and what they did before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlocksReport {
    /// All blocks, including those of unlisted addresses.
    pub blocks: u64,
    /// The number of blocks whose address is unknown: the log lacks it, or memory ran out.
    pub unknown: u64,
    /// The number of blocked addresses.
    pub addresses: u64,
    /// The window before the first block of an address in which its requests count, in seconds.
    pub window_s: u64,
    /// The clocks of the two logs.
    pub clock: BlockClock,
    /// The number of blocks of each kind, the most frequent first.
    pub causes: Vec<CauseBlocks>,
    /// Whether some blocks are from a log that is only a sample, such as that of UFW, which logs 3
    /// packets a minute.
    pub sampled: bool,
    /// The facts that the block logs leave out, a sentence for each kind of log.
    pub omissions: Vec<String>,
    /// The addresses with the most blocks, in descending order of blocks and then by address.
    pub clients: Vec<BlockedClient>,
}

/// How far the clock of the block log is ahead of that of the access log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlockClock {
    /// The offset that was used, in seconds: from the question, or the estimate, or 0.
    pub offset_s: i64,
    /// The estimate; null if the logs do not allow one.
    pub estimate: Option<ClockEstimate>,
}

/// An estimate of the offset between two clocks, with its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ClockEstimate {
    /// The offset in seconds.
    pub offset_s: i64,
    /// The kind of evidence.
    pub by: ClockEvidence,
    /// The number of pairs that were compared.
    pub pairs: u64,
    /// The pairs that agree with the offset.
    pub agreeing: u64,
}

/// The evidence for an offset between clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum ClockEvidence {
    /// Rejections in the error log, matched with requests of the same client with status 429 or
    /// 503.
    Rejections,
    /// The last ban of each address, and its last request.
    Bans,
}

/// The kind of rule that blocked an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum BlockCause {
    /// nginx's `limit_req` rejected a request; the rule is the zone.
    RequestLimit,
    /// nginx's `limit_req` delayed a request; the rule is the zone.
    RequestDelay,
    /// nginx's `limit_req` or `limit_conn` would have rejected a request, in a dry run.
    DryRun,
    /// nginx's `limit_conn` rejected a request; the rule is the zone.
    ConnectionLimit,
    /// nginx's `deny` rejected a request; the log does not name the rule.
    AccessRule,
    /// fail2ban banned the address; the rule is the jail.
    Jail,
    /// CrowdSec decided against the address; the rule is the scenario.
    Scenario,
    /// A packet filter dropped a packet; the rule is the prefix of its log.
    PacketFilter,
}

/// The number of blocks of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CauseBlocks {
    /// The kind of rule.
    pub cause: BlockCause,
    /// The number of its blocks.
    pub blocks: u64,
    /// How many of them are from a log of UFW, which is only a sample.
    pub sampled: u64,
}

/// An address that was blocked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlockedClient {
    /// The address, with U+FFFD for bytes that are not UTF-8.
    pub client: String,
    /// All of its bytes in hexadecimal, if some are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub client_hex: Option<String>,
    /// The number of its blocks.
    pub blocks: u64,
    /// The time of the first block, RFC 3339, by the clock of the block log; null if no block has a
    /// time.
    pub first: Option<String>,
    /// The time of the last block.
    pub last: Option<String>,
    /// The rules that blocked it, in descending order of blocks, 5 at most.
    pub rules: Vec<BlockRule>,
    /// The requests in the window up to the first block. If the block's time is in whole seconds,
    /// the requests of the same second count too.
    pub before: BlockedActivity,
    /// The requests after the first block.
    pub after: BlockedActivity,
    /// A summary as a sentence, with texts from the log.
    pub sentence: String,
    /// What all of its requests say about it. Left out if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub profile: Option<ClientProfile>,
}

/// A rule that blocked an address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlockRule {
    /// The kind of rule.
    pub cause: BlockCause,
    /// The name of the rule; null if the log lacks it.
    pub name: Option<String>,
    /// The number of blocks of the address by the rule.
    pub blocks: u64,
    /// The lowest and the highest excess in requests, if the log has it. The excess is how far the
    /// client was over the rate. The configured burst is below the lowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub excess: Option<[f64; 2]>,
    /// What would let the address pass. Only on the page, and only for addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub remedy: Option<Remedy>,
}

/// Lines of a configuration that let an address pass a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Remedy {
    /// Where the lines belong, as the end of a sentence.
    pub place: String,
    /// The lines, in the language of the rule's software.
    pub text: String,
}

/// The requests of an address in a period.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlockedActivity {
    /// The number of requests.
    pub requests: u64,
    /// The most requests in one second of the clock. Only before the first block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub peak_per_second: Option<u64>,
    /// The statuses in descending order of requests, 5 at most.
    pub statuses: Vec<ValueShare>,
    /// The most frequent method and path; null if there are none, or too many to count. Only before
    /// the first block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub target: Option<ValueShare>,
    /// The most frequent user agent, under the same conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub user_agent: Option<ValueShare>,
}

/// A value, and the number of requests that have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ValueShare {
    /// The value, with U+FFFD for bytes that are not UTF-8.
    pub value: String,
    /// The number of requests.
    pub requests: u64,
}

impl BlocksReport {
    /// Adds what would let each address pass the rules that blocked it.
    pub fn add_remedies(&mut self) {
        for BlockedClient { client, rules, .. } in &mut self.clients {
            if client.parse::<IpAddr>().is_ok() {
                rules.iter_mut().for_each(|rule| rule.remedy = Some(rule.remedy_for(client)));
            }
        }
    }
}

impl BlockedClient {
    /// Creates the entry of an address from its bytes.
    pub fn new(address: &[u8], blocks: u64) -> Self {
        let (client, client_hex) = (lossy_text(address), hex_if_needed(address));
        Self { client, client_hex, blocks, ..Self::default() }
    }
}
