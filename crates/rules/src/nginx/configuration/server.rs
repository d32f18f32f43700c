//! `server` and `location`: finds the limits that apply to a request.

use weir_core::{BoundedRegex, PatternBudget, RegexOptions};

use super::tokens::{Directive, Word};
use crate::error::RuleError;

/// A server, with its names and ports.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    names: Vec<ServerName>,
    /// The ports that it listens on.
    ports: Vec<u16>,
    /// The first name as it was written; the value of `$server_name`.
    pub(crate) first_name: String,
    pub(crate) is_default: bool,
    pub(crate) root: ServerLevel,
}

#[derive(Debug, Clone, PartialEq)]
enum ServerName {
    Exact(String),
    /// `*.example.com`: the part from the dot on.
    Ending(String),
    /// `www.*`: the part up to the dot.
    Beginning(String),
    Expression(NamePattern),
}

/// A regular expression for names. Patterns with the same text are equal.
#[derive(Debug, Clone)]
struct NamePattern(BoundedRegex);

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// The level of a server or a location: the limits of its requests, and the nested locations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerLevel {
    /// The number of the limit set; `None` without limits.
    pub(crate) limits: Option<usize>,
    pub(crate) locations: Vec<Location>,
}

/// A location.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Location {
    pub(super) path: LocationPath,
    pub(super) level: ServerLevel,
}

/// The match rule of a location.
#[derive(Debug, Clone)]
pub(crate) enum LocationPath {
    Exact(String),
    Prefix { path: String, excludes_expressions: bool },
    Expression(BoundedRegex),
}

impl PartialEq for LocationPath {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => one == other,
            (
                Self::Prefix { path, excludes_expressions },
                Self::Prefix { path: other, excludes_expressions: excludes_others },
            ) => path == other && excludes_expressions == excludes_others,
            (Self::Expression(one), Self::Expression(other)) => one.as_str() == other.as_str(),
            _ => false,
        }
    }
}

impl Server {
    /// Makes a server for all requests.
    pub(super) fn of_all(root: ServerLevel) -> Self {
        let (names, ports, first_name) = Default::default();
        Self { names, ports, first_name, is_default: true, root }
    }

    /// Reads the names and ports of a `server` block.
    pub(super) fn parse(
        block: &[Directive],
        root: ServerLevel,
        notes: &mut Vec<RuleError>,
        budget: &PatternBudget,
    ) -> Self {
        let of =
            |name: &'static str| block.iter().filter(move |directive| directive.name.text == name);
        let words: Vec<&Word> =
            of("server_name").flat_map(|directive| &directive.arguments).collect();
        let mut names = Vec::new();
        for word in &words {
            match ServerName::parse(&word.text, budget) {
                Ok(parsed) => names.extend(parsed),
                Err(error) => notes.push(word.error(format_args!("it is not understood: {error}"))),
            }
        }
        let is_default = of("listen")
            .flat_map(|directive| &directive.arguments)
            .any(|word| matches!(&*word.text, "default_server" | "default"));
        let mut ports: Vec<u16> =
            of("listen").filter_map(|directive| port(directive.arguments.first()?)).collect();
        if of("listen").next().is_none() {
            ports.push(DEFAULT_PORT);
        }
        let first_name = words.first().map(|word| word.text.clone()).unwrap_or_default();
        Self { names, ports, first_name, is_default, root }
    }

    /// Whether the server shares a name with an earlier one, but has other limits.
    pub(super) fn is_like_one_of(&self, earlier: &[Self]) -> bool {
        // Servers without a name are distinguished as default servers of their ports.
        let shares_name = |other: &Self| {
            let both_unnamed = self.names.is_empty() && other.names.is_empty();
            both_unnamed || self.names.iter().any(|name| other.names.contains(name))
        };
        earlier.iter().any(|other| self.root != other.root && shares_name(other))
    }

    /// Whether the server listens on a port.
    pub(crate) fn listens_on(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    /// Whether any of its requests have limits.
    pub(crate) fn has_limits(&self) -> bool {
        self.root.has_limits()
    }

    /// The quality of a host's match: the rank of the kind of name, and its length.
    pub(crate) fn fit(&self, host: &[u8]) -> Option<(u8, usize)> {
        self.names.iter().filter_map(|name| name.fit(host)).max()
    }
}

impl ServerName {
    fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Self>, regex::Error> {
        if let Some(pattern) = text.strip_prefix('~') {
            let options = RegexOptions { ignores_case: true, ..RegexOptions::default() };
            let expression = BoundedRegex::new(pattern, options, budget)?;
            return Ok(vec![Self::Expression(NamePattern(expression))]);
        }
        let text = text.to_ascii_lowercase();
        Ok(match (text.strip_prefix('.'), text.strip_prefix('*'), text.strip_suffix('*')) {
            (Some(name), ..) => vec![Self::Exact(name.to_owned()), Self::Ending(text.clone())],
            (_, Some(ending), _) => vec![Self::Ending(ending.to_owned())],
            (_, _, Some(beginning)) => vec![Self::Beginning(beginning.to_owned())],
            _ => vec![Self::Exact(text)],
        })
    }

