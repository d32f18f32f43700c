//! The formats that Weir knows by name.

use std::sync::LazyLock;

use super::{Format, nginx};

/// nginx's own `combined`, and what the packages of nginx ship as `main`.
const NGINX: [(&str, &str); 1] = [(
    "MAIN",
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#,
)];

static KNOWN: LazyLock<Vec<Format>> = LazyLock::new(|| {
    NGINX
        .iter()
        .filter_map(|(name, definition)| Some(nginx::compile(definition).ok()?.named(name)))
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
