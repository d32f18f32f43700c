//! The part of nginx's configuration that decides which limits apply to a request.
//!
//! A text may be a whole `nginx.conf`, or some of its lines; limits outside of any server apply to
//! all requests. [`tokens`] splits the text, [`map`] reads `map` and `geo`, [`server`] finds the
//! location of a request, and [`template`] reads keys. Each kind of limit reads its own directives
//! ([`LimitKind`]).

mod kind;
mod map;
mod parameters;
mod server;
mod template;
#[cfg(test)]
mod tests;
mod tokens;
mod uri;
mod zone;

pub(crate) use kind::LimitKind;
pub(crate) use map::Map;
pub(crate) use parameters::{NUMBER_MAX, find_zone, unknown_parameter, whole_number};
pub(crate) use server::Server;
pub(crate) use template::{Template, TemplatePart};
pub(crate) use tokens::{Directive, Directives, Word, directives};
pub(crate) use uri::normalised;
pub(crate) use zone::{Zone, ZoneParameters};

use std::ops::Range;

use weir_core::PatternBudget;

use self::server::{Location, LocationPath, ServerLevel};
use crate::error::RuleError;

/// The limits of one kind in a configuration.
#[derive(Debug)]
pub(crate) struct Configuration<L: LimitKind> {
    pub(crate) zones: Vec<Zone<L::Zone>>,
    pub(crate) limit_sets: Vec<LimitSet<L>>,
    pub(crate) servers: Vec<Server>,
    pub(crate) maps: Vec<Map>,
    /// Notes about the parts that were not understood.
    pub(crate) notes: Vec<RuleError>,
    /// Counts the expressions of maps, names and locations.
    budget: PatternBudget,
}

/// The limits that apply to a request together, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitSet<L> {
    pub(crate) limits: Vec<L>,
    /// Whether the limits are a dry run, which lets all requests through. A replay ignores it.
    pub(crate) is_dry_run: bool,
}

/// The settings that a level inherits from the enclosing one, unless it has its own.
#[derive(Debug, Clone, Copy, Default)]
struct Inherited {
    /// The number of the limit set.
    limits: Option<usize>,
    is_dry_run: bool,
}

/// Directives that are not supported although they change which requests are limited, with the
/// reason.
const NOT_FOLLOWED: [(&str, &str); 4] = [
    ("include", "the file is not read; paste its lines if they have limits"),
    ("rewrite", "rewritten requests are taken to stay in their location"),
    ("if", "the block is not followed"),
    ("set", "the variable is not known"),
];

/// The reason why a directive such as `limit_req_dry_run` is ignored.
const DRY_RUN_REASON: &str = "the limits are replayed as if they were in force";

/// Directives that redirect requests to another location, whose limits then apply, too.
const REDIRECTS: [&str; 3] = ["try_files", "index", "error_page"];

/// Finds the first directive with this name in any block.
pub(crate) fn directive_place(directives: &[Directive], name: &str) -> Option<Range<usize>> {
    directives.iter().find_map(|directive| {
        if directive.name.text == name {
            Some(directive.name.range.clone())
        } else {
            directive_place(directive.block.as_deref()?, name)
        }
    })
}

impl<L: LimitKind> Configuration<L> {
    /// Reads a configuration.
    ///
    /// # Errors
    /// If it has an invalid zone or limit, or no limit.
    pub(crate) fn read(directives: &Directives, budget: &PatternBudget) -> Result<Self, RuleError> {
        let (zones, limit_sets, servers, maps) = Default::default();
        let (notes, budget) = (Vec::from_iter(directives.unclosed.clone()), budget.clone());
        let mut configuration = Self { zones, limit_sets, servers, maps, notes, budget };
        let directives = &directives.list[..];
        configuration.read_definitions(directives)?;
        configuration.read_http(directives)?;
        if configuration.limit_sets.is_empty() {
            return Err(RuleError::new(0..0, configuration.without_limit()));
        }
        if let Some((before, note)) = L::DECIDES_BEFORE
            && let Some(place) = directive_place(directives, before)
        {
            configuration.notes.push(RuleError::new(place, note));
        }
        Ok(configuration)
    }

    /// Splits a text into directives, and reads them.
    #[cfg(test)]
    pub(crate) fn parse(text: &str) -> Result<Self, RuleError> {
        Self::read(&directives(text)?, &PatternBudget::default())
    }

