//! The compact serialization of a signed token (RFC 7515 section 7.1): three parts separated by
//! dots.

use super::encoding::decode;
use super::refusal::TokenRefusal;

/// The parts of a token. The payload is not decoded before the signature is verified.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CompactToken<'a> {
    /// The JSON of the header.
    pub(super) header: Vec<u8>,
    /// The signing input: the first two parts as sent, with the dot.
    pub(super) signed: &'a [u8],
    /// The decoded signature.
    pub(super) signature: Vec<u8>,
    /// The second part as sent.
    payload: &'a [u8],
}

impl<'a> CompactToken<'a> {
    /// Splits a token, and decodes its header and signature.
    ///
    /// # Errors
    /// If there are not exactly three parts, or the first or the last is not base64.
    pub(super) fn parse(token: &'a str) -> Result<Self, TokenRefusal> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenRefusal::NotCompact)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenRefusal::NotCompact)?;
        // A token with five parts is encrypted (RFC 7516), which is not supported.
        if payload.contains('.') {
            return Err(TokenRefusal::NotCompact);
        }
        let header = decode(header.as_bytes()).ok_or(TokenRefusal::InvalidEncoding)?;
        let signature = decode(signature.as_bytes()).ok_or(TokenRefusal::InvalidEncoding)?;
        Ok(Self { header, signed: signed.as_bytes(), signature, payload: payload.as_bytes() })
    }

    /// Decodes the JSON of the claims.
    ///
    /// # Errors
    /// If the part is not base64.
    pub(super) fn payload(&self) -> Result<Vec<u8>, TokenRefusal> {
        decode(self.payload).ok_or(TokenRefusal::InvalidEncoding)
    }
}

#[cfg(test)]
mod tests {
    use super::{CompactToken, TokenRefusal};

    #[test]
    fn a_token_has_three_parts() {
        let token = CompactToken::parse("e30.W10._w").unwrap();
        assert_eq!(token.header, b"{}");
        assert_eq!(token.signed, b"e30.W10");
        assert_eq!(token.payload(), Ok(b"[]".to_vec()));
        assert_eq!(token.signature, [0xff]);
        for (text, expected) in [
            ("", TokenRefusal::NotCompact),
            ("e30", TokenRefusal::NotCompact),
            ("e30.e30", TokenRefusal::NotCompact),
            ("e30.e30.e30.e30", TokenRefusal::NotCompact),
            ("e30.e30.e30.e30.e30", TokenRefusal::NotCompact),
            ("e30=.e30._w", TokenRefusal::InvalidEncoding),
            ("e30.e30._w==", TokenRefusal::InvalidEncoding),
            ("e30.e30._x", TokenRefusal::InvalidEncoding),
        ] {
            assert_eq!(CompactToken::parse(text), Err(expected), "{text}");
        }
        assert_eq!(
            CompactToken::parse("e30.e3.").unwrap().payload(),
            Err(TokenRefusal::InvalidEncoding)
        );
    }
}
