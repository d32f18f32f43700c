//! `session` of a route: how the gateway logs in to the backend.

use std::time::Duration;

use super::backend::is_request_path;
use super::folder::ConfigFolder;
use super::secret::Secret;
use super::table::{LocatedValue, TableReader};
use crate::fetch::{FetchClient, FetchLimits, FetchUrl};

/// How the gateway logs in to a backend on behalf of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// How a session begins.
    pub login: Login,
    /// The gateway's credential.
    pub credential: Secret,
    /// How long a session is used, unless the backend sets a shorter lifetime.
    pub lifetime: Duration,
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// A path of the backend that accepts the credential.
    Path(String),
    /// A token exchange service (RFC 8693).
    Exchange(FetchUrl),
}

/// Reads the table of a session. Notes mistakes, and may return `None` then.
pub(super) fn read(table: TableReader<'_>, folder: &ConfigFolder) -> Option<SessionConfig> {
    let (login, exchange) = (table.string("login"), table.string("exchange"));
    let login = match (login, exchange) {
        (Some(path), None) if is_request_path(path.value) => {
            Some(Login::Path(path.value.to_owned()))
        }
        (Some(path), None) => {
            table.complain_at(
                &path,
                "this is not a path; write it with a slash at its beginning and without spaces: \"/session\"",
            );
            None
        }
        (None, Some(url)) => read_exchange(&table, &url),
        _ => {
            table.complain(
                "a session needs exactly one of `login` (a path of the backend) and `exchange` (a URL)",
            );
            None
        }
    };
    let credential = read_credential(&table, folder, "a session");
    let lifetime = table.duration("lifetime").unwrap_or(Duration::from_secs(300));
    let config =
        login.and_then(|login| Some(SessionConfig { login, credential: credential?, lifetime }));
    table.finish();
    config
}

/// Reads the address of a token service.
fn read_exchange(table: &TableReader<'_>, url: &LocatedValue<&str>) -> Option<Login> {
    match url.value.parse::<FetchUrl>() {
        Ok(parsed) => {
            if let Err(error) = FetchClient::for_url(&parsed, None, FetchLimits::default()) {
                table.complain_at(url, error.to_string());
            }
            Some(Login::Exchange(parsed))
        }
        Err(error) => {
            table.complain_at(url, error.to_string());
            None
        }
    }
}

/// Reads the credential of the gateway. `owner` is what needs it, for messages.
pub(super) fn read_credential(
    table: &TableReader<'_>,
    folder: &ConfigFolder,
    owner: &str,
) -> Option<Secret> {
    let (file, variable) = (table.string("credential_file"), table.string("credential_env"));
    let (located, read) = match (file, variable) {
        (Some(file), None) => {
            let read = Secret::read(&folder.source(file.value));
            (file, read)
        }
        (None, Some(variable)) => {
            let read = Secret::from_environment(variable.value);
            (variable, read)
        }
        _ => {
            table.complain(format!(
                "{owner} needs exactly one of `credential_file` and `credential_env`"
            ));
            return None;
        }
    };
    read.map_err(|message| table.complain_at(&located, message)).ok()
}
