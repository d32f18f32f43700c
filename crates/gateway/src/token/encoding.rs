//! The base64 encoding of tokens (RFC 7515 section 2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Decodes URL-safe base64 without padding. The encoding must be canonical: unused bits of the last
/// character must be zero, so that a token has only one spelling.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn one_text_stands_for_some_bytes() {
        assert_eq!(decode(b"_-8").as_deref(), Some(&[0xff, 0xef][..]));
        assert_eq!(decode(b"").as_deref(), Some(&[][..]));
        for text in ["/+8", "_-8=", "_-9", "_", "_-8 ", "_-\n8", "_-8.", "é"] {
            assert_eq!(decode(text.as_bytes()), None, "{text:?}");
        }
    }
}