    fn fit(&self, host: &[u8]) -> Option<(u8, usize)> {
        let (fits, rank, length) = match self {
            Self::Exact(name) => (name.as_bytes() == host, 4, name.len()),
            Self::Ending(name) => (host.ends_with(name.as_bytes()), 3, name.len()),
            Self::Beginning(name) => (host.starts_with(name.as_bytes()), 2, name.len()),
            Self::Expression(NamePattern(expression)) => (expression.is_match(host), 1, 0),
        };
        fits.then_some((rank, length))
    }
}

impl ServerLevel {
    /// Returns the number of the limit set for a normalised path.
    ///
    /// Follows ngx_http_core_find_location: the longest prefix, then nested locations, then regular
    /// expressions in their order unless the prefix excludes them.
    pub(crate) fn limits_of(&self, path: &[u8]) -> Option<usize> {
        self.find(path).0.limits
    }

    /// The innermost level, and whether the search ended at an exact location or an expression.
    fn find(&self, path: &[u8]) -> (&Self, bool) {
        let (mut found, mut excludes_expressions) = (self, false);
        match self.longest_prefix(path) {
            Some(Location { path: LocationPath::Exact(_), level }) => return (level, true),
            Some(Location {
                path: LocationPath::Prefix { excludes_expressions: excludes, .. },
                level,
            }) => {
                excludes_expressions = *excludes;
                let (inner, has_ended) = level.find(path);
                if has_ended {
                    return (inner, true);
                }
                found = inner;
            }
            _ => {}
        }
        if !excludes_expressions {
            for Location { path: of_location, level } in &self.locations {
                if matches!(of_location, LocationPath::Expression(it) if it.is_match(path)) {
                    return (level.find(path).0, true);
                }
            }
        }
        (found, false)
    }

    /// The location with exactly this path, or else with the longest prefix.
    fn longest_prefix(&self, path: &[u8]) -> Option<&Location> {
        let length = |location: &&Location| match &location.path {
            LocationPath::Exact(exact) => (exact.as_bytes() == path).then_some(usize::MAX),
            LocationPath::Prefix { path: prefix, .. } => {
                path.starts_with(prefix.as_bytes()).then_some(prefix.len())
            }
            LocationPath::Expression(_) => None,
        };
        let fitting = self.locations.iter().filter(|location| length(location).is_some());
        fitting.max_by_key(length)
    }

    fn has_limits(&self) -> bool {
        self.limits.is_some() || self.locations.iter().any(|location| location.level.has_limits())
    }

    /// Whether all requests have the same limits.
    pub(crate) fn is_uniform(&self) -> bool {
        self.locations
            .iter()
            .all(|location| location.level.limits == self.limits && location.level.is_uniform())
    }
}

/// The port of a server that specifies none.
const DEFAULT_PORT: u16 = 80;

/// The port of the address of a `listen`; `None` for a Unix socket.
fn port(address: &Word) -> Option<u16> {
    let text = &*address.text;
    if text.starts_with("unix:") {
        return None;
    }
    let last = text.rsplit_once(':').map_or(text, |(_, port)| port);
    Some(last.parse().unwrap_or(DEFAULT_PORT))
}

impl LocationPath {
    /// Reads the arguments of a `location`; `None` for a named one.
    pub(super) fn parse(
        directive: &Directive,
        budget: &PatternBudget,
    ) -> Result<Option<Self>, RuleError> {
        let (modifier, path) = match &directive.arguments[..] {
            [path] => match path.text.as_bytes() {
                [b'@', ..] => return Ok(None),
                [b'=', ..] => return Ok(Some(Self::Exact(path.text[1..].to_owned()))),
                _ => ("", path),
            },
            [modifier, path] => (&*modifier.text, path),
            _ => return Err(directive.name.error("write: location [modifier] path { … }")),
        };
        let expression = |ignores_case| {
            let options = RegexOptions { ignores_case, ..RegexOptions::default() };
            BoundedRegex::new(&path.text, options, budget).map_err(|error| {
                path.error(format_args!("the regular expression is not understood: {error}"))
            })
        };
        Ok(Some(match modifier {
            "" => Self::Prefix { path: path.text.clone(), excludes_expressions: false },
            "^~" => Self::Prefix { path: path.text.clone(), excludes_expressions: true },
            "=" => Self::Exact(path.text.clone()),
            "~" => Self::Expression(expression(false)?),
            "~*" => Self::Expression(expression(true)?),
            _ => return Err(directive.arguments[0].error("it is not one of =, ^~, ~ and ~*")),
        }))
    }
}
