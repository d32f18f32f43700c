//! Lines in no known format that hold a request: a definition is made from their form.
//!
//! ```text
//! [21/Sep/2021:18:39:46 +1000] 192.0.2.7 0.424 - "GET / HTTP/2.0" 503 3929 rt: 0.424
//!  time                        client                request      status bytes
//! ```
//!
//! Half of the lines must have the same text between their values, and one time, one request, one status
//! and one client each. Only what proves itself has a name: a time, a request line, a status after it, under
//! its key or the only number of that form, a size after the status, the only address, a user agent and the
//! referer before it, and values whose key and form are those of a variable of nginx. All others are `extra_1`
//! and so on, or have the name of their key. A line of several words without a key is a message, not a log of
//! requests.

use super::cells::{cells_of, separator_of};
use super::evidence::Evidence;
use super::parts::{LinePart, PartForm, parts_of};
use super::tail_fields::known_value;
use crate::format::compiled::Format;
use crate::format::notation;
use crate::value::{RequestLine, is_known_status, is_standard_method, parse_clf_variant};

/// The name of the formats that are made here.
const NAME: &str = "UNNAMED";
/// The most words of letters alone that are values without a key.
const WORDS_MAX: usize = 3;

/// The format of lines that have the same form, if at least half of them have it. `needs_time` is whether
/// nothing around the lines has a time.
pub(in crate::format) fn outline_format(lines: &[&[u8]], needs_time: bool) -> Option<Format> {
    let by_words = || {
        let columns = columns_of(lines, &|line| parts_of(line))?;
        definition_of(&columns, &roles_of(&columns, needs_time)?)
    };
    let by_cells = || {
        let separator = separator_of(lines)?;
        let columns = columns_of(lines, &|line| cells_of(line, separator))?;
        let roles = roles_of(&columns, needs_time)?;
        if are_chosen_by_clients(&columns, &roles, separator) {
            return None;
        }
        definition_of(&columns, &roles)
    };
    let definition = by_words().or_else(by_cells)?;
    let format = notation::compile(&definition)?.ok()?;
    let mut format = format.with_name(NAME);
    format.set_suggestion(definition);
    Some(format)
}

/// The values of the lines of one form, which is that of at least half of them.
fn columns_of<'a>(
    lines: &[&'a [u8]],
    cut: &dyn Fn(&'a [u8]) -> Option<Vec<LinePart<'a>>>,
) -> Option<Vec<Column<'a>>> {
    let mut shapes: Vec<Vec<Vec<LinePart<'_>>>> = Vec::new();
    for parts in lines.iter().filter_map(|line| cut(line)) {
        match shapes.iter_mut().find(|shape| have_same_form(&shape[0], &parts)) {
            Some(shape) => shape.push(parts),
            None => shapes.push(vec![parts]),
        }
    }
    let shape = shapes.into_iter().max_by_key(Vec::len)?;
    if shape.len() * 2 < lines.len() {
        return None;
    }
    Some((0..shape[0].len()).map(|index| Column::of(&shape, index)).collect())
}

/// Whether a value has a name though it stands behind a text that clients may write: any without quotes that
/// is no number. Such a text may hold the separator, which few servers escape, and what follows it would
/// move. A target has no tab, which servers refuse in a request line.
fn are_chosen_by_clients(columns: &[Column<'_>], roles: &[Option<Role>], separator: u8) -> bool {
    let is_number = |value: &[u8]| {
        value.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b','))
    };
    let is_free = |(column, role): &(&Column<'_>, &Option<Role>)| {
        column.part.form == PartForm::Barred
            && match role {
                Some(Role::UserAgent | Role::Referer) => true,
                Some(Role::Target) => separator != b'\t',
                Some(_) => false,
                None => !column.all_known(is_number),
            }
    };
    let cells = || columns.iter().zip(roles);
    let Some(free) = cells().position(|cell| is_free(&cell)) else { return false };
    cells().skip(free).any(|cell| cell.1.is_some() && !is_free(&cell))
}

/// Whether the texts between the values of two lines are the same.
fn have_same_form(one: &[LinePart<'_>], other: &[LinePart<'_>]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.before == other.before && one.form == other.form && one.after == other.after
        })
}

/// The values at one place of all lines.
struct Column<'a> {
    part: LinePart<'a>,
    values: Vec<&'a [u8]>,
}

