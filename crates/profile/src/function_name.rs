//! The names of functions as a person writes them.

/// A demangled name without the hash that the compiler adds to it: `::h` and 16 hexadecimal digits.
pub(crate) fn without_hash(name: &str) -> &str {
    const HASH_DIGITS: usize = 16;
    match name.rsplit_once("::h") {
        Some((path, hash))
            if hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            path
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::without_hash;

    #[test]
    fn only_hashes_are_taken_away() {
        for (name, expected) in [
            ("core::ptr::drop_in_place::h0123456789abcdef", "core::ptr::drop_in_place"),
            ("a::h0123456789abcde", "a::h0123456789abcde"),
            ("a::head", "a::head"),
            ("malloc", "malloc"),
            ("", ""),
        ] {
            assert_eq!(without_hash(name), expected);
        }
    }
}
