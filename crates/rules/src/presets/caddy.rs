//! Zones of caddy-ratelimit in a Caddyfile.

use std::net::IpAddr;

use weir_core::{AddressBlock, PatternBudget};

use super::{Preset, client, duration_ns, header_field};
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey, Word, lines};

/// Whether a text has `rate_limit` with a zone.
pub(super) fn looks_like(text: &str) -> bool {
    text.contains("rate_limit") && lines(text).any(|line| is_zone(&line))
}

fn is_zone(line: &[Word<'_>]) -> bool {
    matches!(line, [first, _, last] if first.text == "zone" && last.text == "{")
}

/// A block within a zone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Matchers,
    /// A block that is not supported.
    Skipped,
}

/// A zone that is being parsed.
struct Zone<'t> {
    name: Word<'t>,
    key: Option<LimitKey>,
    window_ns: Option<u64>,
    events: Option<u64>,
    /// The blocks that are open, from the outermost on.
    blocks: Vec<Block>,
    /// The matchers. A request that meets one of them counts.
    matchers: Vec<MatcherSet>,
    notes: Vec<RuleError>,
}

/// A block of matchers, as conditions. A request meets it if it meets one condition of each kind.
#[derive(Default)]
struct MatcherSet {
    methods: Vec<String>,
    hosts: Vec<String>,
    paths: Vec<String>,
    clients: Vec<String>,
}

impl MatcherSet {
    /// The condition of the set; `None` if all requests meet it.
    fn condition(&self) -> Option<String> {
        let kinds = [&self.methods, &self.hosts, &self.paths, &self.clients];
        let kinds = kinds.into_iter().filter(|kind| !kind.is_empty());
        let kinds: Vec<String> = kinds.map(|kind| format!("({})", kind.join(" or "))).collect();
        (!kinds.is_empty()).then(|| kinds.join(" and "))
    }
}

/// The parse state outside of zones.
#[derive(Default)]
struct Surroundings<'t> {
    /// The number of `rate_limit` lines.
    handlers: usize,
    /// The first words of the blocks that are open, and whether they have arguments.
    blocks: Vec<(Word<'t>, bool)>,
    notes: Vec<RuleError>,
}

