//! Blocks: what the rules in force did, as a block log beside an access log shows it.
//!
//! A *block* is a record of an error log or a firewall which states that an address was refused,
//! delayed or banned. [`BlocksReport`] lists the addresses with the most blocks, and what they
//! requested before.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::bytes::{hex_if_needed, lossy_text};
use crate::client_profile::ClientProfile;
use crate::number::{rounded, separated, share, span};

/// The maximum length of names and paths in sentences, in characters.
const SENTENCE_TEXT_MAX: usize = 60;

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

    /// Adds the sentence. `span_s` is the time from the first to the last block, in seconds.
    #[must_use]
    pub fn with_sentence(mut self, window_s: u64, span_s: Option<u64>, is_sampled: bool) -> Self {
        let mut sentence = format!("{} was ", self.client);
        let least = if is_sampled { "at least " } else { "" };
        for (number, rule) in self.rules.iter().enumerate() {
            let and = match number {
                0 => "",
                _ if number + 1 == self.rules.len() => " and ",
                _ => ", ",
            };
            let (verb, times) = (rule.cause.participle(), times(rule.blocks));
            sentence.push_str(&format!("{and}{verb} {least}{times} by {}", rule.text()));
        }
        if let Some(span_s) = span_s.filter(|_| self.blocks > 1) {
            sentence.push_str(&match span_s {
                0 => " within a second".to_owned(),
                _ => format!(" within {}", span(span_s)),
            });
        }
        sentence.push_str("; ");
        sentence.push_str(&self.before.text(window_s));
        let after = match self.after.requests {
            0 => "nothing".to_owned(),
            1 => "1 request".to_owned(),
            many => format!("{} requests", separated(many)),
        };
        sentence.push_str(&format!("; after it, {after}"));
        self.sentence = sentence;
        self
    }
}

impl BlockRule {
    /// Returns the rule's name and excess, as in `zone "one" (excess 4.0 to 5.1)`.
    pub fn text(&self) -> String {
        let name = self.name.as_deref().map(shorten);
        let mut text = match (self.cause, name) {
            (BlockCause::Jail, Some(name)) => format!("jail {name}"),
            (BlockCause::Scenario, Some(name)) => format!("scenario {name}"),
            (BlockCause::PacketFilter, Some(name)) => format!("packet filter rule {name}"),
            (BlockCause::PacketFilter, None) => "a packet filter".to_owned(),
            (BlockCause::AccessRule, _) => "an access rule".to_owned(),
            (_, Some(name)) => format!("zone \"{name}\""),
            (_, None) => "a rule without a name".to_owned(),
        };
        if let Some(excess) = self.excess {
            let [low, high] = excess.map(|requests| rounded(requests, 1));
            text.push_str(&match low == high {
                true => format!(" (excess {high})"),
                false => format!(" (excess {low} to {high})"),
            });
        }
        text
    }
}

impl BlockRule {
    /// Returns what lets an address pass the rule.
    pub fn remedy_for(&self, address: &str) -> Remedy {
        let name = self.name.as_deref().map_or("NAME", plain_name);
        let (place, text) = match self.cause {
            BlockCause::RequestLimit
            | BlockCause::RequestDelay
            | BlockCause::DryRun
            | BlockCause::ConnectionLimit => {
                let place =
                    format!("in http of nginx.conf, with $limited as the key of zone {name}");
                let lines = format!(
                    "geo $is_exempt {{ default 0; {address} 1; }}\n\
                     map $is_exempt $limited {{ 0 $binary_remote_addr; 1 \"\"; }}"
                );
                (place + &self.burst_text(), lines)
            }
            BlockCause::AccessRule => {
                ("in nginx.conf, before the deny".to_owned(), format!("allow {address};"))
            }
            BlockCause::Jail => (
                "in jail.local".to_owned(),
                format!("[{name}]\nignoreip = 127.0.0.1/8 ::1 {address}"),
            ),
            BlockCause::Scenario => (
                "in a file of /etc/crowdsec/parsers/s02-enrich".to_owned(),
                format!(
                    "name: local/allowed\ndescription: addresses that are never banned\nwhitelist:\n  \
                     reason: allowed\n  ip:\n    - \"{address}\""
                ),
            ),
            BlockCause::PacketFilter => (
                "on the command line, with ufw".to_owned(),
                format!("ufw insert 1 allow from {address}"),
            ),
        };
        Remedy { place, text }
    }

