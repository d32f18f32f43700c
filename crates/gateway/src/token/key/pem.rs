//! Public keys as PEM (RFC 7468 section 13).

use std::fmt;

use tokio_rustls::rustls::pki_types::pem::{PemObject, SectionKind};
use weir_net::der::{BIT_STRING, DerReader, OBJECT_IDENTIFIER, SEQUENCE};

use super::problem::KeyProblem;
use super::public::PublicKey;
use crate::token::algorithm::KeyType;

/// Object identifiers of algorithms and curves, in DER (RFC 3279, RFC 5480, RFC 8410).
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Why a PEM text is not a public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PemFault {
    /// It is not PEM, for this reason.
    NotPem(String),
    /// It is a certificate.
    Certificate,
    /// It is a private key.
    PrivateKey,
    /// It has no public key.
    NoKey,
    /// It has several public keys.
    SeveralKeys,
    /// Its key cannot be used.
    Key(KeyProblem),
}

impl fmt::Display for PemFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotPem(reason) => return write!(formatter, "it is not PEM: {reason}"),
            Self::Certificate => {
                "it is a certificate; `openssl x509 -pubkey -noout` prints the public key of one"
            }
            Self::PrivateKey => {
                "it is a private key, which only the issuer may have; `openssl pkey -pubout` \
                 prints its public key"
            }
            Self::NoKey => {
                "it has no section `BEGIN PUBLIC KEY`; `openssl rsa -pubin -RSAPublicKey_in \
                 -pubout` makes one from `BEGIN RSA PUBLIC KEY`"
            }
            Self::SeveralKeys => "it has several public keys; use a key set (jwks_file)",
            Self::Key(problem) => return problem.fmt(formatter),
        })
    }
}

/// Reads the only public key in a PEM text.
///
/// # Errors
/// What the text contains instead.
pub(in crate::token) fn parse_public_key(text: &[u8]) -> Result<PublicKey, PemFault> {
    let mut keys = Vec::new();
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(text) {
        let (kind, content) = section.map_err(|error| PemFault::NotPem(error.to_string()))?;
        match kind {
            SectionKind::PublicKey => keys.push(content),
            SectionKind::Certificate => return Err(PemFault::Certificate),
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey => {
                return Err(PemFault::PrivateKey);
            }
            _ => {}
        }
    }
    match keys.as_slice() {
        [] => Err(PemFault::NoKey),
        [key] => parse_subject_public_key_info(key).map_err(PemFault::Key),
        _ => Err(PemFault::SeveralKeys),
    }
}

/// Reads `SubjectPublicKeyInfo` (RFC 5280 section 4.1.2.7).
fn parse_subject_public_key_info(der: &[u8]) -> Result<PublicKey, KeyProblem> {
    const MALFORMED: KeyProblem = KeyProblem::Malformed("SubjectPublicKeyInfo");
    let mut outer = DerReader::new(der);
    let mut info = DerReader::new(outer.element(SEQUENCE).ok_or(MALFORMED)?);
    let mut algorithm = DerReader::new(info.element(SEQUENCE).ok_or(MALFORMED)?);
    let bits = info.element(BIT_STRING).ok_or(MALFORMED)?;
    // The first byte is the number of unused bits in the last byte.
    let [0, key @ ..] = bits else { return Err(MALFORMED) };
    if !info.is_empty() || !outer.is_empty() {
        return Err(MALFORMED);
    }
    match algorithm.element(OBJECT_IDENTIFIER).ok_or(MALFORMED)? {
        RSA => parse_rsa(key).ok_or(MALFORMED)?,
        EC => match algorithm.element(OBJECT_IDENTIFIER).ok_or(MALFORMED)? {
            P256 => PublicKey::ec(KeyType::P256, key),
            P384 => PublicKey::ec(KeyType::P384, key),
            _ => Err(KeyProblem::Unsupported),
        },
        ED25519 => PublicKey::ed25519(key),
        _ => Err(KeyProblem::Unsupported),
    }
}

/// Reads `RSAPublicKey` (RFC 8017 appendix A.1.1).
fn parse_rsa(der: &[u8]) -> Option<Result<PublicKey, KeyProblem>> {
    let mut outer = DerReader::new(der);
    let mut numbers = DerReader::new(outer.element(SEQUENCE)?);
    let (modulus, exponent) = (numbers.unsigned()?, numbers.unsigned()?);
    (numbers.is_empty() && outer.is_empty()).then(|| PublicKey::rsa(modulus, exponent))
}