    /// The message about a configuration that limits nothing.
    fn without_limit(&self) -> String {
        let limit = L::NAME;
        match &self.zones[..] {
            [] => format!("there is no `{limit}` in it; write, for instance: {}", L::EXAMPLE),
            [zone, others @ ..] => {
                let zones = if others.is_empty() { "the zone" } else { "a zone" };
                let line = L::EXAMPLE.rsplit_once("; ").map_or(L::EXAMPLE, |(_, line)| line);
                let line = line.replace("zone=one", &format!("zone={}", zone.name));
                let line = line.replace(" one ", &format!(" {} ", zone.name));
                format!(
                    "there is no `{limit}` in it that uses {zones}, so nothing is limited; write \
                     where it should apply: {line}"
                )
            }
        }
    }

    /// The names of the log fields on which limits and keys depend.
    pub(crate) fn fields(&self) -> Vec<String> {
        let keys = self.zones.iter().map(|zone| &zone.key);
        let maps =
            self.maps.iter().flat_map(|map| std::iter::once(&map.subject).chain(map.values()));
        let variables = keys.chain(maps).flat_map(|template| {
            template.parts.iter().filter_map(|part| match part {
                TemplatePart::Variable(name) => Some(&**name),
                TemplatePart::Text(_) => None,
            })
        });
        let of_path = ["path", "query"];
        let fields = variables.flat_map(|name| match name {
            "binary_remote_addr" => vec!["client"],
            "http_host" | "server_name" => vec![name, "host"],
            "uri" | "document_uri" | "request_uri" | "is_args" => of_path.to_vec(),
            name if name.starts_with("arg_") => [&of_path[..], &[name]].concat(),
            name => vec![name],
        });
        let always = ["time", "request_time", "request", "path", "host", "server_port"];
        let is_needed = |name: &&str| match *name {
            "host" | "server_port" => self.servers.len() > 1,
            _ => true,
        };
        always.into_iter().filter(is_needed).chain(fields).map(str::to_owned).collect()
    }

    /// A short description of the limits.
    pub(crate) fn description(&self) -> String {
        let limits = self.limit_sets.iter().flat_map(|set| &set.limits);
        let mut shown: Vec<String> = limits.map(|limit| limit.text(&self.zones)).collect();
        shown.dedup();
        shown.join("; ")
    }

