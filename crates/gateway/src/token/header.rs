//! The header of a token (RFC 7515 section 4).

use serde_json::Value;

use super::algorithm::Algorithm;
use super::json::{JsonFault, parse_object};
use super::refusal::TokenRefusal;

/// The header members that are used. `jku`, `jwk`, `x5u` and `x5c` would let a token supply its own
/// key, so they are ignored, as are unknown members.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenHeader {
    /// `None` if the algorithm is unknown or `none`.
    pub(super) algorithm: Option<Algorithm>,
    pub(super) key_id: Option<String>,
    /// The type in lower case, without `application/` (RFC 7515 section 4.1.9); `jwt` if absent.
    pub(super) token_type: String,
}

impl TokenHeader {
    /// Parses the decoded first part of a token.
    ///
    /// # Errors
    /// If the header is malformed, or requires an extension.
    pub(super) fn parse(text: &[u8]) -> Result<Self, TokenRefusal> {
        let mut members = parse_object(text).map_err(|fault| match fault {
            JsonFault::DuplicateName => TokenRefusal::DuplicateName,
            JsonFault::Malformed | JsonFault::NotObject => TokenRefusal::InvalidHeader,
        })?;
        // No extension is implemented, so every critical extension is unknown.
        if members.contains_key("crit") {
            return Err(TokenRefusal::CriticalExtension);
        }
        let mut text = |name: &str| match members.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(TokenRefusal::InvalidHeader),
        };
        let algorithm = text("alg")?.ok_or(TokenRefusal::InvalidHeader)?;
        let key_id = text("kid")?;
        let token_type = text("typ")?.unwrap_or_else(|| DEFAULT_TYPE.to_owned());
        Ok(Self {
            algorithm: Algorithm::from_token(&algorithm),
            key_id,
            token_type: normalize_type(&token_type),
        })
    }
}

/// The type of a token without `typ`.
const DEFAULT_TYPE: &str = "jwt";

/// Normalizes a media type: lower case, without `application/`.
pub(super) fn normalize_type(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    lower.strip_prefix("application/").map_or(lower.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, TokenHeader, TokenRefusal};

    #[test]
    fn headers_are_read_strictly() {
        let header = |algorithm, key_id: Option<&str>, token_type: &str| TokenHeader {
            algorithm,
            key_id: key_id.map(str::to_owned),
            token_type: token_type.to_owned(),
        };
        let es256 = Some(Algorithm::Es256);
        for (text, expected) in [
            (r#"{"alg":"ES256"}"#, Ok(header(es256, None, "jwt"))),
            (r#"{"typ":"JWT","alg":"ES256","kid":""}"#, Ok(header(es256, Some(""), "jwt"))),
            (r#"{"typ":"application/AT+jwt","alg":"ES256"}"#, Ok(header(es256, None, "at+jwt"))),
            (r#"{"alg":"ES256","jku":1,"jwk":[],"x5u":null}"#, Ok(header(es256, None, "jwt"))),
            (r#"{"alg":"nOnE"}"#, Ok(header(None, None, "jwt"))),
            (r#"{"alg":null}"#, Err(TokenRefusal::InvalidHeader)),
            (r#"{"alg":["ES256"]}"#, Err(TokenRefusal::InvalidHeader)),
            (r#"{"alg":"ES256","kid":1}"#, Err(TokenRefusal::InvalidHeader)),
            (r#"{"alg":"ES256","typ":{}}"#, Err(TokenRefusal::InvalidHeader)),
            (r#"{"kid":"a"}"#, Err(TokenRefusal::InvalidHeader)),
            (r#"[]"#, Err(TokenRefusal::InvalidHeader)),
            (r#"{"alg":"ES256","crit":[]}"#, Err(TokenRefusal::CriticalExtension)),
            (r#"{"alg":"ES256","crit":null}"#, Err(TokenRefusal::CriticalExtension)),
            (r#"{"alg":"ES256","alg":"none"}"#, Err(TokenRefusal::DuplicateName)),
        ] {
            assert_eq!(TokenHeader::parse(text.as_bytes()), expected, "{text}");
        }
    }
}
