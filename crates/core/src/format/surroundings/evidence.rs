//! What the values of a field look like over several lines.
//!
//! `-` and the empty text stand for no value, and are evidence of nothing.

use std::collections::HashSet;

use crate::format::program::sink::is_address;
use crate::value::{
    is_host, is_standard_method, parse_decimal_ns, parse_go_duration_ns, split_port,
};

/// The name of the field that has the header `X-Forwarded-For`.
pub(in crate::format) const FORWARDED_FOR: &str = "http_x_forwarded_for";

/// The most distinct values that are remembered.
const DISTINCT_MAX: usize = 256;

/// The forms of some values.
#[derive(Debug, Default)]
pub(in crate::format) struct Evidence {
    values: u64,
    addresses: u64,
    /// Lists whose addresses all have a port, as those of `X-Forwarded-For` have behind some
    /// balancers, and those of upstreams behind nginx.
    with_ports: u64,
    /// The distinct ones of these lists.
    lists: HashSet<Vec<u8>>,
    /// The distinct ports in them. Those of clients vary; those of upstreams are few.
    ports: HashSet<Vec<u8>>,
    /// Values that are `unknown`: addresses that a proxy hides.
    hidden: u64,
    hosts: u64,
    numbers: u64,
    nginx_seconds: u64,
    nginx_times: u64,
    with_units: u64,
    cache_states: u64,
}

impl Evidence {
    /// Adds a value.
    pub(in crate::format) fn add(&mut self, value: &[u8]) {
        if matches!(value, b"-" | b"") {
            return;
        }
        let count = |is: bool| u64::from(is);
        self.values += 1;
        self.addresses += count(is_address_list(value));
        self.hidden += count(value == b"unknown");
        if let Some(port) = port_of_public_list(value) {
            self.with_ports += 1;
            remember(&mut self.ports, port);
            remember(&mut self.lists, value);
        }
        self.hosts += count(is_virtual_host(value) && !is_address(value));
        self.numbers += count(parse_decimal_ns(value, 1).is_some());
        self.nginx_seconds += count(is_nginx_seconds(value));
        self.nginx_times += count(is_nginx_times(value));
        let has_unit = value.last().is_some_and(u8::is_ascii_alphabetic);
        self.with_units += count(has_unit && parse_go_duration_ns(value).is_some());
        self.cache_states += count(is_cache_state(value));
    }

    /// Whether no line has a value, or only one that a proxy hides.
    pub(super) fn is_empty(&self) -> bool {
        self.values == self.hidden
    }

    /// Whether most values are addresses, as in `X-Forwarded-For`.
    pub(in crate::format) fn are_forwarded_addresses(&self) -> bool {
        let have_ports_of_clients = self.ports.len() > 1 && self.ports.len() * 2 > self.lists.len();
        let with_ports = if have_ports_of_clients { self.with_ports } else { 0 };
        (self.addresses + with_ports) * 2 > self.values - self.hidden
    }

    pub(super) fn are_hosts(&self) -> bool {
        self.hosts * 2 > self.values
    }

    pub(super) fn are_numbers(&self) -> bool {
        self.all(self.numbers)
    }

    /// Whether all values have the form of nginx's `$request_time`.
    pub(super) fn are_nginx_seconds(&self) -> bool {
        self.all(self.nginx_seconds)
    }

    /// Whether all values have the form of nginx's times of upstreams.
    pub(super) fn are_nginx_times(&self) -> bool {
        self.all(self.nginx_times)
    }

    /// Whether all values are durations with a unit.
    pub(super) fn have_units(&self) -> bool {
        self.all(self.with_units)
    }

    /// Whether a value is a number without a unit.
    pub(in crate::format) fn has_bare_numbers(&self) -> bool {
        self.numbers > 0
    }

    pub(super) fn are_cache_states(&self) -> bool {
        self.all(self.cache_states)
    }

    /// Whether there are values of another form than addresses, and no fewer than addresses.
    pub(in crate::format) fn contradicts_addresses(&self) -> bool {
        !self.is_empty() && !self.are_forwarded_addresses()
    }

    fn all(&self, some: u64) -> bool {
        some > 0 && some == self.values
    }
}

/// What stands at the start of a line, before the client: a virtual host, or the addresses of
/// `X-Forwarded-For`, behind which the client is a proxy.
#[derive(Clone, Debug, Default)]
pub(in crate::format) struct FirstValues {
    values: u64,
    addresses: u64,
    others: u64,
    distinct: HashSet<Vec<u8>>,
    clients: HashSet<Vec<u8>>,
    /// Whether a client of the public network was seen after an address.
    has_public_client: bool,
    /// Whether a value is an address of the public network, or a list.
    has_public_value: bool,
    /// Whether a value is a list, which no server is named by.
    has_list: bool,
}

