//! The backend of a route: one by name, or one that a claim selects.

use std::collections::BTreeMap;
use std::time::Duration;

use super::backend::read_paths;
use super::claims::check_claim;
use super::route_table::NamedReading;
use super::table::{LocatedValue, TableReader};
use crate::fetch::FetchUrl;
use crate::route::path_reading::PathReading;
use crate::route::weight::WeightedBackend;

/// How the backend of a request is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteTarget {
    /// Always the backend of this name.
    Backend(String),
    /// One of several by their weights, never all 0.
    Weighted(Vec<WeightedBackend>),
    /// The backend selected by the value of a claim.
    Claim {
        /// The name of the claim, or its path with dots.
        claim: String,
        /// How its value selects the backend.
        choice: Choice,
    },
}

/// How the value of a claim selects a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A table from values to names of backends.
    Table(BTreeMap<String, String>),
    /// A URL in which `{claim}` stands for the value.
    Template(String),
    /// A lookup service.
    Lookup {
        /// Its URL, in which `{claim}` stands for the value.
        url: String,
        /// How long its answers are cached.
        cache: Duration,
    },
}

impl RouteTarget {
    /// Whether requests of two routes may reach the same servers.
    pub(super) fn may_share_backend(&self, other: &Self) -> bool {
        match (self.backends(), other.backends()) {
            (Some(own), Some(others)) => own.iter().any(|name| others.contains(name)),
            // A lookup may name any backend, and a template make the address of one.
            _ => true,
        }
    }

    /// Whether requests may reach a backend of this name.
    pub(super) fn may_reach(&self, name: &str) -> bool {
        match self {
            Self::Claim { choice: Choice::Lookup { .. }, .. } => true,
            target => target.backends().is_some_and(|names| names.contains(&name)),
        }
    }

    /// The names of the possible backends, if they are known.
    pub(super) fn backends(&self) -> Option<Vec<&str>> {
        match self {
            Self::Backend(name) => Some(vec![name]),
            Self::Weighted(backends) => Some(backends.iter().map(|it| &*it.name).collect()),
            Self::Claim { choice: Choice::Table(table), .. } => {
                Some(table.values().map(String::as_str).collect())
            }
            Self::Claim { choice: Choice::Template(_) | Choice::Lookup { .. }, .. } => None,
        }
    }
}

/// Reads the keys of a route that select its backend. Notes mistakes, and may return `None` then.
pub(super) fn read(
    table: &TableReader<'_>,
    has_issuer: bool,
    backends: &[&str],
) -> Option<RouteTarget> {
    let (claim, fixed) = (table.string("claim"), table.string("backend"));
    let has = ["backends", "lookup"].map(|name| table.has(name));
    let set_count = has.into_iter().filter(|has| *has).count() + usize::from(fixed.is_some());
    if set_count != 1 {
        table.complain(format!(
            "a route needs exactly one of `backend`, `backends` (with `claim`) and `lookup` (with \
             `claim`); {set_count} are set"
        ));
        return None;
    }
    if let Some(name) = fixed {
        if claim.is_some() {
            table.complain(
                "`claim` has no effect beside `backend`; write `backends` or leave it out",
            );
        }
        return check_name(table, &name, backends, "backend")
            .then(|| RouteTarget::Backend(name.value.to_owned()));
    }
    if table.is_list("backends") {
        if claim.is_some() {
            table.complain("`claim` has no effect beside weights; leave it out");
        }
        return read_weighted(table, backends).map(RouteTarget::Weighted);
    }
    let choice = if has[1] { read_lookup(table) } else { read_choice(table, backends) };
    let Some(claim) = claim else {
        table.complain("`claim` is missing: the claim of the token that decides the backend");
        return None;
    };
    check_claim(table, &claim);
    if !has_issuer {
        table.complain("`claim` needs `issuer`: without a token there are no claims");
    }
    Some(RouteTarget::Claim { claim: claim.value.to_owned(), choice: choice? })
}

