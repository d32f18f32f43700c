//! The fields of a record, by the names that users type.

/// A field that every format may fill. Formats can add text fields of their own, which are known
/// by name only (see [`crate::Schema`]).
///
/// | field | nginx | Apache | W3C |
/// |---|---|---|---|
/// | `client` | `$remote_addr` | `%h`, `%a` | `c-ip` |
/// | `user` | `$remote_user` | `%u` | `cs-username` |
/// | `host` | `$host`, `$http_host`, `$server_name` | `%v`, `%{Host}i` | `cs-host` |
/// | `method` | `$request_method` | `%m` | `cs-method` |
/// | `path` | `$uri` | `%U` | `cs-uri-stem` |
/// | `query` | `$args` | `%q` | `cs-uri-query` |
/// | `protocol` | `$server_protocol` | `%H` | `cs-version` |
/// | `status` | `$status` | `%>s` | `sc-status` |
/// | `referer` | `$http_referer` | `%{Referer}i` | `cs(Referer)` |
/// | `user_agent` | `$http_user_agent` | `%{User-Agent}i` | `cs(User-Agent)` |
/// | `bytes` | `$body_bytes_sent` | `%b` | `sc-bytes` |
/// | `request_time` | `$request_time` | `%D`, `%T` | `time-taken` |
/// | `upstream_time` | `$upstream_response_time` | | |
/// | `time` | `$time_local`, `$time_iso8601`, `$msec` | `%t` | `date` and `time` |
///
/// A request line, `$request` or `%r`, fills `method`, `path`, `query` and `protocol`. If it cannot
/// be parsed, it is the field `request` instead.
///
/// The discriminants are the numbers of the fields' columns in every [`crate::Schema`]: text fields
/// first, then the numbers, then the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// Address or host name of the client.
    Client = 0,
    /// Authenticated user, as logged.
    User,
    /// Virtual host or `Host` header.
    Host,
    /// Request method.
    Method,
    /// Request target before `?`.
    Path,
    /// Request target after the first `?`.
    Query,
    /// Protocol of the request line, such as `HTTP/1.1`.
    Protocol,
    /// Response status, as logged.
    Status,
    /// `Referer` header.
    Referer,
    /// `User-Agent` header.
    UserAgent,
    /// The whole request line, if it is not a valid HTTP request line.
    Request,
    /// Response size in bytes.
    Bytes,
    /// Time to serve the request.
    RequestTime,
    /// Time the upstream took.
    UpstreamTime,
    /// When the request was logged.
    Time,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Bytes of the log, as ids of distinct values.
    Text,
    /// Unsigned integers.
    Number(Unit),
    /// Instants with the zone offset that was logged.
    Time,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// A duration in nanoseconds.
    Nanoseconds,
    /// Things without a unit.
    Count,
}

impl Field {
    /// All fields, in the order of their columns.
    pub const ALL: [Self; Self::TEXT.len() + Self::NUMBERS.len() + 1] = {
        let mut all = [Self::Time; Self::TEXT.len() + Self::NUMBERS.len() + 1];
        let mut at = 0;
        while at < Self::TEXT.len() {
            all[at] = Self::TEXT[at];
            at += 1;
        }
        let mut number = 0;
        while number < Self::NUMBERS.len() {
            all[at + number] = Self::NUMBERS[number];
            number += 1;
        }
        all
    };

    /// The text fields, in column order.
    pub const TEXT: [Self; 11] = [
        Self::Client,
        Self::User,
        Self::Host,
        Self::Method,
        Self::Path,
        Self::Query,
        Self::Protocol,
        Self::Status,
        Self::Referer,
        Self::UserAgent,
        Self::Request,
    ];

    /// The number fields, in column order.
    pub const NUMBERS: [Self; 3] = [Self::Bytes, Self::RequestTime, Self::UpstreamTime];

    /// The name in JSON, in conditions and on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::User => "user",
            Self::Host => "host",
            Self::Method => "method",
            Self::Path => "path",
            Self::Query => "query",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::Referer => "referer",
            Self::UserAgent => "user_agent",
            Self::Request => "request",
            Self::Bytes => "bytes",
            Self::RequestTime => "request_time",
            Self::UpstreamTime => "upstream_time",
            Self::Time => "time",
        }
    }

    /// Finds a field by its own name or by its name in nginx or in the W3C extended log format.
    ///
    /// ```
    /// use weir_core::{ColumnKind, Field, Unit};
    ///
    /// assert_eq!(Field::by_name("remote_addr"), Some(Field::Client));
    /// assert_eq!(Field::by_name("sc-bytes"), Some(Field::Bytes));
    /// assert_eq!(Field::by_name("ssl_protocol"), None);
    /// assert_eq!(Field::RequestTime.kind(), ColumnKind::Number(Unit::Nanoseconds));
    /// ```
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "client" | "remote_addr" | "c-ip" => Self::Client,
            "user" | "remote_user" | "cs-username" => Self::User,
            "host" | "cs-host" => Self::Host,
            "method" | "request_method" | "cs-method" => Self::Method,
            "path" | "uri" | "cs-uri-stem" => Self::Path,
            "query" | "args" | "query_string" | "cs-uri-query" => Self::Query,
            "protocol" | "server_protocol" | "cs-version" => Self::Protocol,
            "status" | "sc-status" => Self::Status,
            "referer" | "http_referer" | "cs(Referer)" => Self::Referer,
            "user_agent" | "http_user_agent" | "cs(User-Agent)" => Self::UserAgent,
            "request" => Self::Request,
            "bytes" | "body_bytes_sent" | "sc-bytes" => Self::Bytes,
            "request_time" | "time-taken" => Self::RequestTime,
            "upstream_time" | "upstream_response_time" => Self::UpstreamTime,
            "time" | "time_local" | "time_iso8601" => Self::Time,
            _ => return None,
        })
    }

    /// What the field's values are.
    pub const fn kind(self) -> ColumnKind {
        match self {
            Self::Bytes => ColumnKind::Number(Unit::Bytes),
            Self::RequestTime | Self::UpstreamTime => ColumnKind::Number(Unit::Nanoseconds),
            Self::Time => ColumnKind::Time,
            _ => ColumnKind::Text,
        }
    }

    /// The position of a text field in [`Self::TEXT`]; `None` for the other kinds.
    pub const fn text_index(self) -> Option<usize> {
        let index = self as usize;
        if index < Self::TEXT.len() { Some(index) } else { None }
    }

    /// The position of a number field in [`Self::NUMBERS`]; `None` for the other kinds.
    pub const fn number_index(self) -> Option<usize> {
        match (self as usize).checked_sub(Self::TEXT.len()) {
            Some(index) if index < Self::NUMBERS.len() => Some(index),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnKind, Field};

    #[test]
    fn names_and_indices_agree() {
        for (index, field) in Field::TEXT.into_iter().enumerate() {
            assert_eq!(field.text_index(), Some(index));
            assert_eq!(Field::by_name(field.name()), Some(field));
        }
        for (index, field) in Field::NUMBERS.into_iter().enumerate() {
            assert_eq!(field.number_index(), Some(index));
            assert_eq!(field.text_index(), None);
            assert!(matches!(field.kind(), ColumnKind::Number(_)));
            assert_eq!(Field::by_name(field.name()), Some(field));
        }
        for (index, field) in Field::ALL.into_iter().enumerate() {
            assert_eq!(field as usize, index);
            assert_eq!(field.kind() == ColumnKind::Text, field.text_index().is_some());
        }
        assert_eq!(Field::by_name("c-ip"), Some(Field::Client));
        assert_eq!(Field::by_name("no such field"), None);
    }
}
