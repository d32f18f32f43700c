//! Annotations of ingress-nginx that limit requests and connections.
//!
//! The controller makes lines of an nginx configuration of them, which are replayed as such:
//! `buildRateLimitZones` and `buildRateLimit` of its `template.go` write the zones and limits,
//! `nginx.tmpl` the `geo` and `map` of the networks without a limit, and `ParseAnnotations` of
//! `annotations/ratelimit/main.go` reads the values. [`annotations`] finds them in a text, whether
//! it is a manifest or a few of its lines, and [`paths`] the paths of a manifest.

mod annotations;
mod paths;

use std::fmt::Write;
use std::net::IpAddr;
use std::ops::Range;

use weir_core::{AddressBlock, PatternBudget};

use self::annotations::{Annotation, annotations};
use crate::error::{ParseError, RuleError};
use crate::nginx::NginxLimits;
use crate::rule::{Family, Rule};

pub(crate) use self::annotations::looks_like;

/// The burst of a limit without `limit-burst-multiplier`, in multiples of the limit (`defBurst`).
const BURST_MULTIPLIER: u32 = 5;

/// The highest limit, so that its burst is a number of nginx.
const LIMIT_MAX: u32 = 1_000_000;

/// The highest multiplier, for the same reason.
const MULTIPLIER_MAX: u32 = 1_000;

/// Annotations that change which requests are limited or how, with what is done about it.
const NOT_FOLLOWED: [(&str, &str); 4] = [
    ("whitelist-source-range", DENIED),
    ("allowlist-source-range", DENIED),
    ("denylist-source-range", DENIED),
    ("global-rate-limit", "is not followed: it counts for all replicas together"),
];

const DENIED: &str = "is not followed: requests that it denies count here";

/// Reads the limits of each manifest of a text.
///
/// # Errors
/// If there is no limit, or a value is not valid.
pub(crate) fn parse(
    text: &str,
    name: &str,
    rules_max: usize,
    budget: &PatternBudget,
) -> Result<Vec<Box<dyn Rule>>, ParseError> {
    let mut limits = Vec::new();
    for document in documents(text) {
        let annotations = annotations(&text[document.clone()], document.start)?;
        limits.extend(read(text, document, &annotations)?);
    }
    ParseError::check_count(limits.len(), rules_max)?;
    let mut rules = Vec::new();
    for Configuration { own_name, lines, notes, place } in limits {
        let name = own_name.as_deref().unwrap_or(name);
        // The values were checked, so nginx has nothing to add.
        let limits = NginxLimits::read(&lines, name, budget)
            .map_err(|error| RuleError::new(place, error.message))?;
        rules.extend(limits.of_family(Family::IngressNginx, &notes).into_rules());
    }
    match rules.is_empty() {
        true => Err(RuleError::new(
            0..0,
            "there is no limit in it: write nginx.ingress.kubernetes.io/limit-rps: \"10\", or \
             limit-rpm or limit-connections; 0 is no limit",
        )
        .into()),
        false => Ok(rules),
    }
}

/// The places of the documents of a text, which lines with `---` separate.
fn documents(text: &str) -> Vec<Range<usize>> {
    let mut documents = Vec::from_iter(std::iter::once(0..text.len()));
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim_end() == "---"
            && let Some(last) = documents.last_mut()
        {
            last.end = start;
            documents.push(end..text.len());
        }
        start = end;
    }
    documents
}

/// A configuration of nginx that the annotations of a manifest stand for.
struct Configuration {
    /// The name of the manifest.
    own_name: Option<String>,
    lines: String,
    notes: Vec<RuleError>,
    /// The place of its first limit.
    place: Range<usize>,
}

/// Reads the annotations of a document; `None` if they limit nothing.
fn read(
    text: &str,
    document: Range<usize>,
    annotations: &[Annotation<'_>],
) -> Result<Option<Configuration>, RuleError> {
    let find = |name: &str| annotations.iter().find(|annotation| annotation.name == name);
    let number = |name: &str, max: u32| match find(name) {
        Some(annotation) => annotation.number(max),
        None => Ok(0),
    };
    let per_second = number("limit-rps", LIMIT_MAX)?;
    let per_minute = number("limit-rpm", LIMIT_MAX)?;
    let connections = number("limit-connections", 65_535)?;
    let names = ["limit-rps", "limit-rpm", "limit-connections"];
    let first = names.into_iter().filter_map(find).map(|it| it.range()).min_by_key(|it| it.start);
    let Some(place) = first.filter(|_| per_second + per_minute + connections > 0) else {
        return Ok(None);
    };
    let multiplier = match find("limit-burst-multiplier") {
        Some(annotation) => match annotation.number(MULTIPLIER_MAX)? {
            0 => return Err(annotation.error("nginx refuses a burst of 0; write 1 or more")),
            multiplier => multiplier,
        },
        None => BURST_MULTIPLIER,
    };
    let manifest = paths::Manifest::read(text, document);
    let name = manifest.name.as_deref().unwrap_or("ingress");
    let (mut zones, mut limits) =
        (key(find("limit-allowlist").or(find("limit-whitelist")))?, String::new());
    if connections > 0 {
        let _ = writeln!(zones, "limit_conn_zone $limit zone={name}-conn:5m;");
        let _ = writeln!(limits, "limit_conn {name}-conn {connections};");
    }
    for (count, unit) in [(per_second, "s"), (per_minute, "m")] {
        if count > 0 {
            let zone = format!("{name}-rp{unit}");
            let burst = count * multiplier;
            let _ = writeln!(zones, "limit_req_zone $limit zone={zone}:5m rate={count}r/{unit};");
            let _ = writeln!(limits, "limit_req zone={zone} burst={burst} nodelay;");
        }
    }
    let lines = zones + &manifest.locations(&limits);
    let mut notes = manifest.notes;
    for annotation in annotations {
        let reason = NOT_FOLLOWED.iter().find(|(begin, _)| annotation.name.starts_with(begin));
        notes.extend(reason.map(|(_, reason)| {
            let message = format!("`{}` {reason}", annotation.name);
            RuleError::new(annotation.range(), message)
        }));
    }
    if let Some(connections) = find("limit-connections").filter(|_| per_second + per_minute > 0) {
        notes.push(connections.error(
            "nginx applies the limits of requests before that of connections; requests that they \
             reject are counted from their arrival",
        ));
    }
    Ok(Some(Configuration { own_name: manifest.name, lines, notes, place }))
}

/// The `geo` and the `map` with the key of the limits: the client, unless it is in a network
/// without a limit.
fn key(allowed: Option<&Annotation<'_>>) -> Result<String, RuleError> {
    let mut networks = String::new();
    let listed = allowed.into_iter().flat_map(|it| it.value.split(',').map(move |one| (it, one)));
    for (annotation, network) in listed {
        let network = network.trim();
        if network.is_empty() {
            continue;
        }
        if AddressBlock::parse(network).is_none() && network.parse::<IpAddr>().is_err() {
            let message = format!("`{network}` is not a network or an address");
            return Err(annotation.error(message));
        }
        let _ = write!(networks, " {network} 1;");
    }
    Ok(format!(
        "geo $remote_addr $allowed {{ default 0;{networks} }}\n\
         map $allowed $limit {{ 0 $binary_remote_addr; 1 \"\"; }}\n"
    ))
}

#[cfg(test)]
mod tests;
