//! The matchers of requests, as conditions.

use std::net::IpAddr;

use weir_core::AddressBlock;

use crate::error::RuleError;
use crate::windows::Word;

/// A block of matchers, as conditions. A request meets it if it meets one condition of each kind.
#[derive(Default)]
pub(super) struct MatcherSet {
    methods: Vec<String>,
    hosts: Vec<String>,
    paths: Vec<String>,
    clients: Vec<String>,
}

impl MatcherSet {
    /// The condition of the set; `None` if all requests meet it.
    pub(super) fn condition(&self) -> Option<String> {
        let kinds = [&self.methods, &self.hosts, &self.paths, &self.clients];
        let kinds = kinds.into_iter().filter(|kind| !kind.is_empty());
        let kinds: Vec<String> = kinds.map(|kind| format!("({})", kind.join(" or "))).collect();
        (!kinds.is_empty()).then(|| kinds.join(" and "))
    }

    /// Reads a line of a matcher of requests. Several lines of one kind are alternatives.
    ///
    /// # Errors
    /// If it is not followed.
    pub(super) fn read(&mut self, line: &[Word<'_>]) -> Result<(), RuleError> {
        let values = line[1..].iter().map(|word| word.text.trim_matches('"'));
        let conditions = |condition: fn(&str) -> Option<String>| -> Option<Vec<String>> {
            values.clone().map(condition).collect()
        };
        let kind = line[0].text;
        let conditions = match kind {
            "method" => conditions(|value| Some(format!("method={}", quoted(value)?))),
            "host" => conditions(host),
            "path" => conditions(path),
            "remote_ip" | "client_ip" => conditions(network),
            _ => None,
        };
        let Some(conditions) = conditions.filter(|it| !it.is_empty()) else {
            return Err(line[0].error(format!(
                "the matcher `{kind}` is not followed: requests count whether they meet it or not"
            )));
        };
        match kind {
            "method" => self.methods.extend(conditions),
            "host" => self.hosts.extend(conditions),
            "remote_ip" | "client_ip" => self.clients.extend(conditions),
            _ => self.paths.extend(conditions),
        }
        Ok(())
    }
}

/// A text as a value of a condition, if it can be one.
fn quoted(text: &str) -> Option<String> {
    (!text.contains(['\'', '{'])).then(|| format!("'{text}'"))
}

/// The condition of a host without wildcards. Case is ignored.
fn host(value: &str) -> Option<String> {
    let pattern = quoted(&format!("(?i)^{}$", regex::escape(value)))?;
    (!value.contains('*')).then(|| format!("host~{pattern}"))
}

/// The condition of a path with `*` at its ends at most, as `MatchPath` of Caddy compares them:
/// case is ignored.
pub(super) fn path(value: &str) -> Option<String> {
    let (is_open, rest) = value.strip_prefix('*').map_or((false, value), |rest| (true, rest));
    let (is_prefix, rest) = rest.strip_suffix('*').map_or((false, rest), |rest| (true, rest));
    if rest.contains(['*', '?', '[', '\\']) {
        return None;
    }
    let (begin, end) = (if is_open { "" } else { "^" }, if is_prefix { "" } else { "$" });
    let pattern = quoted(&format!("(?i){begin}{}{end}", regex::escape(rest)))?;
    Some(format!("path~{pattern}"))
}

/// The networks that `private_ranges` stands for (`PrivateRangesCIDR` of Caddy).
const PRIVATE: &str = "192.168.0.0/16,172.16.0.0/12,10.0.0.0/8,127.0.0.1/8,fd00::/8,::1";

/// The condition of an address or a network of the client.
fn network(value: &str) -> Option<String> {
    if value == "private_ranges" {
        return Some(format!("client={PRIVATE}"));
    }
    let is_network = AddressBlock::parse(value).is_some() || value.parse::<IpAddr>().is_ok();
    is_network.then(|| format!("client={value}"))
}
