//! The names of the derived fields that this crate knows.

/// A derived field, for a list of those that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DerivedName {
    /// Its name, with a capital letter for a part to choose.
    pub name: &'static str,
    /// What it is, as a part of a sentence.
    pub about: &'static str,
}

/// The derived fields of this crate.
pub fn derived_names() -> &'static [DerivedName] {
    const NAMES: &[DerivedName] = &[
        DerivedName { name: "date", about: "the day, as 2026-11-28" },
        DerivedName { name: "hour", about: "the hour of the day, 00 to 23" },
        DerivedName { name: "weekday", about: "the day of the week, 1 Monday to 7 Sunday" },
        DerivedName {
            name: "time/STEP",
            about: "the time in steps that divide a day, such as time/1m: 2026-11-28 14:05",
        },
        DerivedName {
            name: "source",
            about: "the file, or the part of its name that --source-name takes",
        },
        DerivedName {
            name: "network",
            about: "the network of the client: /24 for IPv4, /48 for IPv6",
        },
        DerivedName {
            name: "network/N",
            about: "the network of the client with a prefix of N bits",
        },
        DerivedName { name: "path/N", about: "the first N segments of the path" },
        DerivedName { name: "extension", about: "the extension of the path, in lower case" },
        DerivedName {
            name: "static",
            about: "whether the path is a static file, by its extension: yes or no",
        },
        DerivedName { name: "query:NAME", about: "the parameter NAME of the query, decoded" },
        DerivedName { name: "campaign", about: "utm_campaign, or else utm_source, of the query" },
    ];
    NAMES
}

/// The field that a derived field follows from; `None` for other names, and for those that follow
/// from the source.
pub(crate) fn origin_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "date" | "hour" | "weekday" => "time",
        _ if name.starts_with("time/") => "time",
        "network" => "client",
        "extension" | "static" => "path",
        "campaign" => "query",
        _ if name.starts_with("network/") => "client",
        _ if name.starts_with("path/") => "path",
        _ if name.starts_with("query:") => "query",
        _ => return None,
    })
}

/// Returns whether the values of a field stand in their own order, that of their texts, unless another
/// one is asked for: those of parts of times.
pub fn has_own_order(name: &str) -> bool {
    matches!(name, "date" | "hour" | "weekday") || name.starts_with("time/")
}

/// Returns the number of values of a field with an order of its own that begins again and again;
/// `None` for other fields.
pub fn cycle_len(name: &str) -> Option<usize> {
    match name {
        "hour" => Some(24),
        "weekday" => Some(7),
        _ => None,
    }
}
