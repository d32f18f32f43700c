//! The pattern of a path, which the paths of a cohort share.

/// The longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 64;

/// Returns the first segment of a path, with `N` for each number in it, and `/*` if another follows.
pub(super) fn path_pattern(path: &[u8]) -> Vec<u8> {
    let Some(inside) = path.strip_prefix(b"/") else {
        return path[..path.len().min(PATTERN_BYTES_MAX)].to_vec();
    };
    let end = inside.iter().position(|byte| *byte == b'/').unwrap_or(inside.len());
    let mut pattern = vec![b'/'];
    for byte in &inside[..end] {
        match (byte.is_ascii_digit(), pattern.last()) {
            (true, Some(b'N')) => {}
            (true, _) => pattern.push(b'N'),
            (false, _) => pattern.push(*byte),
        }
    }
    pattern.truncate(PATTERN_BYTES_MAX);
    if inside[end..].iter().any(|byte| *byte != b'/') {
        pattern.extend_from_slice(b"/*");
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::path_pattern;

    #[test]
    fn a_pattern_is_the_first_segment_without_numbers() {
        for (path, pattern) in [
            ("/", "/"),
            ("//", "/"),
            ("/login", "/login"),
            ("/login/", "/login"),
            ("/blog/2024/a", "/blog/*"),
            ("/item-1234-7.html", "/item-N-N.html"),
            ("/2024/01", "/N/*"),
            ("*", "*"),
            ("", ""),
        ] {
            assert_eq!(path_pattern(path.as_bytes()), pattern.as_bytes(), "{path}");
        }
        assert_eq!(path_pattern(format!("/{}/b", "a".repeat(99)).as_bytes()).len(), 66);
    }
}
