//! Keys that verify signatures, and sets of them (RFC 7517).

mod jwk;
mod pem;
mod problem;
mod public;
mod secret;
mod set;
mod small_order;

pub use self::jwk::KeySetFault;
pub(super) use self::jwk::{KeySetOrigin, parse_key_set};
pub use self::pem::PemFault;
pub(super) use self::pem::parse_public_key;
pub use self::problem::KeyProblem;
pub(super) use self::secret::SecretKey;
pub use self::set::SkippedKey;
pub(super) use self::set::{KeySet, VerificationKey};