    /// The burst that the highest excess asks for, as the rest of a sentence.
    fn burst_text(&self) -> String {
        let Some([_, highest]) = self.excess.filter(|_| self.cause == BlockCause::RequestLimit)
        else {
            return String::new();
        };
        let burst = separated(highest.ceil().max(1.0) as u64);
        format!(
            "; or burst={burst}, which lets a request with the highest excess of the log pass, though \
             each that passes adds to the excess"
        )
    }
}

/// A name that is safe in a configuration, or a placeholder for it.
fn plain_name(name: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if name.chars().all(is_plain) && name.len() <= SENTENCE_TEXT_MAX { name } else { "NAME" }
}

impl CauseBlocks {
    /// Returns what the logs of these blocks leave out, a sentence for each kind of log. UFW's
    /// limit is from its `user.rules`: `--limit 3/min --limit-burst 10`.
    pub fn omissions(all: &[Self]) -> Vec<String> {
        let count = |cause| all.iter().find(|it: &&Self| it.cause == cause);
        let mut sentences: Vec<&str> = Vec::new();
        if let Some(packets) = count(BlockCause::PacketFilter) {
            if packets.sampled > 0 {
                sentences.push(
                    "UFW logs at most 3 packets a minute for each of its rules, after the first 10, \
                     so its blocks are a sample, and their numbers are lower bounds.",
                );
            }
            if packets.sampled < packets.blocks {
                sentences.push(
                    "A LOG rule of iptables or nftables may have a limit, which its log does not \
                     state, so the numbers of blocked packets may be lower bounds.",
                );
            }
        }
        sentences.into_iter().map(str::to_owned).collect()
    }
}

impl BlockCause {
    /// Returns what was done to the address, such as `rejected`.
    pub fn participle(self) -> &'static str {
        match self {
            Self::RequestLimit | Self::ConnectionLimit => "rejected",
            Self::RequestDelay => "delayed",
            Self::DryRun => "let through in a dry run",
            Self::AccessRule => "forbidden",
            Self::Jail | Self::Scenario => "banned",
            Self::PacketFilter => "blocked",
        }
    }
}

impl BlockedActivity {
    /// Returns `in the 10 min up to the first, it sent 9 requests, at most 9 a second, all of them
    /// GET /`.
    fn text(&self, window_s: u64) -> String {
        let window = span(window_s);
        if self.requests == 0 {
            return format!("in the {window} up to the first, it sent no request");
        }
        let (target, status) = (self.target.as_ref(), self.statuses.first());
        if self.requests == 1 {
            let target = target.map_or_else(|| "1 request".to_owned(), |it| shorten(&it.value));
            let status = status
                .map_or_else(String::new, |it| format!(" with status {}", shorten(&it.value)));
            return format!("in the {window} up to the first, it sent only {target}{status}");
        }
        let mut text = format!(
            "in the {window} up to the first, it sent {} requests",
            separated(self.requests)
        );
        if let Some(peak) = self.peak_per_second.filter(|peak| *peak > 1) {
            text.push_str(&format!(", at most {} a second", separated(peak)));
        }
        let of_all = |requests: u64| match requests == self.requests {
            true => "all".to_owned(),
            false => share(requests, self.requests),
        };
        match target {
            // No target stands out.
            Some(target) if target.requests * 5 < self.requests => {
                text.push_str(", to many targets");
            }
            Some(target) => {
                let share = of_all(target.requests);
                text.push_str(&format!(", {share} of them {}", shorten(&target.value)));
            }
            None => {}
        }
        if let Some(status) = status {
            let (share, value) = (of_all(status.requests), shorten(&status.value));
            text.push_str(&format!(", {share} with status {value}"));
        }
        text
    }
}