impl<'t> Surroundings<'t> {
    /// Reads a line that is not in a zone.
    fn read(&mut self, line: &[Word<'t>]) {
        let Some(first) = line.first() else { return };
        if first.text == "}" {
            self.blocks.pop();
            return;
        }
        let arguments = line[1..].iter().filter(|word| word.text != "{").count();
        match first.text {
            "rate_limit" => {
                self.handlers += 1;
                let routes = ["handle", "handle_path", "route"];
                let is_matched = |(word, has_arguments): &&(Word<'_>, bool)| {
                    *has_arguments && routes.contains(&word.text)
                };
                let matched = self.blocks.iter().find(is_matched).map(|(word, _)| *word);
                if let Some(word) = matched.or(Some(*first).filter(|_| arguments > 0)) {
                    let message = "which requests this is for is not followed: all of them count";
                    self.notes.push(word.error(message));
                }
            }
            "match" if self.blocks.iter().any(|(word, _)| word.text == "rate_limit") => {
                let message = "a `match` belongs in a `zone`; here it selects no requests, so all of \
                               them count";
                self.notes.push(first.error(message));
            }
            "distributed" => {
                let message = "the other instances are not in the log; this one alone is replayed";
                self.notes.push(first.error(message));
            }
            _ => {}
        }
        if line.last().is_some_and(|word| word.text == "{") {
            self.blocks.push((*first, arguments > 0));
        }
    }
}

/// Reads the zones.
///
/// # Errors
/// If there is none, or one lacks its window or its events.
pub(super) fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Preset>, RuleError> {
    let (mut zones, mut zone) = (Vec::new(), None::<Zone<'_>>);
    let mut surroundings = Surroundings::default();
    for line in lines(text) {
        match &mut zone {
            None if is_zone(&line) => zone = Some(Zone::new(line[1])),
            None => surroundings.read(&line),
            Some(current) => {
                if current.read(&line)? {
                    zones.extend(zone.take());
                }
            }
        }
    }
    // A text that is cut off may lack the end of its last zone.
    if let Some(mut cut) = zone.filter(|zone| zone.events.is_some() && zone.window_ns.is_some()) {
        let message = "the text ends before this zone: its `}` is taken to be at the end";
        cut.notes.push(cut.name.error(message));
        zones.push(cut);
    }
    let mut presets = zones
        .into_iter()
        .map(|zone| Ok((zone.name, zone.preset(budget)?)))
        .collect::<Result<Vec<_>, RuleError>>()?;
    note_order(&mut presets, surroundings.handlers);
    let mut presets: Vec<Preset> = presets.into_iter().map(|(_, preset)| preset).collect();
    for preset in &mut presets {
        preset.notes.extend(surroundings.notes.iter().cloned());
    }
    if presets.is_empty() {
        Err(RuleError::new(0..0, "there is no `zone NAME { ... }` that ends with `}`"))
    } else {
        Ok(presets)
    }
}

/// Names the zones that others come before. `ServeHTTP` of handler.go asks the zones with the most
/// events in a time first, and ends with the first that rejects, so that later ones do not count
/// the request.
fn note_order(zones: &mut [(Word<'_>, Preset)], handlers: usize) {
    let events_of =
        |limit: &Limit, other: &Limit| limit.count as u128 * u128::from(other.window_ns);
    let is_after =
        |limit: &Limit, other: &Limit| events_of(limit, other) <= events_of(other, limit);
    let is_later = |at: usize| {
        let others = zones.iter().enumerate().filter(|(other, _)| *other != at);
        others
            .into_iter()
            .any(|(_, (_, other))| handlers > 1 || is_after(&zones[at].1.limit, &other.limit))
    };
    let later: Vec<usize> = (0..zones.len()).filter(|at| is_later(*at)).collect();
    for at in later {
        let (name, preset) = &mut zones[at];
        let message = "the zone is replayed alone: requests that another zone rejects before count \
                       here, and not in Caddy";
        preset.notes.push(name.error(message));
    }
}

impl<'t> Zone<'t> {
    fn new(name: Word<'t>) -> Self {
        let (key, window_ns, events) = Default::default();
        let (blocks, matchers, notes) = Default::default();
        Self { name, key, window_ns, events, blocks, matchers, notes }
    }

    /// Reads a line of the zone. Returns whether it ends the zone.
    fn read(&mut self, line: &[Word<'t>]) -> Result<bool, RuleError> {
        let Some(first) = line.first().copied() else { return Ok(false) };
        if first.text == "}" {
            return Ok(self.blocks.pop().is_none());
        }
        let opens = line.last().is_some_and(|word| word.text == "{");
        match (self.blocks.last(), line.get(1)) {
            (Some(Block::Skipped), _) => {}
            (None, Some(_)) if opens && first.text == "match" => {
                self.matchers.push(MatcherSet::default());
                self.blocks.push(Block::Matchers);
                return Ok(false);
            }
            (None, Some(value)) if !opens => self.read_setting(first, *value)?,
            (None, _) => {
                self.notes.push(first.error(format!("`{}` is not followed", first.text)));
            }
            (Some(Block::Matchers), _) => self.read_matcher(line),
        }
        if opens {
            self.blocks.push(Block::Skipped);
        }
        Ok(false)
    }

    fn read_setting(&mut self, name: Word<'_>, value: Word<'_>) -> Result<(), RuleError> {
        match name.text {
            "key" => self.key = Some(key(value, &mut self.notes)?),
            "window" => {
                let window_ns = duration_ns(value.text, 0).ok_or_else(|| {
                    value.error(format!("`{}` is not a duration from 1ms to 366d", value.text))
                })?;
                self.window_ns = Some(window_ns);
            }
            "events" => {
                let events = value.text.parse().ok();
                let is_valid = |events: &u64| (1..=Limit::COUNT_MAX).contains(events);
                self.events = Some(events.filter(is_valid).ok_or_else(|| {
                    value.error(format!("`{}` is not a number of events from 1", value.text))
                })?);
            }
            other => self.notes.push(name.error(format!("`{other}` is not followed"))),
        }
        Ok(())
    }

    /// Reads a line of a matcher of requests. Several lines of one kind are alternatives.
    fn read_matcher(&mut self, line: &[Word<'_>]) {
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
        match (conditions.filter(|it| !it.is_empty()), self.matchers.last_mut()) {
            (Some(conditions), Some(set)) => match kind {
                "method" => set.methods.extend(conditions),
                "host" => set.hosts.extend(conditions),
                "remote_ip" | "client_ip" => set.clients.extend(conditions),
                _ => set.paths.extend(conditions),
            },
            _ => {
                let message = format!(
                    "the matcher `{kind}` is not followed: requests count whether they meet it or not"
                );
                self.notes.push(line[0].error(message));
            }
        }
    }

    fn preset(self, budget: &PatternBudget) -> Result<Preset, RuleError> {
        let missing = |what: &str| self.name.error(format!("the zone has no `{what}`"));
        let count = self.events.ok_or_else(|| missing("events"))?;
        let window_ns = self.window_ns.ok_or_else(|| missing("window"))?;
        let sets: Option<Vec<String>> = self.matchers.iter().map(MatcherSet::condition).collect();
        let condition = match sets.as_deref() {
            None | Some([]) => None,
            Some([set]) => Some(set.clone()),
            Some(sets) => Some(format!("({})", sets.join(") or ("))),
        };
        let condition = condition.map(|text| RuleCondition::parse(&text, budget)).transpose();
        let limit = Limit {
            name: Some(self.name.text.to_owned()),
            key: self.key.unwrap_or_default(),
            condition: condition.map_err(|error| self.name.error(error.message))?,
            ..Limit::new(count, window_ns, Algorithm::SlidingRing)
        };
        Ok(Preset { limit, notes: self.notes })
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
fn path(value: &str) -> Option<String> {
    let (is_open, rest) = value.strip_prefix('*').map_or((false, value), |rest| (true, rest));
    let (is_prefix, rest) = rest.strip_suffix('*').map_or((false, rest), |rest| (true, rest));
    if rest.contains(['*', '?', '[', '\\']) {
        return None;
    }
    let (begin, end) = (if is_open { "" } else { "^" }, if is_prefix { "" } else { "$" });
    let pattern = quoted(&format!("(?i){begin}{}{end}", regex::escape(rest)))?;
    Some(format!("path~{pattern}"))
}

/// The key of a zone: the placeholders in a text. What stands between them is the same for all
/// requests. A placeholder that Caddy does not have is empty (`ReplaceAll` of handler.go), which is
/// noted.
fn key(word: Word<'_>, notes: &mut Vec<RuleError>) -> Result<LimitKey, RuleError> {
    let mut parts: Vec<KeyPart> = Vec::new();
    let mut at = 0;
    while let Some(open) = word.text[at..].find('{').map(|open| at + open) {
        let Some(length) = word.text[open..].find('}') else { break };
        at = open + length + 1;
        let place = word.part(open..at);
        let name = &place.text[1..place.text.len() - 1];
        if UNKNOWN.contains(&name) {
            notes.push(place.error(format!(
                "Caddy has no placeholder `{name}`, so it is empty and does not tell clients \
                 apart; write {{remote_host}}"
            )));
            continue;
        }
        if matches!(name, "remote" | "http.request.remote") {
            notes.push(place.error(format!(
                "`{name}` has the port, so Caddy counts each connection alone, and the limit hardly \
                 ever trips; here it is the client: write {{remote_host}}"
            )));
        }
        let more = key_parts(name).ok_or_else(|| {
            place.error(format!("the log has no field for the placeholder `{name}`"))
        })?;
        parts.extend(more.into_iter().filter(|part| !parts.contains(part)).collect::<Vec<_>>());
    }
    Ok(LimitKey(parts))
}

/// Placeholders that are often written, and that Caddy does not have.
const UNKNOWN: [&str; 6] = [
    "http.request.remote_ip",
    "http.request.remote_addr",
    "http.request.remote_host",
    "http.request.client_ip",
    "remote_ip",
    "remote_addr",
];

/// The fields of a placeholder, if a log has them.
fn key_parts(name: &str) -> Option<Vec<KeyPart>> {
    let after = |prefixes: &[&str]| prefixes.iter().find_map(|it| name.strip_prefix(it));
    let field = |name: &str| KeyPart::Field(name.to_owned());
    Some(match name {
        "remote_host"
        | "client_ip"
        | "remote"
        | "http.request.remote"
        | "http.request.remote.host"
        | "http.vars.client_ip"
        | "vars.client_ip" => client(),
        "host" | "hostport" | "http.request.host" | "http.request.hostport" => vec![field("host")],
        "path" | "uri.path" | "http.request.uri.path" | "orig_path" => vec![field("path")],
        "uri" | "http.request.uri" | "orig_uri" => vec![field("path"), field("query")],
        "query" | "http.request.uri.query" => vec![field("query")],
        "method" | "http.request.method" => vec![field("method")],
        _ => match (
            after(&["header.", "http.request.header."]),
            after(&["cookie.", "http.request.cookie."]),
            after(&["http.request.remote.host/"]),
        ) {
            (Some(header), ..) => vec![KeyPart::Field(header_field(header))],
            (_, Some(cookie), _) => vec![KeyPart::Field(format!("cookie_{cookie}"))],
            (.., Some(bits)) => {
                let (v4, v6) = bits.split_once(',').unwrap_or((bits, "128"));
                let (v4, v6) = (v4.parse().ok()?, v6.parse().ok()?);
                let is_valid = v4 <= 32 && v6 <= 128;
                return is_valid.then(|| vec![KeyPart::Network { field: "client".into(), v4, v6 }]);
            }
            _ => return None,
        },
    })
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
