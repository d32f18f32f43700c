//! Numbers that cannot be guessed.

use crate::refusal::Refusal;

/// 128 random bits in hexadecimal. The id of a session may be all that protects it, so it must be
/// impossible to guess.
pub(crate) fn random_id() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    getrandom::getrandom(&mut bytes).map_err(|_| Refusal::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