impl<'a> Column<'a> {
    fn of(shape: &[Vec<LinePart<'a>>], index: usize) -> Self {
        let values = shape.iter().map(|parts| parts[index].text).collect();
        Self { part: shape[0][index], values }
    }

    fn all(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        self.values.iter().all(|value| is(value))
    }

    /// Whether the values that are there are of a kind, and some are.
    fn all_known(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        self.all(|value| is_absent(value) || is(value)) && !self.all(is_absent)
    }

    /// Whether most values are addresses, or lists of them.
    fn has_addresses(&self) -> bool {
        let are_addresses =
            |value: &[u8]| value.split(|byte| *byte == b',').all(|one| is_ip(one.trim_ascii()));
        self.values.iter().filter(|value| are_addresses(value)).count() * 2 > self.values.len()
    }

    /// Whether the values are sizes, and not further statuses, such as those of an upstream: by their key,
    /// by the unit in the text that follows them, or because one has more or less than three digits.
    fn has_sizes(&self, follows: &[u8]) -> bool {
        let is_proven = self.has_key(&["bytes", "size"])
            || self.part.key.is_none()
                && (follows.starts_with(b" bytes")
                    || !self.all(|value| is_absent(value) || value.len() == 3));
        is_proven && self.all(|value| is_absent(value) || value.iter().all(u8::is_ascii_digit))
    }

    fn has_key(&self, keys: &[&str]) -> bool {
        self.part
            .key
            .is_some_and(|key| keys.iter().any(|known| key.eq_ignore_ascii_case(known.as_bytes())))
    }
}

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Time,
    UnixTime,
    Request,
    Method,
    Target,
    Protocol,
    Status,
    Bytes,
    Client,
    UserAgent,
    Referer,
}

impl Role {
    const fn variable(self) -> &'static str {
        match self {
            Self::Time => "$time_local",
            Self::UnixTime => "$msec",
            Self::Request => "$request",
            Self::Method => "$request_method",
            Self::Target => "$request_uri",
            Self::Protocol => "$server_protocol",
            Self::Status => "$status",
            Self::Bytes => "$body_bytes_sent",
            Self::Client => "$remote_addr",
            Self::UserAgent => "$http_user_agent",
            Self::Referer => "$http_referer",
        }
    }
}

/// The definition of lines with these values in the notation of nginx.
fn definition_of(columns: &[Column<'_>], roles: &[Option<Role>]) -> Option<String> {
    let is_word = |column: &&Column<'_>| {
        column.part.form == PartForm::Bare
            && column.part.key.is_none()
            && column.all(|value| value.iter().all(u8::is_ascii_alphabetic))
    };
    let unnamed = columns.iter().zip(roles).filter(|(_, role)| role.is_none());
    if unnamed.map(|(column, _)| column).filter(is_word).count() > WORDS_MAX {
        return None;
    }
    let mut text = String::new();
    let mut unnamed = 0;
    for (column, role) in columns.iter().zip(roles) {
        text.push_str(std::str::from_utf8(column.part.before).ok()?);
        if let Some(role) = role {
            text.push_str(role.variable());
            continue;
        }
        let name = column.part.key.map(|key| String::from_utf8_lossy(key).replace(['-', '.'], "_"));
        let mut evidence = Evidence::default();
        column.values.iter().for_each(|value| evidence.add(value));
        let known = name.as_deref().and_then(|name| {
            known_value(&name.to_ascii_lowercase(), &evidence).map(|(_, variable)| variable)
        });
        unnamed += usize::from(name.is_none());
        let variable = known.unwrap_or_else(|| match name {
            Some(name) => format!("${name}"),
            None => format!("$extra_{unnamed}"),
        });
        text.push_str(&variable);
    }
    let after = std::str::from_utf8(columns.last()?.part.after).ok()?;
    text.push_str(after);
    Some(text)
}

