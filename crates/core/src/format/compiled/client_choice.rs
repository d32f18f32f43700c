//! Which address of a line is the client when a balancer or a proxy stands before the server.
//!
//! Without a choice the client is what the log has in its place: the address of the connection, or
//! the leftmost address if it is a list. A choice names the value with the addresses that the
//! proxies have added, and the networks of the proxies:
//!
//! | given | client |
//! |---|---|
//! | a field | the leftmost address of the field |
//! | networks | the rightmost address of `X-Forwarded-For` that is in none of them |
//! | both | the rightmost address of the field that is in none of the networks |
//!
//! With networks the header counts only if the connection came from one of them, since everyone can
//! send a header. Words that are no addresses, such as `unknown`, are passed over. If all addresses of
//! the list are trusted, the client is the leftmost. If the value has no address, the client is that
//! of the connection.

use super::Format;
use crate::field::Field;
use crate::format::program::Program;
use crate::record::{FieldAccessor, Record};
use crate::value::{AddressBlock, Client};

/// Which address of a line is its client.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{AddressBlock, ClientChoice, Field, Format, LineOptions, LineParser, Record};
///
/// let trusted = vec![AddressBlock::parse("10.0.0.0/8").unwrap()];
/// let options = LineOptions { client: Some(ClientChoice::new(None, trusted)), year: None, ..LineOptions::default() };
/// let format = Format::parse("$remote_addr $status $http_x_forwarded_for")?;
/// let format = format.with_line_options(&Arc::new(options));
/// let mut parser = LineParser::new(Arc::new(format));
/// let mut record = Record::new();
/// parser.parse(b"10.0.0.9 200 1.1.1.1, 203.0.113.9, 10.0.0.7", &mut record).unwrap();
/// assert_eq!(record.text(Field::Client), Some(&b"203.0.113.9"[..]));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientChoice {
    field: Option<String>,
    trusted: Vec<AddressBlock>,
}

/// The names of the field that has `X-Forwarded-For`.
const FORWARDED_FOR: [&str; 3] =
    ["http_x_forwarded_for", "proxy_add_x_forwarded_for", "x_forwarded_for"];

impl ClientChoice {
    /// A choice of a field, and the networks whose addresses are those of proxies.
    pub fn new(field: Option<String>, trusted: Vec<AddressBlock>) -> Self {
        Self { field, trusted }
    }

    /// The name of the chosen field.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The name of the value that has the client, among the names of a format's fields.
    pub(in crate::format) fn source_among<'a>(&'a self, names: &'a [String]) -> Option<&'a str> {
        match &self.field {
            Some(field) => Some(field),
            None => FORWARDED_FOR.into_iter().find(|name| names.iter().any(|one| one == name)),
        }
    }

    /// Whether an address is one of a proxy.
    pub(in crate::format) fn is_trusted(&self, address: &[u8]) -> bool {
        AddressBlock::any_contains(&self.trusted, address)
    }

    /// Whether there are networks of proxies.
    pub(in crate::format) fn has_networks(&self) -> bool {
        !self.trusted.is_empty()
    }

    /// The client of a list of addresses.
    pub(in crate::format) fn client_of<'a>(&self, list: &'a [u8]) -> Option<&'a [u8]> {
        if self.trusted.is_empty() {
            return Client::of_header(list).map(|client| client.host);
        }
        let mut last = None;
        for part in list.rsplit(|byte| *byte == b',') {
            // A proxy of these networks has written a word for an address that it hides.
            let Some(client) = Client::of_address(part.trim_ascii()) else { continue };
            last = Some(client.host);
            if !self.is_trusted(client.host) {
                break;
            }
        }
        last
    }
}

/// Where a format has the addresses that a [`ClientChoice`] chooses among.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) struct ClientSource {
    /// The value with the addresses of proxies and the client.
    pub(in crate::format) value: FieldAccessor,
    /// The address of the connection, if the line has it beside the value.
    pub(in crate::format) connection: Option<FieldAccessor>,
    /// The extra field for the address of the connection, if it is not the client.
    pub(in crate::format) peer: usize,
}

/// The extra field for the address of the connection, if it is not the client.
const PEER: &str = "peer";

impl ClientSource {
    /// The source of a choice in a format, which gets the fields that it needs. `None` if the format
    /// lacks the chosen field.
    pub(in crate::format) fn of(choice: &ClientChoice, format: &mut Format) -> Option<Self> {
        let value = format.accessor(choice.source_among(format.extra_fields())?).ok()?;
        let has_own = format.fills(Field::Client) && !format.program().has_client_of_header();
        let before = format.extra_fields().iter().position(|name| name == PEER);
        // A line with the header before the client has the address of the connection beside it.
        let is_after_header = format.head().is_some_and(|head| head.forwarded.is_some());
        let connection = match before.filter(|_| is_after_header) {
            Some(peer) => Some(FieldAccessor::Extra(peer)),
            None => has_own.then_some(FieldAccessor::Field(Field::Client)),
        };
        let peer = before.unwrap_or_else(|| format.add_extra_field(PEER));
        format.add_field(Field::Client);
        Some(Self { value, connection, peer })
    }

    /// Sets the client of a record by a choice.
    pub(in crate::format) fn apply(&self, choice: &ClientChoice, record: &mut Record<'_>) {
        let connection = self.connection.and_then(|it| it.text(record));
        let is_proxy = connection.is_none_or(|address| choice.is_trusted(address));
        let client = self.value.text(record).and_then(|value| choice.client_of(value));
        let client = client.filter(|_| is_proxy || !choice.has_networks());
        let Some(client) = client.or(connection) else { return };
        record.put_text(Field::Client, Some(client));
        let peer = connection.filter(|connection| *connection != client);
        record.put_extra(self.peer, peer);
    }
}

impl Format {
    /// The name of the field that the client is taken from, if it is not the log's own place for it.
    pub fn client_field(&self) -> Option<String> {
        if let Program::Stored(program) = self.program() {
            return program.client_field.clone();
        }
        let is_value = |accessor: FieldAccessor| {
            self.accessors().into_iter().find(|(_, one)| *one == accessor).map(|(name, _)| name)
        };
        match self.client_rule() {
            Some((source, _)) => is_value(source.value),
            None => {
                let forwarded = self.head().and_then(|head| head.forwarded);
                let header = forwarded.map(|fields| fields.header);
                let header = header.or_else(|| self.program().client_header());
                header.and_then(|index| self.extra_fields().get(index).cloned())
            }
        }
    }
}
