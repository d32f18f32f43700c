//! `[issuers.NAME]`: who signs tokens, and with which keys.

use std::path::PathBuf;
use std::time::Duration;

use super::reading::Reading;
use super::secret::Secret;
use super::table::TableReader;

/// Clocks may differ by at most this (RFC 8725 asks for little, RFC 7519 section 4.1.4 for some).
const LEEWAY_MAX: Duration = Duration::from_secs(60);

/// An issuer of tokens.
#[derive(Debug, Clone)]
pub struct IssuerConfig {
    /// The name in the configuration.
    pub name: String,
    /// What the claim `iss` has to be.
    pub issuer: String,
    /// One of these has to be in the claim `aud`.
    pub audiences: Vec<String>,
    /// The names of the algorithms that are accepted (RFC 7518 section 3.1), never empty.
    pub algorithms: Vec<String>,
    /// Where its keys come from.
    pub keys: IssuerKeys,
    /// Certificate authorities for the server of its keys, as PEM; the system's if absent.
    pub ca_file: Option<PathBuf>,
    /// How far its clock may be from ours.
    pub leeway: Duration,
}

/// Where the keys of an issuer come from.
#[derive(Debug, Clone)]
pub enum IssuerKeys {
    /// A secret that the issuer and the gateway share.
    Secret(Secret),
    /// A public key as PEM.
    PublicKeyFile(PathBuf),
    /// A key set (RFC 7517) in a file.
    KeySetFile(PathBuf),
    /// A key set at an https address.
    KeySetUrl(String),
}

/// The keys of which an issuer needs exactly one.
const KEY_SOURCES: [&str; 5] =
    ["secret_file", "secret_env", "public_key_file", "jwks_file", "jwks_url"];

/// Reads the table of an issuer. Mistakes are noted, and then there may be no issuer.
pub(super) fn read(name: &str, table: TableReader<'_>, reading: &Reading) -> Option<IssuerConfig> {
    let issuer = table.required_string("issuer");
    let audiences = texts(&table, "audience", "who the tokens are for, the claim `aud`");
    let algorithms = texts(&table, "algorithms", "such as [\"RS256\"]");
    let keys = read_keys(&table, reading);
    let ca_file = table.string("ca_file").map(|located| reading.path(located.value));
    let leeway = table.duration("leeway").unwrap_or(LEEWAY_MAX);
    if leeway > LEEWAY_MAX {
        table.complain(
            "`leeway` is at most \"60s\": a longer one keeps tokens alive that have ended",
        );
    }
    table.finish();
    Some(IssuerConfig {
        name: name.to_owned(),
        issuer: issuer?.value.to_owned(),
        audiences: audiences?,
        algorithms: algorithms?,
        keys: keys?,
        ca_file,
        leeway,
    })
}

/// A list of texts that has to be there and to have an item.
fn texts(table: &TableReader<'_>, name: &'static str, meaning: &str) -> Option<Vec<String>> {
    let Some(list) = table.strings(name) else {
        if !table.has(name) {
            table.complain(format!("`{name}` is missing: {meaning}"));
        }
        return None;
    };
    if list.value.is_empty() {
        table.complain_at(&list, format!("the list is empty; name at least one: {meaning}"));
        return None;
    }
    Some(list.value.iter().map(|item| item.value.to_owned()).collect())
}

fn read_keys(table: &TableReader<'_>, reading: &Reading) -> Option<IssuerKeys> {
    let given = KEY_SOURCES.into_iter().filter(|name| table.has(name)).count();
    if given != 1 {
        let names = KEY_SOURCES.join(", ");
        table.complain(format!("its keys come from exactly one of {names}; {given} are given"));
    }
    let secret = |located: &super::table::Located<&str>, read: Result<Secret, String>| {
        read.map_err(|message| table.complain_at(located, message)).ok().map(IssuerKeys::Secret)
    };
    if let Some(file) = table.string("secret_file") {
        return secret(&file, Secret::read(&reading.path(file.value)));
    }
    if let Some(variable) = table.string("secret_env") {
        return secret(&variable, Secret::from_environment(variable.value));
    }
    if let Some(file) = table.string("public_key_file") {
        return Some(IssuerKeys::PublicKeyFile(reading.path(file.value)));
    }
    if let Some(file) = table.string("jwks_file") {
        return Some(IssuerKeys::KeySetFile(reading.path(file.value)));
    }
    table.string("jwks_url").map(|url| IssuerKeys::KeySetUrl(url.value.to_owned()))
}