/// The roles of columns; `None` if a time, a request, a status or a client is missing or in doubt.
fn roles_of(columns: &[Column<'_>], needs_time: bool) -> Option<Vec<Option<Role>>> {
    let mut roles = vec![None; columns.len()];
    let only = |is: &dyn Fn(&Column<'_>) -> bool| {
        let mut found = columns.iter().enumerate().filter(|(_, column)| is(column));
        let (index, _) = found.next()?;
        found.next().is_none().then_some(index)
    };
    let time = only(&|column| column.all(|value| parse_clf_variant(value).is_some()));
    let unix_time = || only(&|column| column.all(is_nginx_msec));
    match (time, time.is_none().then(unix_time).flatten()) {
        (Some(index), _) => roles[index] = Some(Role::Time),
        (None, Some(index)) => roles[index] = Some(Role::UnixTime),
        (None, None) if needs_time => return None,
        (None, None) => {}
    }
    let after_request = match only(&|column| column.part.form == PartForm::Method) {
        Some(index) => {
            roles[index] = Some(Role::Method);
            roles[index + 1] = Some(Role::Target);
            roles[index + 2] = Some(Role::Protocol);
            index + 3
        }
        None if let Some(index) = only(&|column| column.part.form == PartForm::Request) => {
            roles[index] = Some(Role::Request);
            index + 1
        }
        None if let Some((index, after)) = separate_request(columns) => {
            roles[index] = Some(Role::Method);
            roles[index + 1] = Some(Role::Target);
            if after > index + 2 {
                roles[index + 2] = Some(Role::Protocol);
            }
            after
        }
        None => {
            let index = only(&|column| {
                column.values.iter().any(|value| is_request(value))
                    && column.part.form != PartForm::Bare
            })?;
            roles[index] = Some(Role::Request);
            index + 1
        }
    };
    let is_status = |column: &Column<'_>| column.all(is_known_status);
    let keyed = only(&|column| column.has_key(&["status", "code", "status_code"]));
    let next = Some(after_request).filter(|index| columns.get(*index).is_some_and(is_status));
    let status = keyed.filter(|index| is_status(&columns[*index])).or(next);
    let status = status.or_else(|| only(&|column| is_status(column)))?;
    roles[status] = Some(Role::Status);
    let is_free = |roles: &[Option<Role>], index: usize| roles[index].is_none();
    if let Some(bytes) = columns.get(status + 1)
        && is_free(&roles, status + 1)
        && bytes.has_sizes(columns.get(status + 2).map_or(bytes.part.after, |it| it.part.before))
    {
        roles[status + 1] = Some(Role::Bytes);
    }
    const CLIENT_KEYS: [&str; 8] =
        ["client", "remote", "remote_addr", "client_ip", "clientip", "remote_ip", "ip", "addr"];
    // Of two columns of addresses, one may be a header that clients choose, or the server's address.
    let client = only(&|column| column.has_addresses())?;
    let column = &columns[client];
    if !column.all(is_ip) || !(column.part.key.is_none() || column.has_key(&CLIENT_KEYS)) {
        return None;
    }
    roles[client] = Some(Role::Client);
    let is_agent =
        |column: &Column<'_>| column.part.form != PartForm::Bare && column.all_known(is_user_agent);
    let agent = columns.iter().position(is_agent).filter(|index| is_free(&roles, *index));
    if let Some(agent) = agent {
        roles[agent] = Some(Role::UserAgent);
    }
    let are_barred = agent.is_some_and(|agent| columns[agent].part.form == PartForm::Barred);
    let is_referer = |column: &Column<'_>| {
        (column.part.form != PartForm::Bare || are_barred)
            && column.all(|value| is_absent(value) || has_scheme(value))
    };
    let before_agent = agent.and_then(|agent| agent.checked_sub(1));
    let keyed = only(&|column| column.has_key(&["referer", "referrer"]));
    if let Some(referer) = keyed.or(before_agent)
        && is_free(&roles, referer)
        && is_referer(&columns[referer])
    {
        roles[referer] = Some(Role::Referer);
    }
    Some(roles)
}

/// The column of methods that is followed by one of targets and perhaps one of versions, and the column
/// after these.
fn separate_request(columns: &[Column<'_>]) -> Option<(usize, usize)> {
    let index = columns.iter().position(|column| column.all(is_standard_method))?;
    let target = columns.get(index + 1)?;
    let is_target = |value: &[u8]| value.starts_with(b"/") || value.starts_with(b"http");
    let is_version = |column: &Column<'_>| column.all(|value| value.starts_with(b"HTTP/"));
    let after = index + 2 + usize::from(columns.get(index + 2).is_some_and(is_version));
    target.all(is_target).then_some((index, after))
}

fn is_absent(value: &[u8]) -> bool {
    matches!(value, b"-" | b"")
}

/// Whether a value is a request line with a version, and no word before its method.
fn is_request(value: &[u8]) -> bool {
    RequestLine::parse(value).is_some_and(|request| {
        let is_target =
            [&b"/"[..], b"http", b"*"].iter().any(|start| request.target.starts_with(start));
        let is_method = request.method.iter().all(u8::is_ascii_uppercase);
        is_method && (is_target || request.method == b"CONNECT") && !request.protocol.is_empty()
    })
}

/// Whether a value is nginx's `$msec`: seconds since 1970, from 2001 on, and a point and three digits.
fn is_nginx_msec(value: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    value.len() == 14 && value[10] == b'.' && digits(&value[..10]) && digits(&value[11..])
}

fn is_ip(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| text.parse::<std::net::IpAddr>().is_ok())
}

/// Whether a value begins with the name and the version of a program: `Mozilla/5.0`.
fn is_user_agent(value: &[u8]) -> bool {
    let Some(slash) = value.iter().position(|byte| *byte == b'/') else { return false };
    let (name, version) = (&value[..slash], &value[slash + 1..]);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(is_name)
        && name != b"HTTP"
        && version.first().is_some_and(u8::is_ascii_digit)
}

fn has_scheme(value: &[u8]) -> bool {
    value.starts_with(b"http://")
        || value.starts_with(b"https://")
        || value.starts_with(b"android-app://")
}
