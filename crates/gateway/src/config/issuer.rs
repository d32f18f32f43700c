//! `[issuers.NAME]`: issuers of tokens and their keys.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::file::read_file;
use super::folder::ConfigFolder;
use super::read_authorities;
use super::secret::{Secret, SecretError};
use super::session::read_credential;
use super::table::{LocatedValue, TableReader};
use crate::fetch::Authorities;
use crate::token::{
    Algorithm, CacheLimits, IntrospectionSource, IssuerSettings, KeySource, RefreshRules,
    SettingsError, SettingsProblem, TokenVerifier,
};

/// The default tolerance for clock differences. It is also the maximum.
const LEEWAY: Duration = Duration::from_secs(60);

/// Larger files of public keys are refused.
const KEY_BYTES_MAX: u64 = 64 << 10;

const DAY_S: u32 = 86_400;

/// An issuer of tokens. Two are equal if their names and settings are equal.
#[derive(Debug, Clone)]
pub struct IssuerConfig {
    /// The name in the configuration.
    pub name: String,
    fields: IssuerFields,
    /// Verifies its tokens.
    pub verifier: Arc<TokenVerifier>,
}

/// The settings of an issuer in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IssuerFields {
    issuer: String,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    keys: KeySource,
    authorities: Option<Authorities>,
    leeway: Duration,
    refresh: RefreshRules,
    /// The time for which a verified token is cached.
    cache_s: u32,
}

impl PartialEq for IssuerConfig {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.fields == other.fields
    }
}

/// The key sources. An issuer needs exactly one.
const KEY_SOURCES: [&str; 6] =
    ["secret_file", "secret_env", "public_key_file", "jwks_file", "jwks_url", "introspection_url"];

/// Reads the table of an issuer. Notes mistakes, and may return `None` then.
pub(super) fn read(
    name: &str,
    table: TableReader<'_>,
    folder: &ConfigFolder,
) -> Option<IssuerConfig> {
    let issuer = table.required_string("issuer");
    let introspects = table.has("introspection_url");
    let audiences = if introspects && !table.has("audience") {
        Some(Vec::new())
    } else {
        required_strings(&table, "audience", "the recipients of the tokens, the claim `aud`")
    };
    let algorithms = if introspects {
        if table.has("algorithms") {
            table.complain("`algorithms` has no effect with `introspection_url`; leave it out");
        }
        Some(Vec::new())
    } else {
        let algorithms = required_strings(&table, "algorithms", "such as [\"RS256\"]");
        algorithms.and_then(|names| parse_algorithms(&table, &names))
    };
    let cache_s = read_cache(&table);
    let keys = read_keys(&table, folder);
    let authorities = read_authorities(&table, folder);
    let leeway = table.duration("leeway").unwrap_or(LEEWAY);
    let refresh = read_refresh(&table);
    let is_complete = issuer.is_some() && audiences.is_some();
    let text = |located: LocatedValue<&str>| located.value.to_owned();
    let fields = || {
        Some(IssuerFields {
            // The rest is checked even if one of these is missing.
            issuer: issuer.map_or_else(|| ABSENT.to_owned(), text),
            audiences: audiences.map_or_else(
                || vec![ABSENT.to_owned()],
                |list| list.into_iter().map(text).collect(),
            ),
            algorithms: algorithms?,
            keys: keys?,
            authorities,
            leeway,
            refresh,
            cache_s,
        })
    };
    let read = fields().and_then(|fields| {
        let verifier = match TokenVerifier::new(fields.settings(name)) {
            Ok(verifier) => Arc::new(verifier),
            // The file of authorities was reported with its line.
            Err(SettingsError { problem: SettingsProblem::Trust(_), .. })
                if table.has("ca_file") =>
            {
                return None;
            }
            Err(error) => {
                table.complain(error.problem.to_string());
                return None;
            }
        };
        Some(IssuerConfig { name: name.to_owned(), fields, verifier })
    });
    table.finish();
    read.filter(|_| is_complete)
}

/// Stands for a claim that the table lacks while the rest of the table is checked.
const ABSENT: &str = "absent";

impl IssuerFields {
    fn settings(&self, name: &str) -> IssuerSettings {
        let Self { issuer, audiences, algorithms, keys, authorities, leeway, refresh, cache_s } =
            self.clone();
        let leeway_s = u32::try_from(leeway.as_secs()).unwrap_or(u32::MAX);
        let settings = IssuerSettings::new(name, issuer, audiences, algorithms, keys);
        let cache = CacheLimits { seconds_max: cache_s, ..settings.cache };
        IssuerSettings { authorities, leeway_s, refresh, cache, ..settings }
    }
}

