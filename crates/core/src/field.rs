//! The fields of a record, by the names that users type.
//!
//! A log names a field by its server's vocabulary: nginx writes `$remote_addr`, Apache `%h` and IIS
//! `c-ip` for the same thing. [`Field`] is the vocabulary of this crate, and [`Field::by_name`]
//! accepts the others. Each field has one kind of value in every format ([`Field::kind`]), so the
//! numbers of two logs can be compared and added: sizes are bytes and durations nanoseconds,
//! whatever a server logs.
//!
//! Fields that only some formats have are text and are known by name alone; [`crate::Schema`] gives
//! them columns.

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
/// | `upstream_connect_time` | `$upstream_connect_time` | | |
/// | `upstream_header_time` | `$upstream_header_time` | | |
/// | `wait_time`, `body_time` | | | |
/// | `time` | `$time_local`, `$time_iso8601`, `$msec` | `%t` | `date` and `time` |
///
/// A request line, `$request` or `%r`, fills `method`, `path`, `query` and `protocol`. If it cannot
/// be parsed, it is the field `request` instead.
///
/// The discriminants are the numbers of the fields' columns in every [`crate::Schema`]: text fields
/// first, then the numbers, then the time.
///
/// The derived order is that of the columns, and so are [`Field::ALL`], [`Field::TEXT`] and
/// [`Field::NUMBERS`].
///
/// # Sources
///
/// nginx: the variables of ngx_http_core_module, ngx_http_log_module and ngx_http_upstream_module.
/// Apache: "Custom Log Formats" of mod_log_config. W3C: "Extended Log File Format", working draft
/// WD-logfile-960323, with the fields that IIS and CloudFront add.
///
/// # Examples
///
/// ```
/// use weir_core::{Field, Format};
///
/// let nginx = Format::parse("$remote_addr $request_time")?;
/// let apache = Format::parse("%h %D")?;
/// for format in [nginx, apache] {
///     assert!(format.fills(Field::Client) && format.fills(Field::RequestTime));
///     assert!(!format.fills(Field::Path));
/// }
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// Address or host name of the client.
    ///
    /// An IPv4 or IPv6 address, or a name if the server looks names up.
    Client = 0,
    /// Authenticated user, as logged.
    ///
    /// `-` if the server writes that for a request without authentication.
    User,
    /// Virtual host or `Host` header.
    Host,
    /// Request method.
    ///
    /// A token of RFC 9110, section 5.6.2, in the case in which it was sent.
    Method,
    /// Request target before `?`.
    ///
    /// Percent-encoded as it was sent, unless the server logs a decoded path, as nginx does with
    /// `$uri`.
    Path,
    /// Request target after the first `?`.
    ///
    /// Absent if the target has no `?`, empty if nothing follows it.
    Query,
    /// Protocol of the request line, such as `HTTP/1.1`.
    Protocol,
    /// Response status, as logged.
    ///
    /// Text, because servers also log `-` and `0`, for instance for a connection that was closed
    /// before a response; [`crate::status_class`] reads it.
    Status,
    /// `Referer` header.
    Referer,
    /// `User-Agent` header.
    UserAgent,
    /// The whole request line, if it is not a valid HTTP request line.
    ///
    /// Scans and TLS handshakes on a plain port look like this. Every format with a request line
    /// has the field.
    Request,
    /// Response size in bytes.
    ///
    /// The body alone or the whole response, whichever the format logs.
    Bytes,
    /// Time to serve the request.
    ///
    /// From the first byte of the request to the last of the response, in nanoseconds. Servers
    /// define it slightly differently.
    RequestTime,
    /// Time the upstream took.
    ///
    /// In nanoseconds, the sum over all upstreams that were tried.
    UpstreamTime,
    /// Time to connect to the upstream.
    ///
    /// In nanoseconds, with the TLS handshake. Absent if the request used a connection that was
    /// there. A part of [`Field::UpstreamHeaderTime`].
    UpstreamConnectTime,
    /// Time until the head of the upstream's response.
    ///
    /// In nanoseconds, from the beginning of the connection attempt, or of the request if the
    /// connection was there.
    UpstreamHeaderTime,
    /// Time that a request waited in the proxy before an upstream was contacted.
    ///
    /// In nanoseconds. Our gateway logs it; see `docs/gateway.md`.
    WaitTime,
    /// Time from the head of the response to its last byte.
    ///
    /// In nanoseconds. Our gateway logs it; see `docs/gateway.md`.
    BodyTime,
    /// When the request was logged.
    ///
    /// nginx and Apache log a request when they have answered it, but Apache's `%t` is the time at
    /// which it arrived.
    ///
    /// See [`crate::Timestamp`].
    Time,
}

/// The type of the values of a column.
///
/// The kind decides the packed form of a column ([`crate::ColumnRef`]), which clauses of a filter
/// fit it, and which aggregates it can have: values of a text are counted ([`crate::TopList`]),
/// numbers have quantiles ([`crate::Quantiles`]), times a histogram ([`crate::Histogram`]).
///
/// # Examples
///
/// ```
/// use weir_core::{ColumnKind, Field, Unit};
///
/// assert_eq!(Field::Status.kind(), ColumnKind::Text);
/// assert_eq!(Field::Bytes.kind(), ColumnKind::Number(Unit::Bytes));
/// assert_eq!(Field::Time.kind(), ColumnKind::Time);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Bytes of the log, as ids of distinct values.
    ///
    /// Any bytes: not always UTF-8, and hostile until they are escaped for an output.
    Text,
    /// Unsigned integers.
    ///
    /// Below 2^64 - 1.
    Number(Unit),
    /// Instants with the zone offset that was logged.
    Time,
}

