//! Structured fields (RFC 9651), as the gateway reads those of signatures.

use weir_gateway::canonical_dictionary;

/// Longer texts may be too long for the gateway after they are written, with a space after each comma.
const TEXT_BYTES_MAX: usize = 4_000;

/// A field. What is read and written must be read as the same again: the signature of a crawler covers
/// the written text, and two spellings of one value must not differ there.
pub(crate) fn structured(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.len() > TEXT_BYTES_MAX {
        return;
    }
    let Some(written) = canonical_dictionary(text) else { return };
    assert!(written.is_ascii(), "{written:?}");
    assert_eq!(canonical_dictionary(&written).as_deref(), Some(&*written), "of {text:?}");
    // Spaces around a field, and those after commas, are no part of it.
    assert_eq!(canonical_dictionary(&format!("  {text} ")), Some(written), "of {text:?}");
}