/// Reads a required list of strings, which must not be empty. `meaning` completes the messages.
fn required_strings<'a>(
    table: &TableReader<'a>,
    name: &'static str,
    meaning: &str,
) -> Option<Vec<LocatedValue<&'a str>>> {
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

/// Reads when keys at a URL are fetched.
fn read_refresh(table: &TableReader<'_>) -> RefreshRules {
    let default = RefreshRules::default();
    let refresh_after_s = read_seconds(table, "key_refresh", "jwks_url", 10..=DAY_S);
    let refresh_after_s = refresh_after_s.unwrap_or(default.refresh_after_s);
    let stale_for_s = read_seconds(table, "key_lifetime", "jwks_url", refresh_after_s..=30 * DAY_S);
    // A longer one would keep keys from being fetched when they are due.
    let pause_s = read_seconds(table, "key_pause", "jwks_url", 1..=refresh_after_s.min(3_600));
    RefreshRules {
        refresh_after_s,
        stale_for_s: stale_for_s.unwrap_or(default.stale_for_s),
        pause_s: pause_s.unwrap_or(default.pause_s),
    }
}

/// Reads a duration of whole seconds, which has an effect with one source of keys only.
fn read_seconds(
    table: &TableReader<'_>,
    name: &'static str,
    source: &'static str,
    range: RangeInclusive<u32>,
) -> Option<u32> {
    let duration = table.located_duration(name)?;
    if !table.has(source) {
        table
            .complain_at(&duration, format!("this has no effect without `{source}`; leave it out"));
    }
    let seconds = u32::try_from(duration.value.as_secs()).ok();
    let seconds = seconds.filter(|seconds| range.contains(seconds));
    if seconds.is_none() || duration.value.subsec_nanos() > 0 {
        let (min, max) = range.into_inner();
        let message = format!("write whole seconds, from \"{min}s\" to \"{max}s\"");
        table.complain_at(&duration, message);
    }
    seconds
}

fn parse_algorithms(
    table: &TableReader<'_>,
    names: &[LocatedValue<&str>],
) -> Option<Vec<Algorithm>> {
    let parse = |name: &LocatedValue<&str>| match name.value.parse::<Algorithm>() {
        Ok(algorithm) => Some(algorithm),
        Err(error) => {
            table.complain_at(name, error.to_string());
            None
        }
    };
    let parsed: Vec<Algorithm> = names.iter().filter_map(parse).collect();
    (parsed.len() == names.len()).then_some(parsed)
}

fn read_keys(table: &TableReader<'_>, folder: &ConfigFolder) -> Option<KeySource> {
    let set_count = KEY_SOURCES.into_iter().filter(|name| table.has(name)).count();
    if set_count != 1 {
        let names = KEY_SOURCES.join(", ");
        table.complain(format!("an issuer needs exactly one of {names}; {set_count} are set"));
    }
    let secret = |located: &LocatedValue<&str>, read: Result<Secret, SecretError>| {
        let read = read.map_err(|error| table.complain_at(located, error)).ok();
        read.map(|secret| KeySource::Secret(secret.bytes().to_vec()))
    };
    if let Some(file) = table.string("secret_file") {
        return secret(&file, Secret::read(&folder.source(file.value)));
    }
    if let Some(variable) = table.string("secret_env") {
        return secret(&variable, Secret::from_environment(variable.value));
    }
    if let Some(file) = table.string("public_key_file") {
        let pem = read_file(&folder.source(file.value), KEY_BYTES_MAX, "a public key");
        let pem = pem.map_err(|error| table.complain_at(&file, error)).ok();
        return pem.map(KeySource::PublicKeyPem);
    }
    if let Some(file) = table.string("jwks_file") {
        return Some(KeySource::KeySetFile(folder.source(file.value)));
    }
    if let Some(url) = table.string("introspection_url") {
        let credential = read_credential(table, folder, "an issuer with `introspection_url`")?;
        let (url, credential) = (url.value.to_owned(), credential.bytes().to_vec());
        return Some(KeySource::Introspection(IntrospectionSource { url, credential }));
    }
    table.string("jwks_url").map(|url| KeySource::KeySetUrl(url.value.to_owned()))
}

/// Reads how long a token counts without another question to its issuer.
fn read_cache(table: &TableReader<'_>) -> u32 {
    let default = CacheLimits::default().seconds_max;
    let seconds = read_seconds(table, "introspection_cache", "introspection_url", 1..=default);
    seconds.unwrap_or(default)
}
