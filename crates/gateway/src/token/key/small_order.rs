//! Ed25519 points of small order, which allow forged signatures.

/// The y coordinates of the points whose order divides 8, without the sign of x, in all of their
/// 32-byte encodings (RFC 8032 section 5.1.2). Ring accepts them as keys, although its verification
/// equation then holds for signatures that were made without a private key.
const SMALL_ORDER: [[u8; 32]; 7] = [
    y(0x01, [0; 30], 0x00),
    y(0x00, [0; 30], 0x00),
    y(0xec, [0xff; 30], 0x7f),
    y(0xed, [0xff; 30], 0x7f),
    y(0xee, [0xff; 30], 0x7f),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
];

/// Whether a public key is a point of small order.
pub(super) fn has_small_order(key: &[u8; 32]) -> bool {
    let mut y = *key;
    y[31] &= 0x7f;
    SMALL_ORDER.contains(&y)
}

/// Returns the little-endian bytes of a number.
const fn y(first: u8, middle: [u8; 30], last: u8) -> [u8; 32] {
    let mut bytes = [first; 32];
    let mut index = 0;
    while index < 30 {
        bytes[index + 1] = middle[index];
        index += 1;
    }
    bytes[31] = last;
    bytes
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};

    use super::{SMALL_ORDER, has_small_order};

    /// With s = 0 and R = the identity, ring accepts the point of order 1 for every message, and
    /// the point of order 2 for about half of them. This is why the list exists.
    #[test]
    fn the_cryptographic_library_accepts_forged_signatures_for_them() {
        let mut signature = [0; 64];
        signature[0] = 1;
        let accepted = |key: &[u8; 32]| {
            let key = UnparsedPublicKey::new(&ED25519, key);
            (0..64_u8).filter(|message| key.verify(&[*message], &signature).is_ok()).count()
        };
        assert_eq!(accepted(&SMALL_ORDER[0]), 64);
        assert!(SMALL_ORDER.iter().filter(|key| accepted(key) > 0).count() >= 5);
    }

    #[test]
    fn both_signs_are_found_and_other_keys_are_not() {
        for mut key in SMALL_ORDER {
            assert!(has_small_order(&key));
            key[31] |= 0x80;
            assert!(has_small_order(&key));
            key[7] ^= 1;
            assert!(!has_small_order(&key));
        }
    }
}