/// The unit of a number.
///
/// All numbers of a column are in this unit, whichever unit the log has: `$request_time` in seconds
/// and `%D` in microseconds both become nanoseconds. A program that shows them chooses a readable
/// one.
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
    ///
    /// The index of a field is its discriminant and the index of its column.
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
    pub const NUMBERS: [Self; 1 + Self::DURATIONS.len()] = {
        let mut numbers = [Self::Bytes; 1 + Self::DURATIONS.len()];
        let mut at = 0;
        while at < Self::DURATIONS.len() {
            numbers[1 + at] = Self::DURATIONS[at];
            at += 1;
        }
        numbers
    };

    /// The number fields that are durations in nanoseconds, in column order.
    pub const DURATIONS: [Self; 6] = [
        Self::RequestTime,
        Self::UpstreamTime,
        Self::UpstreamConnectTime,
        Self::UpstreamHeaderTime,
        Self::WaitTime,
        Self::BodyTime,
    ];

    /// The name in JSON, in conditions and on the page.
    ///
    /// Lower case, with `_` between words, and unique. [`Self::by_name`] accepts it.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Field;
    ///
    /// assert_eq!(Field::UserAgent.name(), "user_agent");
    /// assert!(Field::ALL.iter().all(|field| Field::by_name(field.name()) == Some(*field)));
    /// ```
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
            Self::UpstreamConnectTime => "upstream_connect_time",
            Self::UpstreamHeaderTime => "upstream_header_time",
            Self::WaitTime => "wait_time",
            Self::BodyTime => "body_time",
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
    ///
    /// Returns `None` for the name of a field that only some formats have. Names are compared as
    /// they are, with their case.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "client" | "remote_addr" | "c-ip" => Self::Client,
            "user" | "remote_user" | "cs-username" => Self::User,
            "host" | "cs-host" => Self::Host,
            "method" | "request_method" | "cs-method" => Self::Method,
            "path" | "uri" | "cs-uri-stem" => Self::Path,
            "query" | "args" | "query_string" | "cs-uri-query" => Self::Query,
            "protocol" | "server_protocol" | "cs-version" => Self::Protocol,
            "status" | "status_code" | "sc-status" => Self::Status,
            "referer" | "http_referer" | "cs(Referer)" => Self::Referer,
            "user_agent" | "http_user_agent" | "cs(User-Agent)" => Self::UserAgent,
            "request" => Self::Request,
            "bytes" | "body_bytes_sent" | "sc-bytes" => Self::Bytes,
            "request_time" | "time-taken" => Self::RequestTime,
            "upstream_time" | "upstream_response_time" => Self::UpstreamTime,
            "upstream_connect_time" => Self::UpstreamConnectTime,
            "upstream_header_time" => Self::UpstreamHeaderTime,
            "wait_time" => Self::WaitTime,
            "body_time" => Self::BodyTime,
            "time" | "time_local" | "time_iso8601" => Self::Time,
            _ => return None,
        })
    }

    /// The type of the field's values.
    ///
    /// The same in every format and data set.
    pub const fn kind(self) -> ColumnKind {
        match self {
            Self::Bytes => ColumnKind::Number(Unit::Bytes),
            Self::RequestTime
            | Self::UpstreamTime
            | Self::UpstreamConnectTime
            | Self::UpstreamHeaderTime
            | Self::WaitTime
            | Self::BodyTime => ColumnKind::Number(Unit::Nanoseconds),
            Self::Time => ColumnKind::Time,
            _ => ColumnKind::Text,
        }
    }

    /// The position of a text field in [`Self::TEXT`]; `None` for the other kinds.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Field;
    ///
    /// assert_eq!(Field::Client.text_index(), Some(0));
    /// assert_eq!(Field::TEXT[Field::Path.text_index().unwrap()], Field::Path);
    /// assert_eq!(Field::Bytes.text_index(), None);
    /// ```
    pub const fn text_index(self) -> Option<usize> {
        let index = self as usize;
        if index < Self::TEXT.len() { Some(index) } else { None }
    }

    /// The position of a number field in [`Self::NUMBERS`]; `None` for the other kinds.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Field;
    ///
    /// assert_eq!(Field::Bytes.number_index(), Some(0));
    /// assert_eq!(Field::Status.number_index(), None);
    /// ```
    pub const fn number_index(self) -> Option<usize> {
        match (self as usize).checked_sub(Self::TEXT.len()) {
            Some(index) if index < Self::NUMBERS.len() => Some(index),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnKind, Field, Unit};

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
        for field in Field::ALL {
            let is_duration = field.kind() == ColumnKind::Number(Unit::Nanoseconds);
            assert_eq!(Field::DURATIONS.contains(&field), is_duration, "{field:?}");
        }
        for (index, field) in Field::ALL.into_iter().enumerate() {
            assert_eq!(field as usize, index);
            assert_eq!(field.kind() == ColumnKind::Text, field.text_index().is_some());
        }
        assert_eq!(Field::by_name("c-ip"), Some(Field::Client));
        assert_eq!(Field::by_name("no such field"), None);
    }
}
