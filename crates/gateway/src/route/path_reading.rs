//! How servers read a path beyond percent-decoding.
//!
//! A route decides about access by the path. If the server behind it reads the same path in another
//! way, a request of an open route can reach what a guarded route protects: servlet containers drop
//! `;...` of each segment (Jakarta Servlet 6.0 section 3.5.2), Express ignores case, and Windows
//! ignores case, and dots and spaces at the end of a name.

use std::borrow::Cow;

/// How the servers of a backend read paths. Each way includes the ways before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathReading {
    /// Case counts.
    #[default]
    Strict,
    /// Case does not count.
    IgnoreCase,
    /// As the file system of Windows does: no case, no dots and spaces at the end of a name, no
    /// alternate streams (`::$DATA`).
    Windows,
}

impl PathReading {
    /// All, with their names in a configuration.
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("strict", Self::Strict), ("ignore-case", Self::IgnoreCase), ("windows", Self::Windows)];

    /// The one spelling of a path for such a server. Returns `None` if it cannot be told which path
    /// it would open.
    pub(crate) fn spell(self, decoded: &str) -> Option<Cow<'_, str>> {
        let mut path = match self {
            Self::Strict => return Some(Cow::Borrowed(decoded)),
            Self::IgnoreCase => decoded.to_owned(),
            Self::Windows => {
                let names: Option<Vec<&str>> = decoded.split('/').map(windows_name).collect();
                names?.join("/")
            }
        };
        // Both conversions, because some letters have an equal upper case only.
        path = path.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
        Some(Cow::Owned(path))
    }
}

/// The path as servlet containers read it: without `;...` in each segment. Others keep it.
pub(crate) fn without_parameters(decoded: &str) -> Cow<'_, str> {
    if !decoded.contains(';') {
        return Cow::Borrowed(decoded);
    }
    let names = decoded.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
    Cow::Owned(names.collect::<Vec<&str>>().join("/"))
}

/// The ways in which servers see the slashes of a path: as they are, without empty segments, with the
/// encoded ones decoded, and both.
pub(crate) fn slash_readings(path: &str) -> [Cow<'_, str>; 4] {
    let decoded = path.replace("%2F", "/").replace("%2f", "/");
    let merged = merge_slashes(path);
    [path.into(), merged.into(), merge_slashes(&decoded).into(), decoded.into()]
}

fn merge_slashes(path: &str) -> String {
    let mut merged = String::with_capacity(path.len());
    for character in path.chars() {
        if character != '/' || !merged.ends_with('/') {
            merged.push(character);
        }
    }
    merged
}

/// The name of the file that a segment opens on Windows, if it can be told.
fn windows_name(segment: &str) -> Option<&str> {
    let name = segment.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    let is_dropped = name.is_empty() && !segment.is_empty();
    // ASP.NET drops `(S(id))` and its kin, which hold a session without a cookie.
    let may_be_dropped = name.starts_with('(') && name.ends_with("))");
    (!is_dropped && !may_be_short(name) && !may_be_dropped).then_some(name)
}

/// Whether a name may be the short name of another file on Windows, such as `ADMINI~1`.
fn may_be_short(name: &str) -> bool {
    let mut after = name.split('~').skip(1);
    after.any(|part| part.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::PathReading::{IgnoreCase, Strict, Windows};
    use super::{slash_readings, without_parameters};

    #[test]
    fn each_server_has_its_own_spelling() {
        for (path, ignore_case, windows) in [
            ("/", "/", "/"),
            ("/Admin/x", "/admin/x", "/admin/x"),
            ("/admin;V=1/", "/admin;v=1/", "/admin;v=1/"),
            ("/admin./x", "/admin./x", "/admin/x"),
            ("/admin ", "/admin ", "/admin"),
            ("/admin. .", "/admin. .", "/admin"),
            ("/admin::$DATA", "/admin::$data", "/admin"),
            ("/admin:x:$DATA/y", "/admin:x:$data/y", "/admin/y"),
            ("/ADMINI~1", "/admini~1", "?"),
            ("/~user", "/~user", "/~user"),
            ("/ /admin", "/ /admin", "?"),
            ("/(S(x))/admin", "/(s(x))/admin", "?"),
            ("/(x)/admin", "/(x)/admin", "/(x)/admin"),
            ("/...", "/...", "?"),
            ("/Käse", "/käse", "/käse"),
            ("/adm\u{131}n", "/admin", "/admin"),
            ("/\u{17f}hop", "/shop", "/shop"),
            ("/\u{212a}", "/k", "/k"),
        ] {
            for (reading, expected) in
                [(Strict, path), (IgnoreCase, ignore_case), (Windows, windows)]
            {
                let spelled = reading.spell(path);
                assert_eq!(spelled.as_deref().unwrap_or("?"), expected, "{path:?} {reading:?}");
            }
        }
    }

    #[test]
    fn parameters_are_dropped_from_every_segment() {
        for (path, expected) in [
            ("/admin/x", "/admin/x"),
            ("/admin;v=1/x;y;z", "/admin/x"),
            ("/admin;/", "/admin/"),
            ("/a/b;", "/a/b"),
        ] {
            assert_eq!(without_parameters(path), expected);
        }
    }

    #[test]
    fn slashes_are_read_in_four_ways() {
        for (path, expected) in [
            ("/a//b", ["/a//b", "/a/b", "/a/b", "/a//b"]),
            ("/a%2fb", ["/a%2fb", "/a%2fb", "/a/b", "/a/b"]),
            ("//a/%2Fb//", ["//a/%2Fb//", "/a/%2Fb/", "/a/b/", "//a//b//"]),
        ] {
            assert_eq!(slash_readings(path), expected.map(std::borrow::Cow::from), "{path}");
        }
    }
}