    /// Reads zones, maps and geos, which may be defined after the limits that use them.
    fn read_definitions(&mut self, directives: &[Directive]) -> Result<(), RuleError> {
        for directive in directives {
            match &*directive.name.text {
                "http" => self.read_definitions(directive.block.as_deref().unwrap_or_default())?,
                name if name == L::Zone::DIRECTIVE => {
                    let zone = Zone::<L::Zone>::parse(directive)?;
                    if self.zones.iter().any(|known| known.name == zone.name) {
                        let message = format!("the zone `{}` is defined twice", zone.name);
                        return Err(directive.name.error(message));
                    }
                    self.zones.push(zone);
                }
                "map" | "geo" => {
                    let map = Map::parse(directive, &mut self.notes, &self.budget)?;
                    self.maps.push(map);
                }
                "server" | "location" => refuse_zones::<L>(directive)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the level of `http`. Lines without a block belong to it, too.
    fn read_http(&mut self, directives: &[Directive]) -> Result<(), RuleError> {
        let (inner, outer): (Vec<_>, Vec<_>) =
            directives.iter().partition(|directive| directive.name.text == "http");
        for http in inner {
            self.read_http(http.block.as_deref().unwrap_or_default())?;
        }
        let outer: Vec<Directive> = outer.into_iter().cloned().collect();
        let inherited = self.read_limits(&outer, Inherited::default())?;
        let has_server = outer.iter().any(|directive| directive.name.text == "server");
        for server in outer.iter().filter(|directive| directive.name.text == "server") {
            let block = server.block.as_deref().unwrap_or_default();
            let mut root = self.read_level(block, inherited)?;
            // `return` ends every request of the server before the search for a location.
            if has(block, "return") {
                root = ServerLevel::default();
            } else if !root.is_uniform() {
                self.note_redirects(block);
            }
            let parsed = Server::parse(block, root, &mut self.notes, &self.budget);
            if parsed.is_like_one_of(&self.servers) {
                self.notes.push(server.name.error(
                    "an earlier server has the same name and other limits: the two are told apart \
                     by $server_port if the log has it; if not, their requests are taken to be of \
                     the first of them that has limits",
                ));
            }
            self.servers.push(parsed);
        }
        let has_location = outer.iter().any(|directive| directive.name.text == "location");
        if has_location || inherited.limits.is_some() && !has_server {
            let root = self.read_level(&outer, inherited)?;
            if !root.is_uniform() {
                self.note_redirects(&outer);
            }
            self.servers.push(Server::of_all(root));
        }
        Ok(())
    }

    /// Reads a server or a location. It inherits limits unless it has its own.
    fn read_level(
        &mut self,
        directives: &[Directive],
        outer: Inherited,
    ) -> Result<ServerLevel, RuleError> {
        let inherited = self.read_limits(directives, outer)?;
        let mut locations = Vec::new();
        for directive in directives {
            let name = &*directive.name.text;
            let mut not_followed = NOT_FOLLOWED.into_iter().chain([(L::DRY_RUN, DRY_RUN_REASON)]);
            if let Some((_, reason)) = not_followed.find(|(known, _)| *known == name) {
                self.notes.push(directive.name.error(format_args!("`{name}`: {reason}")));
            }
            if name != "location" {
                continue;
            }
            let block = directive.block.as_deref().unwrap_or_default();
            let level = self.read_level(block, inherited)?;
            match LocationPath::parse(directive, &self.budget) {
                Ok(Some(path)) => locations.push(Location { path, level }),
                Ok(None) => {}
                Err(error) => self.notes.push(error),
            }
        }
        // `return` ends requests before limits apply, but not those of a nested location.
        let limits = inherited.limits.filter(|_| !has(directives, "return"));
        Ok(ServerLevel { limits, locations })
    }

    /// Makes a note for each directive that redirects requests to other locations.
    fn note_redirects(&mut self, directives: &[Directive]) {
        for directive in directives {
            let name = &*directive.name.text;
            if REDIRECTS.contains(&name) {
                self.notes.push(directive.name.error(format_args!(
                    "`{name}`: requests that it sends to another location are taken to stay in \
                     their own"
                )));
            }
            if name == "location" {
                self.note_redirects(directive.block.as_deref().unwrap_or_default());
            }
        }
    }

    /// Returns the number of a level's limit set: its own, or else the inherited one. The dry-run
    /// setting is inherited separately.
    fn read_limits(
        &mut self,
        directives: &[Directive],
        outer: Inherited,
    ) -> Result<Inherited, RuleError> {
        let dry_run = directives.iter().find(|directive| directive.name.text == L::DRY_RUN);
        let is_dry_run = dry_run.map_or(outer.is_dry_run, |directive| {
            directive.arguments.first().is_some_and(|word| word.text == "on")
        });
        let own = directives.iter().filter(|directive| directive.name.text == L::NAME);
        let mut limits: Vec<L> = Vec::new();
        for directive in own {
            let limit = L::parse(directive, &self.zones)?;
            if limits.iter().any(|known| known.zone() == limit.zone()) {
                return Err(directive.name.error("its zone has a limit here already"));
            }
            limits.push(limit);
        }
        if limits.is_empty() {
            let Some(number) = outer.limits.filter(|_| is_dry_run != outer.is_dry_run) else {
                return Ok(Inherited { limits: outer.limits, is_dry_run });
            };
            limits = self.limit_sets[number].limits.clone();
        }
        let set = LimitSet { limits, is_dry_run };
        let known = self.limit_sets.iter().position(|known| *known == set);
        let number = known.unwrap_or_else(|| {
            self.limit_sets.push(set);
            self.limit_sets.len() - 1
        });
        Ok(Inherited { limits: Some(number), is_dry_run })
    }
}

/// Whether a parameter is one of `limit_req`, and not of its zone.
fn is_of_limit(word: &Word) -> bool {
    word.text == "nodelay" || word.text.starts_with("burst=") || word.text.starts_with("delay=")
}

/// The end of a sentence with the `limit_req` whose parameters stand at its zone; empty if none do.
fn line_of_limit(zone: &Directive) -> String {
    let words: Vec<&str> =
        zone.arguments.iter().filter(|word| is_of_limit(word)).map(|word| &*word.text).collect();
    let zone = zone.arguments.iter().find_map(|word| word.text.strip_prefix("zone="));
    match (words.is_empty(), zone.and_then(|zone| zone.split(':').next())) {
        (false, Some(name)) => {
            format!(" and this one here: limit_req zone={name} {};", words.join(" "))
        }
        _ => String::new(),
    }
}

/// Refuses a zone in a `server` or a `location`, as nginx does.
fn refuse_zones<L: LimitKind>(outer: &Directive) -> Result<(), RuleError> {
    for directive in outer.block.iter().flatten() {
        if directive.name.text == L::Zone::DIRECTIVE {
            let mut zone = directive.clone();
            zone.arguments.retain(|word| !is_of_limit(word));
            return Err(directive.name.error(format_args!(
                "nginx refuses `{}` in a `{}`; write this line in `http`, before the server: {}{}",
                L::Zone::DIRECTIVE,
                outer.name.text,
                zone.line(),
                line_of_limit(directive)
            )));
        }
        refuse_zones::<L>(directive)?;
    }
    Ok(())
}

/// Whether there is a directive with this name.
fn has(directives: &[Directive], name: &str) -> bool {
    directives.iter().any(|directive| directive.name.text == name)
}
