//! The fields of Cloudflare that a log has, and their comparisons.

use super::super::super::selection::{Case, Selection, TextField, of_client};

/// A field of Cloudflare that a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// The same as a text field of the log.
    Text(TextField),
    /// The path and, after a `?`, the query.
    Target(Case),
    /// What comes after the last dot of the path, in lower case.
    Extension,
    Client,
    Status,
}

impl Field {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        let text = |name| Some(Self::Text(TextField::new(name)));
        match name.strip_prefix("raw.").unwrap_or(name) {
            "http.request.uri.path" => text("path"),
            "http.request.uri.query" => text("query"),
            "http.request.method" => text("method"),
            "http.request.version" => text("protocol"),
            "http.user_agent" => text("user_agent"),
            "http.referer" => text("referer"),
            "http.host" => Some(Self::Text(TextField::new("host").with_case(Case::Ignored))),
            "http.request.uri" => Some(Self::Target(Case::Kept)),
            "http.request.uri.path.extension" => Some(Self::Extension),
            "http.response.code" => Some(Self::Status),
            "ip.src" => Some(Self::Client),
            _ => None,
        }
    }

    /// The field with its value in another case.
    pub(super) fn with_case(self, case: Case) -> Self {
        match self {
            Self::Text(field) if field.case == Case::Kept => Self::Text(field.with_case(case)),
            Self::Target(_) => Self::Target(case),
            other => other,
        }
    }

    pub(super) fn equals(self, value: &str) -> Selection {
        match self {
            Self::Text(field) => field.equals(value),
            Self::Target(case) => target_equals(case, value),
            Self::Extension => extension_equals(value),
            Self::Client => of_client(value),
            Self::Status if is_number(value) => Selection::those(format!("status={value}")),
            Self::Status => Selection::Unknown,
        }
    }

    pub(super) fn begins_with(self, value: &str) -> Selection {
        match (self, value.split_once('?')) {
            (Self::Text(field), _) => field.begins_with(value),
            (Self::Target(case), None) => path(case).begins_with(value),
            (Self::Target(case), Some((before, after))) => {
                Selection::all(vec![path(case).equals(before), query(case).begins_with(after)])
            }
            _ => Selection::Unknown,
        }
    }

    pub(super) fn ends_with(self, value: &str) -> Selection {
        match (self, value.split_once('?')) {
            (Self::Text(field), _) => field.ends_with(value),
            (Self::Target(case), None) => Selection::any(vec![
                query(case).ends_with(value),
                Selection::all(vec![path(case).ends_with(value), query(case).is_empty()]),
            ]),
            (Self::Target(case), Some((before, after))) => Selection::any(vec![
                Selection::all(vec![path(case).ends_with(before), query(case).equals(after)]),
                query(case).ends_with(value),
            ]),
            _ => Selection::Unknown,
        }
    }

    pub(super) fn contains(self, value: &str) -> Selection {
        match (self, value.split_once('?')) {
            (Self::Text(field), _) => field.contains(value),
            (Self::Target(case), None) => {
                Selection::any(vec![path(case).contains(value), query(case).contains(value)])
            }
            (Self::Target(case), Some((before, after))) => Selection::any(vec![
                Selection::all(vec![path(case).ends_with(before), query(case).begins_with(after)]),
                query(case).contains(value),
            ]),
            _ => Selection::Unknown,
        }
    }

    pub(super) fn matches(self, pattern: &str) -> Selection {
        match self {
            Self::Text(field) => field.matches(pattern),
            _ => Selection::Unknown,
        }
    }

    /// A pattern in which `*` is any text.
    pub(super) fn wildcard(self, pattern: &str, is_strict: bool) -> Selection {
        let Self::Text(field) = self else { return Selection::Unknown };
        let has = |is_other: fn(&u8) -> bool| pattern.as_bytes().iter().any(is_other);
        match field.case {
            _ if !is_strict => field.with_case(Case::Ignored).wildcard(pattern),
            Case::Lower if has(u8::is_ascii_uppercase) => Selection::Nothing,
            Case::Upper if has(u8::is_ascii_lowercase) => Selection::Nothing,
            _ => field.wildcard(pattern),
        }
    }

    /// A comparison of numbers: `<`, `<=`, `>` or `>=`.
    pub(super) fn is_ordered(self, sign: &str, value: &str) -> Selection {
        match self {
            Self::Status if is_number(value) => Selection::those(format!("status{sign}{value}")),
            _ => Selection::Unknown,
        }
    }

    /// A value of a list: also a range such as `500..599`.
    pub(super) fn is_within(self, value: &str) -> Selection {
        match (self, value.split_once("..")) {
            (Self::Status, Some((from, to))) => {
                Selection::all(vec![self.is_ordered(">=", from), self.is_ordered("<=", to)])
            }
            _ => self.equals(value),
        }
    }
}

fn path(case: Case) -> TextField {
    TextField::new("path").with_case(case)
}

fn query(case: Case) -> TextField {
    TextField::new("query").with_case(case)
}

fn target_equals(case: Case, value: &str) -> Selection {
    let (before, after) = value.split_once('?').unwrap_or((value, ""));
    Selection::all(vec![path(case).equals(before), query(case).equals(after)])
}

fn extension_equals(value: &str) -> Selection {
    match value.is_empty() || value.contains('/') {
        true => Selection::Unknown,
        false if value.bytes().any(|byte| byte.is_ascii_uppercase()) => Selection::Nothing,
        false => path(Case::Ignored).ends_with(&format!(".{value}")),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}