impl FirstValues {
    /// Adds the first value of a line, without a port, and its client.
    pub(in crate::format) fn add(&mut self, value: &[u8], client: &[u8]) {
        if matches!(value, b"-" | b"unknown") {
            return;
        }
        self.values += 1;
        if is_address_list(value) {
            self.addresses += 1;
            self.has_public_client |= !is_private(client);
            self.has_public_value |= !is_private(value);
            self.has_list |= value.contains(&b',');
            remember(&mut self.distinct, value);
            remember(&mut self.clients, client);
        } else {
            self.others += u64::from(!is_virtual_host(value));
        }
    }

    /// Whether the values are addresses of clients, as a balancer writes them in front of its own.
    /// The addresses of a server are few. Strangers can send any address as the host of a request, so
    /// nearly all values have to be addresses, and behind clients of the public network far more of
    /// them than clients.
    pub(in crate::format) fn are_forwarded(&self) -> bool {
        let (distinct, clients) = (self.distinct.len(), self.clients.len());
        let are_more = match self.has_public_client {
            true => distinct >= 2 * clients + 2,
            false => distinct > clients || distinct == clients && self.has_public_value,
        };
        self.addresses * 10 >= self.values * 9 && (distinct >= 2 || self.has_list) && are_more
    }

    /// Whether most values are no virtual hosts.
    pub(in crate::format) fn contradict_hosts(&self) -> bool {
        self.are_forwarded() || self.others * 2 > self.values
    }
}

fn remember(values: &mut HashSet<Vec<u8>>, value: &[u8]) {
    if values.len() < DISTINCT_MAX && !values.contains(value) {
        values.insert(value.to_vec());
    }
}

/// Whether the value is an address, or a list of them, of which some have no port.
fn is_address_list(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let is_known = |part: &[u8]| {
        matches!(part, b"-" | b"unknown") || is_address(part) || port_of(part).is_some()
    };
    parts.clone().any(is_address) && parts.all(is_known)
}

/// The port of the first address of a list whose addresses all have ports, if it is one that a
/// client may have, and an address of the public network is in the list.
fn port_of_public_list(value: &[u8]) -> Option<&[u8]> {
    let mut parts = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    // From 10,000 on: most servers listen on lower ports.
    let port = parts.clone().find_map(port_of).filter(|port| port.len() == 5)?;
    let is_public = |part: &[u8]| port_of(part).is_some() && !is_private(split_port(part).0);
    let is_known = |part: &[u8]| matches!(part, b"-" | b"unknown") || port_of(part).is_some();
    (parts.clone().all(is_known) && parts.any(is_public)).then_some(port)
}

/// The port after an address.
pub(super) fn port_of(value: &[u8]) -> Option<&[u8]> {
    let (host, port) = split_port(value);
    port.filter(|_| is_address(host))
}

/// Whether an address is one of a private network, or of the machine itself.
fn is_private(value: &[u8]) -> bool {
    let address = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    match address {
        Some(std::net::IpAddr::V4(address)) => address.is_private() || address.is_loopback(),
        Some(std::net::IpAddr::V6(address)) => {
            address.is_unique_local() || address.is_loopback() || address.is_unicast_link_local()
        }
        None => false,
    }
}

/// Whether a value can be a virtual host: a name or an address, but no word of another kind, such
/// as a method or the hexadecimal digits of an identifier.
pub(in crate::format) fn is_virtual_host(value: &[u8]) -> bool {
    let is_identifier = value.len() >= 8
        && value.iter().all(u8::is_ascii_hexdigit)
        && value.iter().any(u8::is_ascii_digit);
    let name = value.strip_prefix(b"*.").unwrap_or(value);
    is_host(name) && !is_identifier && !is_standard_method(value)
}

/// Whether a value is `1.234`: nginx writes three digits after the point.
fn is_nginx_seconds(value: &[u8]) -> bool {
    let point = value.iter().position(|byte| *byte == b'.');
    point.is_some_and(|point| {
        let (whole, fraction) = (&value[..point], &value[point + 1..]);
        !whole.is_empty()
            && fraction.len() == 3
            && whole.iter().chain(fraction).all(u8::is_ascii_digit)
    })
}

/// Whether a value is a list of such times, as nginx writes it for several upstreams.
fn is_nginx_times(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| matches!(byte, b',' | b':')).map(<[u8]>::trim_ascii);
    parts.clone().any(is_nginx_seconds) && parts.all(|part| part == b"-" || is_nginx_seconds(part))
}

/// Whether a value is one of nginx's `$upstream_cache_status`.
fn is_cache_state(value: &[u8]) -> bool {
    const STATES: [&[u8]; 8] =
        [b"HIT", b"MISS", b"BYPASS", b"EXPIRED", b"STALE", b"UPDATING", b"REVALIDATED", b"SCARCE"];
    STATES.contains(&value)
}
