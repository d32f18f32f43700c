//! Normalises a path as nginx does before it compares it with locations.

use std::borrow::Cow;

/// Returns the normalised path: percent-encodings decoded, `.` and `..` resolved, and runs of
/// slashes merged, as ngx_http_parse_complex_uri does. Scheme and host of a target in the absolute
/// form are removed. `None` if nginx refuses the target.
pub(crate) fn normalised(target: &[u8]) -> Option<Cow<'_, [u8]>> {
    let path = without_host(target);
    if is_normal(path) {
        return Some(Cow::Borrowed(path));
    }
    let decoded = decoded(path)?;
    let absolute = decoded.strip_prefix(b"/")?;
    let mut normal: Vec<u8> = b"/".to_vec();
    let mut segments = absolute.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            b"" | b"." => {}
            b".." => {
                normal.pop()?;
                let parent = normal.iter().rposition(|byte| *byte == b'/')?;
                normal.truncate(parent + 1);
            }
            segment => {
                normal.extend_from_slice(segment);
                if !is_last {
                    normal.push(b'/');
                }
            }
        }
    }
    Some(Cow::Owned(normal))
}

/// Whether a path is certainly in normal form. May return false for a normal path.
fn is_normal(path: &[u8]) -> bool {
    let mut before = 0;
    let is_special = |byte: &u8| {
        let is_after_slash = std::mem::replace(&mut before, *byte) == b'/';
        *byte == b'%' || is_after_slash && matches!(byte, b'/' | b'.')
    };
    path.first() == Some(&b'/') && !path.iter().any(is_special)
}

/// The path of a target: all of it, or the part after the host in the absolute form.
fn without_host(target: &[u8]) -> &[u8] {
    if target.first() == Some(&b'/') {
        return target;
    }
    let scheme = target.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    match target[scheme..].strip_prefix(b"://") {
        Some(host) if scheme > 0 => {
            let end = host.iter().position(|byte| *byte == b'/');
            end.map_or(b"/", |end| &host[end..])
        }
        _ => target,
    }
}

/// Replaces percent-encodings by their bytes; `None` if one is not valid or is a NUL.
fn decoded(path: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            decoded.push(*byte);
            continue;
        }
        let ([high, low], after) = rest.split_first_chunk()?;
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let byte = (digit(high)? * 16 + digit(low)?) as u8;
        if byte == 0 {
            return None;
        }
        decoded.push(byte);
        rest = after;
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::normalised;

    #[test]
    fn paths_are_normalised_as_by_nginx() {
        for (path, expected) in [
            ("/", Some("/")),
            ("/a/b", Some("/a/b")),
            ("/a//b/", Some("/a/b/")),
            ("/a/./b/../c", Some("/a/c")),
            ("/a/..", Some("/")),
            ("/a/b/..", Some("/a/")),
            ("/a/.", Some("/a/")),
            ("/%61%2Fb", Some("/a/b")),
            ("/..", None),
            ("/a/../../b", None),
            ("/%", None),
            ("/%00", None),
            ("*", None),
            ("a.example:443", None),
            ("http://a.example/x/../y", Some("/y")),
            ("http://a.example", Some("/")),
            ("://a", None),
            ("/x://a", Some("/x:/a")),
        ] {
            let normal = normalised(path.as_bytes());
            assert_eq!(normal.as_deref(), expected.map(str::as_bytes), "{path}");
        }
    }
}
