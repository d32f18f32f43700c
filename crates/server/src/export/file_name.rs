//! File names of exports.

/// The maximum length of a file name without its extension, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// Returns the name under which a browser saves an export or a report: the first source and the filter.
/// Characters that are unsafe in a header field or a file system are replaced. The page uses the
/// same names.
pub(super) fn file_name(source: &str, conditions: &[String], extension: &str) -> String {
    let source = sanitize(source.rsplit(['/', '\\']).next().unwrap_or_default());
    let source = source.trim_start_matches('.');
    let mut name = if source.is_empty() { "rows" } else { source }.to_owned();
    let filter = sanitize(&conditions.join(" "));
    let words: Vec<&str> = filter.split('_').filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        name = format!("{name}-{}", words.join("_"));
    }
    // All characters are ASCII, so a cut cannot split one.
    name.truncate(NAME_BYTES_MAX);
    format!("{name}.{extension}")
}

/// Returns the first characters of a text, with an underscore for each unsafe one.
fn sanitize(text: &str) -> String {
    let is_harmless = |it: &char| it.is_ascii_alphanumeric() || "-_.".contains(*it);
    let text = text.chars().map(|it| if is_harmless(&it) { it } else { '_' });
    text.take(NAME_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_files_are_harmless() {
        for (source, name) in [
            ("/var/log/nginx/access.log", "access.log.csv"),
            ("a\"; filename=\"b\r\nSet-Cookie: x", "a___filename__b__Set-Cookie__x.csv"),
            ("..", "rows.csv"),
            ("", "rows.csv"),
            ("C:\\logs\\été.log", "_t_.log.csv"),
        ] {
            assert_eq!(file_name(source, &[], "csv"), name);
        }
        let long = file_name(&"a".repeat(5_000), &[], "jsonl");
        assert_eq!(long.len(), "a".repeat(100).len() + ".jsonl".len());
    }

    #[test]
    fn names_of_files_have_the_filter() {
        let name_of = |conditions: &[&str]| {
            let conditions: Vec<String> = conditions.iter().copied().map(str::to_owned).collect();
            file_name("access.log", &conditions, "csv")
        };
        assert_eq!(name_of(&["status=404,403"]), "access.log-status_404_403.csv");
        assert_eq!(
            name_of(&["path^=\"/../etc\"", "bytes>1MB"]),
            "access.log-path_.._etc_bytes_1MB.csv"
        );
        assert_eq!(name_of(&["\u{202e}\r\n"]), "access.log.csv");
        assert_eq!(name_of(&[&"x".repeat(5_000)]).len(), 100 + ".csv".len());
    }
}
