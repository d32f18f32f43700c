//! Sentences about blocks.

use super::{BlockCause, BlockRule, BlockedActivity, BlockedClient, CauseBlocks};
use crate::number::{rounded, separated, share, span};

/// The maximum length of names and paths in sentences, in characters.
pub(super) const NAME_CHARACTERS_MAX: usize = 60;

impl BlockedClient {
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
    match text.char_indices().nth(NAME_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ValueShare;
    use super::{BlockCause, BlockRule, BlockedActivity, BlockedClient, CauseBlocks};

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
