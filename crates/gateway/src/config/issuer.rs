//! `[issuers.NAME]`: who signs tokens, and with which keys.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::reading::Reading;
use super::secret::Secret;
use super::table::{Located, TableReader};
use crate::token::{Algorithm, IssuerSettings, KeySource, TokenVerifier};

/// How far clocks may be apart by default, and at most.
const LEEWAY: Duration = Duration::from_secs(60);

/// Larger files of public keys are refused.
const KEY_BYTES_MAX: u64 = 64 << 10;

/// An issuer of tokens. Two are equal if all that was written of them is.
#[derive(Debug, Clone)]
pub struct IssuerConfig {
    /// The name in the configuration.
    pub name: String,
    written: Written,
    /// Verifies its tokens.
    pub verifier: Arc<TokenVerifier>,
}

/// What the configuration says of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    issuer: String,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    keys: KeySource,
    ca_file: Option<PathBuf>,
    leeway: Duration,
}

impl PartialEq for IssuerConfig {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.written == other.written
    }
}

/// The keys of which an issuer needs exactly one.
const KEY_SOURCES: [&str; 5] =
    ["secret_file", "secret_env", "public_key_file", "jwks_file", "jwks_url"];

/// Reads the table of an issuer. Mistakes are noted, and then there may be no issuer.
pub(super) fn read(name: &str, table: TableReader<'_>, reading: &Reading) -> Option<IssuerConfig> {
    let issuer = table.required_string("issuer");
    let audiences = texts(&table, "audience", "who the tokens are for, the claim `aud`");
    let algorithms = texts(&table, "algorithms", "such as [\"RS256\"]");
    let algorithms = algorithms.and_then(|names| parse_algorithms(&table, &names));
    let keys = read_keys(&table, reading);
    let ca_file = table.string("ca_file").map(|located| reading.path(located.value));
    let leeway = table.duration("leeway").unwrap_or(LEEWAY);
    let written = || {
        let issuer = issuer?.value.to_owned();
        let audiences = audiences?.into_iter().map(|item| item.value.to_owned()).collect();
        Some(Written { issuer, audiences, algorithms: algorithms?, keys: keys?, ca_file, leeway })
    };
    let read = written().and_then(|written| {
        let verifier = TokenVerifier::new(written.settings(name));
        let verifier = verifier.map_err(|error| table.complain(error.problem.to_string())).ok()?;
        Some(IssuerConfig { name: name.to_owned(), written, verifier: Arc::new(verifier) })
    });
    table.finish();
    read
}

impl Written {
    fn settings(&self, name: &str) -> IssuerSettings {
        let Self { issuer, audiences, algorithms, keys, ca_file, leeway } = self.clone();
        let leeway_s = u32::try_from(leeway.as_secs()).unwrap_or(u32::MAX);
        let settings = IssuerSettings::new(name, issuer, audiences, algorithms, keys);
        IssuerSettings { ca_file, leeway_s, ..settings }
    }
}

/// A list of texts that has to be there and to have an item.
fn texts<'a>(
    table: &TableReader<'a>,
    name: &'static str,
    meaning: &str,
) -> Option<Vec<Located<&'a str>>> {
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
    Some(list.value)
}

fn parse_algorithms(table: &TableReader<'_>, names: &[Located<&str>]) -> Option<Vec<Algorithm>> {
    let parse = |name: &Located<&str>| match name.value.parse::<Algorithm>() {
        Ok(algorithm) => Some(algorithm),
        Err(error) => {
            table.complain_at(name, error.to_string());
            None
        }
    };
    let parsed: Vec<Algorithm> = names.iter().filter_map(parse).collect();
    (parsed.len() == names.len()).then_some(parsed)
}

fn read_keys(table: &TableReader<'_>, reading: &Reading) -> Option<KeySource> {
    let given = KEY_SOURCES.into_iter().filter(|name| table.has(name)).count();
    if given != 1 {
        let names = KEY_SOURCES.join(", ");
        table.complain(format!("its keys come from exactly one of {names}; {given} are given"));
    }
    let secret = |located: &Located<&str>, read: Result<Secret, String>| {
        let read = read.map_err(|message| table.complain_at(located, message)).ok();
        read.map(|secret| KeySource::Secret(secret.bytes().to_vec()))
    };
    if let Some(file) = table.string("secret_file") {
        return secret(&file, Secret::read(&reading.path(file.value)));
    }
    if let Some(variable) = table.string("secret_env") {
        return secret(&variable, Secret::from_environment(variable.value));
    }
    if let Some(file) = table.string("public_key_file") {
        let read = read_public_key(&reading.path(file.value));
        return read.map_err(|message| table.complain_at(&file, message)).ok();
    }
    if let Some(file) = table.string("jwks_file") {
        return Some(KeySource::KeySetFile(reading.path(file.value)));
    }
    table.string("jwks_url").map(|url| KeySource::KeySetUrl(url.value.to_owned()))
}

fn read_public_key(path: &Path) -> Result<KeySource, String> {
    let size = std::fs::metadata(path).map(|metadata| metadata.len());
    match size {
        Ok(size) if size > KEY_BYTES_MAX => {
            Err(format!("{} is larger than 64 KiB, too large for a public key", path.display()))
        }
        _ => std::fs::read(path)
            .map(KeySource::PublicKeyPem)
            .map_err(|error| format!("{} cannot be read: {error}", path.display())),
    }
}
