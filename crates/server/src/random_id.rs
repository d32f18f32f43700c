//! Unguessable ids.

use crate::refusal::Refusal;

/// Returns 128 random bits in hexadecimal. A session may be protected only by its id, so it must be
/// impossible to guess.
pub(crate) fn random_id() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    getrandom::getrandom(&mut bytes).map_err(|_| Refusal::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