fn read_weighted(table: &TableReader<'_>, known: &[&str]) -> Option<Vec<WeightedBackend>> {
    let mut backends: Vec<WeightedBackend> = Vec::new();
    for item in table.tables("backends") {
        let (name, weight) = (item.required_string("name"), item.number("weight", 0));
        if !item.has("weight") {
            item.complain("`weight` is missing: the share of the requests, such as 5 beside 95");
        }
        if let Some(name) = &name {
            check_name(&item, name, known, "backend");
            if backends.iter().any(|it| it.name == name.value) {
                item.complain_at(name, format!("`{}` is there twice; leave one out", name.value));
            }
        }
        if let Some(weight) = weight.as_ref().filter(|weight| weight.value > WEIGHT_MAX) {
            item.complain_at(weight, format!("write at most {WEIGHT_MAX}"));
        }
        item.finish();
        let weight = u32::try_from(weight?.value).unwrap_or_default();
        backends.push(WeightedBackend { name: name?.value.to_owned(), weight });
    }
    if backends.iter().all(|backend| backend.weight == 0) {
        table.complain("`backends` needs a weight above 0");
    }
    Some(backends)
}

/// The maximum weight.
const WEIGHT_MAX: u64 = 1_000_000;

fn read_choice(table: &TableReader<'_>, backends: &[&str]) -> Option<Choice> {
    if !table.is_table("backends") {
        let template = table.string("backends")?;
        return check_template(table, &template)
            .then(|| Choice::Template(template.value.to_owned()));
    }
    let entries = table.table("backends")?.entries();
    if entries.is_empty() {
        table.complain("`backends` is empty; write { VALUE = \"BACKEND\" }");
    }
    let mut map = BTreeMap::new();
    for (value, name) in entries {
        if check_name(table, &name, backends, "backend") {
            map.insert(value.to_owned(), name.value.to_owned());
        }
    }
    Some(Choice::Table(map))
}

fn read_lookup(table: &TableReader<'_>) -> Option<Choice> {
    let lookup = table.table("lookup")?;
    let url = lookup.required_string("url");
    let cache = lookup.duration("cache").unwrap_or(Duration::from_secs(60));
    let is_valid = url.as_ref().is_some_and(|url| check_template(&lookup, url));
    if let Some(url) = url.as_ref().filter(|_| is_valid)
        && let Err(problem) = url.value.replace("{claim}", "value").parse::<FetchUrl>()
    {
        lookup.complain_at(url, problem.to_string());
    }
    lookup.finish();
    let url = url?.value.to_owned();
    is_valid.then_some(Choice::Lookup { url, cache })
}

/// Checks that a template is a URL with `{claim}`.
fn check_template(table: &TableReader<'_>, template: &LocatedValue<&str>) -> bool {
    let is_url = template.value.starts_with("http://") || template.value.starts_with("https://");
    let is_valid = is_url && template.value.contains("{claim}");
    if !is_valid {
        table.complain_at(
            template,
            "write a URL with {claim} in it, as in http://{claim}.internal:9000",
        );
    }
    is_valid
}

/// How the servers of a route read paths. Those that are made from a claim belong to no backend, so
/// the route says it.
pub(super) fn read_reading(
    table: &TableReader<'_>,
    target: &RouteTarget,
    backends: &[NamedReading<'_>],
) -> PathReading {
    if matches!(target, RouteTarget::Claim { choice: Choice::Template(_), .. }) {
        return read_paths(table).unwrap_or_default();
    }
    let used = backends.iter().filter(|backend| target.may_reach(backend.name));
    used.map(|backend| backend.reading).max().unwrap_or_default()
}

/// Checks that a name exists.
pub(super) fn check_name(
    table: &TableReader<'_>,
    name: &LocatedValue<&str>,
    known: &[&str],
    what: &str,
) -> bool {
    if known.contains(&name.value) {
        return true;
    }
    let hint = match weir_core::nearest_name(name.value, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() && what == "limit" => {
            format!("write [[limits]] with name = \"{}\"", name.value)
        }
        None if known.is_empty() => format!("write [{what}s.{}]", name.value),
        None => format!("known names: {}", known.join(", ")),
    };
    table.complain_at(name, format!("there is no {what} `{}`; {hint}", name.value));
    false
}