/// Returns `once`, `twice` or `1,204 times`.
fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{} times", separated(many)),
    }
}

/// Cuts a long text and adds `…`.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(SENTENCE_TEXT_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockCause, BlockRule, BlockedActivity, BlockedClient, CauseBlocks, ValueShare};

    fn rule(cause: BlockCause, name: Option<&str>, blocks: u64) -> BlockRule {
        BlockRule { cause, name: name.map(str::to_owned), blocks, excess: None, remedy: None }
    }

    fn value(value: &str, requests: u64) -> ValueShare {
        ValueShare { value: value.to_owned(), requests }
    }

    #[test]
    fn the_sentence_states_who_which_rule_how_often_and_what_they_did() {
        let limit = BlockRule {
            excess: Some([10.04, 20.52]),
            ..rule(BlockCause::RequestLimit, Some("one"), 1_204)
        };
        let before = BlockedActivity {
            requests: 1_310,
            peak_per_second: Some(38),
            statuses: vec![value("200", 1_000), value("503", 310)],
            target: Some(value("POST /wp-login.php", 1_258)),
            user_agent: None,
        };
        let client = BlockedClient {
            rules: vec![limit, rule(BlockCause::Jail, Some("nginx"), 2)],
            before,
            after: BlockedActivity { requests: 3, ..BlockedActivity::default() },
            ..BlockedClient::new(b"203.0.113.7", 1_206)
        };
        assert_eq!(
            client.with_sentence(600, Some(180), false).sentence,
            "203.0.113.7 was rejected 1,204 times by zone \"one\" (excess 10.0 to 20.5) and banned \
             twice by jail nginx within 3 min; in the 10 min up to the first, it sent 1,310 \
             requests, at most 38 a second, 96.0% of them POST /wp-login.php, 76.3% with status \
             200; after it, 3 requests"
        );
    }

    #[test]
    fn a_sample_and_silence_are_called_so() {
        let client = BlockedClient {
            rules: vec![rule(BlockCause::PacketFilter, None, 3)],
            ..BlockedClient::new(b"2001:db8::1", 3)
        };
        assert_eq!(
            client.with_sentence(60, Some(0), true).sentence,
            "2001:db8::1 was blocked at least 3 times by a packet filter within a second; in the \
             1 min up to the first, it sent no request; after it, nothing"
        );
    }

    #[test]
    fn each_kind_of_log_states_what_it_leaves_out() {
        let omissions = |all: &[(BlockCause, u64, u64)]| {
            let count = |&(cause, blocks, sampled)| CauseBlocks { cause, blocks, sampled };
            let all: Vec<CauseBlocks> = all.iter().map(count).collect();
            CauseBlocks::omissions(&all).join(" ")
        };
        let packets = BlockCause::PacketFilter;
        assert_eq!(omissions(&[(BlockCause::Jail, 3, 0), (BlockCause::Scenario, 3, 0)]), "");
        assert!(omissions(&[(packets, 3, 3)]).starts_with("UFW logs at most 3 packets a minute"));
        assert!(!omissions(&[(packets, 3, 3)]).contains("iptables"));
        assert!(omissions(&[(packets, 3, 0)]).starts_with("A LOG rule of iptables or nftables"));
        let both = omissions(&[(packets, 3, 1)]);
        assert!(both.contains("UFW") && both.contains("iptables"));
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        let name = "é".repeat(100);
        let client = BlockedClient {
            rules: vec![rule(BlockCause::PacketFilter, Some(&name), 1)],
            ..BlockedClient::new(b"a\xFF", 1)
        };
        let client = client.with_sentence(600, None, false);
        assert_eq!(client.client_hex.as_deref(), Some("61ff"));
        assert!(client.sentence.contains(&format!("rule {}…;", "é".repeat(60))));
    }
}
