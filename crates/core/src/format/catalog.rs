//! The formats that Weir knows by name.
//!
//! Each has its sample lines, with the fields they have to give and the lines it must
//! refuse, in `tests/golden/formats/known/`.

use std::sync::LazyLock;

use super::Format;

/// Name and definition, the more particular formats first: where two fit a file equally
/// well, detection takes the earlier.
const DEFINITIONS: [(&str, &str); 5] = [
    // Debian's vhost_combined, and the same of those who leave the port out.
    ("VCOMBINED", r#"%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#),
    ("VCOMMON", r#"%v:%p %h %l %u %t "%r" %>s %b"#),
    // Apache's combined, and nginx's, which writes the same lines.
    ("COMBINED", r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#),
    // The common log format of NCSA httpd.
    ("COMMON", r#"%h %l %u %t "%r" %>s %b"#),
    // What the packages of nginx ship as `main` in nginx.conf.
    (
        "MAIN",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#,
    ),
];

/// A definition that did not compile would be missing here; a test counts them.
static KNOWN: LazyLock<Vec<Format>> = LazyLock::new(|| {
    DEFINITIONS
        .iter()
        .filter_map(|(name, definition)| Some(Format::compile(definition).ok()?.named(name)))
        .collect()
});

/// Every known format, the more particular ones first.
pub fn known_formats() -> &'static [Format] {
    &KNOWN
}

/// The known format of that name, whatever its case.
pub fn format_by_name(name: &str) -> Option<Format> {
    KNOWN.iter().find(|format| format.name().eq_ignore_ascii_case(name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::{DEFINITIONS, known_formats};

    #[test]
    fn every_definition_compiles() {
        let names: Vec<&str> = known_formats().iter().map(|format| format.name()).collect();
        assert_eq!(names, DEFINITIONS.map(|(name, _)| name));
    }
}
