//! Extracts a member of a JSON text.

use crate::yaml::{Yaml, YamlValue, documents};

/// Returns the value at a path such as `a.b[2]`, as CrowdSec's `JsonExtract` does: a string without
/// its quotes and with its escapes, another value as it is written, and nothing if there is none.
/// JSON is read as YAML, which contains it.
pub(super) fn extract(text: &[u8], path: &[u8]) -> Vec<u8> {
    found(text, path).unwrap_or_default()
}

fn found(text: &[u8], path: &[u8]) -> Option<Vec<u8>> {
    let (text, path) = (std::str::from_utf8(text).ok()?.trim(), std::str::from_utf8(path).ok()?);
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let documents = documents(text).ok()?;
    let mut value = documents.first()?;
    let steps = path.split(['.', '[']).enumerate();
    // A path may begin with an index.
    for (_, step) in steps.filter(|(number, step)| *number > 0 || !step.is_empty()) {
        value = match step.strip_suffix(']') {
            Some(index) => value.items().get(index.parse::<usize>().ok()?)?,
            None => value.member(step)?,
        };
    }
    let raw = text.get(value.range.clone())?;
    let raw = match value {
        Yaml { value: YamlValue::Scalar(_), .. } => {
            raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw)
        }
        _ => raw,
    };
    Some(raw.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::extract;

    #[test]
    fn members_are_found_by_their_paths() {
        let text = r#"{"uri":"\/a?b","n": 5,"list":["x",{"y":"z"}],"o":{"p":true}}"#;
        for (path, value) in [
            ("uri", r"\/a?b"),
            ("n", "5"),
            ("list[0]", "x"),
            ("list[1].y", "z"),
            ("o.p", "true"),
            ("o", r#"{"p":true}"#),
            ("o.q", ""),
            ("list[9]", ""),
        ] {
            assert_eq!(extract(text.as_bytes(), path.as_bytes()), value.as_bytes(), "{path}");
        }
        assert_eq!(extract(br#"["a"]"#, b"[0]"), b"a");
        for text in ["uri: a", "{", "", "{\"uri\": *a}", "{\"uri\"", "\u{0}"] {
            assert_eq!(extract(text.as_bytes(), b"uri"), b"", "{text}");
        }
        assert_eq!(extract(b"{\"uri\":\"\xff\"}", b"uri"), b"");
    }
}
