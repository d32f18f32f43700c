//! The key of a zone.

use super::super::{client, header_field};
use crate::error::RuleError;
use crate::windows::{KeyPart, LimitKey, Word};

/// The key of a zone: the placeholders in a text. What stands between them is the same for all
/// requests. A placeholder that Caddy does not have is empty (`ReplaceAll` of handler.go), which is
/// noted.
pub(super) fn key(word: Word<'_>, notes: &mut Vec<RuleError>) -> Result<LimitKey, RuleError> {
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
    Ok(LimitKey::new(parts))
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
