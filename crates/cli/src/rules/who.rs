//! Says who the listed keys are.

use std::collections::{HashMap, HashSet};

use weir_core::AddressBlock;
use weir_ingest::{FormatChoice, Input};
use weir_query::{ClientRequests, UserPaths};
use weir_view::{ClientProfile, ReplayedRule, RulesReport};

use super::clients::{Clients, read_user_paths};
use super::columns::aligned;
use crate::display::{safe, separated};
use crate::outcome::Failure;
use crate::scan::ReadInput;
use crate::terminal::fit_middle;

/// The widest path; longer ones are cut in the middle.
const PATH_WIDTH: usize = 40;

/// How clients are looked up.
pub(super) struct Who<'a> {
    pub(super) inputs: &'a [Input],
    /// What the first reading of the inputs found.
    pub(super) read: &'a [ReadInput],
    pub(super) format: &'a FormatChoice,
    pub(super) threads: usize,
    pub(super) good_networks: &'a [AddressBlock],
}

impl Who<'_> {
    /// Adds to each rule who its first `top` keys, bans and alerts are about.
    ///
    /// # Errors
    /// If there are too many of them to search for.
    pub(super) fn describe(&self, report: &mut RulesReport, top: usize) -> Result<(), Failure> {
        let listed: Vec<Vec<String>> =
            report.rules.iter().map(|rule| listed_keys(rule, top)).collect();
        let profiles = self.profiles(listed.iter().flatten().map(|key| key.as_bytes()))?;
        for (rule, keys) in report.rules.iter_mut().zip(&listed) {
            let known = keys.iter().filter_map(|key| profiles.get(key.as_bytes()));
            rule.clients = known.cloned().collect();
        }
        Ok(())
    }

    /// Returns the profiles of those keys that are clients of the log, if it can be read again.
    ///
    /// # Errors
    /// If there are too many keys to search for.
    pub(super) fn profiles<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<HashMap<&'k [u8], ClientProfile>, Failure> {
        if self.inputs.iter().any(|input| input.bytes_total().is_none()) {
            return Ok(HashMap::new());
        }
        let Some(clients) = Clients::new(keys)? else { return Ok(HashMap::new()) };
        let found = clients.read(self.inputs, self.read, self.format, self.threads);
        let users = UserPaths::of(found.values())
            .map(|paths| read_user_paths(paths, self.inputs, self.format, self.threads));
        let profile = |(key, requests): (&'k [u8], ClientRequests)| {
            (key, requests.profile(key, self.good_networks, users.as_ref()))
        };
        Ok(found.into_iter().map(profile).collect())
    }
}

/// The networks that arguments name.
///
/// # Errors
/// If one is neither an address nor a network.
pub(super) fn good_networks(texts: &[String]) -> Result<Vec<AddressBlock>, Failure> {
    let network = |text: &String| {
        AddressBlock::parse_or_address(text).ok_or_else(|| {
            Failure::new(format_args!(
                "--good: `{}` is neither an address nor a network such as 192.0.2.0/24",
                safe(text)
            ))
        })
    };
    texts.iter().map(network).collect()
}

/// The first `top` keys of each list of a rule, each once.
fn listed_keys(rule: &ReplayedRule, top: usize) -> Vec<String> {
    let keys = rule.trips.iter().chain(&rule.closest).take(top).map(|key| &key.key);
    let bans = rule.bans.iter().take(top).map(|ban| &ban.key);
    let alerts = rule.alerts.iter().take(top).map(|alert| &alert.source);
    let mut seen = HashSet::new();
    keys.chain(bans).chain(alerts).filter(|key| seen.insert(*key)).cloned().collect()
}

/// Formats who the listed keys are, one on a line.
pub(super) fn table(clients: &[ClientProfile]) -> String {
    if clients.is_empty() {
        return String::new();
    }
    let header = ["Who", "Looks like", "Program", "Requests", "Errors", "First path"];
    let mut rows = vec![header.map(str::to_owned)];
    rows.extend(clients.iter().map(cells));
    format!("\n{}", aligned(&rows, |column| !matches!(column, 3 | 4)))
}

fn cells(client: &ClientProfile) -> [String; 6] {
    let text = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), safe_owned);
    [
        safe_owned(&client.client),
        client.marks(),
        fit_middle(&text(&client.agent), PATH_WIDTH),
        separated(client.requests),
        format!("{:.0} %", client.errors as f64 * 100.0 / client.requests.max(1) as f64),
        fit_middle(&text(&client.first_path), PATH_WIDTH),
    ]
}

fn safe_owned(text: &str) -> String {
    safe(text).to_string()
}
