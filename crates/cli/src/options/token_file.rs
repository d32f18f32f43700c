//! The content of `--token-file`.

use std::fmt::Display;
use std::path::Path;

use weir_server::{AccessToken, InvalidToken};

use crate::display::safe;
use crate::outcome::Failure;
use crate::sources::cannot_read;

/// Reads the token of a server.
///
/// # Errors
/// If the file cannot be read, or does not hold a token.
pub(crate) fn read_token(path: &Path) -> Result<AccessToken, Failure> {
    read(path, AccessToken::new)
}

/// Reads the token of another process, as a text.
///
/// # Errors
/// If the file cannot be read, or does not hold a token.
pub(crate) fn read_token_text(path: &Path) -> Result<String, Failure> {
    read(path, |text| AccessToken::new(text).map(|_| text.to_owned()))
}

fn read<T>(path: &Path, parse: impl Fn(&str) -> Result<T, InvalidToken>) -> Result<T, Failure> {
    let fail = |reason: &dyn Display| {
        Failure::new(format_args!("--token-file: {}: {reason}", safe(&path.to_string_lossy())))
    };
    let bytes = std::fs::read(path).map_err(|error| fail(&cannot_read(&error)))?;
    // Bytes that are not UTF-8 are replaced by a character that no token has.
    parse(String::from_utf8_lossy(&bytes).trim()).map_err(|error| fail(&error))
}
