//! Who has sent a request, if it came through proxies.
//!
//! `X-Forwarded-For` is a list to which each proxy adds the address that it sees, on the right. What the
//! trusted proxies added is true, what stands to its left was written by the client. The rule is that of
//! nginx's [`real_ip_recursive on`][nginx]: beginning with the peer, as long as an address is trusted, the
//! next one to the left takes its place; an element that is not an address ends the search. nginx 1.22 answers
//! alike for the cases of the tests, with these exceptions: it does not take an IPv6 address in brackets without
//! a port, it takes `010.0.0.9` for `10.0.0.9`, and for it a space separates elements too. Empty elements are
//! ignored here (RFC 9110 section 5.6.1); for nginx, an empty last field ends the search, and a comma at the
//! beginning belongs to the first address.
//!
//! `Forwarded` (RFC 7239) is not looked at. A proxy that writes one of both fields passes on what its client
//! wrote into the other, so a gateway that believes both believes clients; and proxies that write
//! `Forwarded` alone are rare.
//!
//! [nginx]: https://nginx.org/en/docs/http/ngx_http_realip_module.html#real_ip_recursive

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::trusted_networks::TrustedNetworks;

pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Proxies in a row that are believed. Nobody has as many, and what is passed on stays short.
const PROXIES_MAX: usize = 64;

/// Who has sent a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    /// The address of the client; `None` for a Unix socket.
    pub(crate) address: Option<IpAddr>,
    /// Whether the client came over TLS, if a trusted proxy tells.
    pub(crate) is_tls: Option<bool>,
    /// The addresses from the client's to that of the peer, as the backend gets them; nothing if there is no
    /// proxy that is trusted.
    pub(crate) forwarded_for: Option<HeaderValue>,
}

impl Sender {
    /// The sender of a request with these header fields, which came from this peer.
    pub(crate) fn of(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &TrustedNetworks) -> Self {
        if trusted.is_empty() || !trusted.trusts(peer) {
            return Self { address: peer, is_tls: None, forwarded_for: None };
        }
        let mut way: Vec<IpAddr> = peer.into_iter().collect();
        let mut address = peer;
        for element in elements_from_the_right(headers) {
            if way.len() >= PROXIES_MAX || !trusted.trusts(address) {
                break;
            }
            let Some(next) = parse_node(element) else { break };
            way.push(next);
            address = Some(next);
        }
        way.reverse();
        let way: Vec<String> = way.iter().map(|it| it.to_canonical().to_string()).collect();
        let forwarded_for = HeaderValue::from_str(&way.join(", ")).ok();
        let forwarded_for = forwarded_for.filter(|_| !way.is_empty());
        Self { address, is_tls: client_is_tls(headers), forwarded_for }
    }
}

/// The elements of all fields, which are one list (RFC 9110 section 5.3), without empty ones.
fn elements_from_the_right(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let fields = headers.get_all(X_FORWARDED_FOR).iter().rev();
    let elements = fields.flat_map(|field| field.as_bytes().rsplit(|byte| *byte == b','));
    elements.map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// An address, with or without a port; an IPv6 address with or without brackets.
fn parse_node(element: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(element).ok()?;
    let in_brackets = || {
        let address: Ipv6Addr = text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
        Some(IpAddr::V6(address))
    };
    let with_port = || {
        let address: SocketAddr = text.parse().ok()?;
        // A zone belongs to the machine of the proxy.
        let has_zone = matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
        (!has_zone).then(|| address.ip())
    };
    let address: Option<IpAddr> = text.parse().ok();
    address.or_else(in_brackets).or_else(with_port).map(|address| address.to_canonical())
}

/// What `X-Forwarded-Proto` says, if there is one with one of two values.
fn client_is_tls(headers: &HeaderMap) -> Option<bool> {
    let mut fields = headers.get_all(X_FORWARDED_PROTO).iter();
    let (Some(scheme), None) = (fields.next(), fields.next()) else { return None };
    [("https", true), ("http", false)]
        .into_iter()
        .find(|(name, _)| scheme.as_bytes().eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, is_tls)| is_tls)
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, HeaderValue, PROXIES_MAX, Sender, X_FORWARDED_FOR, X_FORWARDED_PROTO};
    use crate::trusted_networks::TrustedNetworks;

    fn trusted(networks: &[&str]) -> TrustedNetworks {
        networks.iter().map(|network| network.parse().expect("a network")).collect()
    }

    /// The client's address, and what the backend gets.
    fn sender(peer: &str, fields: &[&[u8]], trusted: &TrustedNetworks) -> (String, String) {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(field).expect("a value"));
        }
        let sender = Sender::of(peer.parse().ok(), &headers, trusted);
        let way = sender.forwarded_for.map(|way| way.to_str().expect("text").to_owned());
        let address = sender.address.map(|address| address.to_string());
        (address.unwrap_or_default(), way.unwrap_or_default())
    }

    #[test]
    fn the_last_address_that_is_not_trusted_is_the_client() {
        let trusted = trusted(&["10.0.0.0/8", "2001:db8:1::/48", "192.0.2.1"]);
        for (peer, fields, client, way) in [
            // From others it counts for nothing.
            ("203.0.113.9", &["1.2.3.4"][..], "203.0.113.9", ""),
            ("192.0.2.2", &["1.2.3.4, 10.0.0.1"], "192.0.2.2", ""),
            // One proxy, several, and what a client wrote before them.
            ("10.0.0.1", &["203.0.113.9"], "203.0.113.9", "203.0.113.9, 10.0.0.1"),
            ("192.0.2.1", &["203.0.113.9"], "203.0.113.9", "203.0.113.9, 192.0.2.1"),
            ("10.0.0.1", &["6.6.6.6, 203.0.113.9"], "203.0.113.9", "203.0.113.9, 10.0.0.1"),
            (
                "10.0.0.1",
                &["10.0.0.7, 203.0.113.9, 10.0.0.2"],
                "203.0.113.9",
                "203.0.113.9, 10.0.0.2, 10.0.0.1",
            ),
            // Several fields are one list.
            ("10.0.0.1", &["6.6.6.6", "203.0.113.9"], "203.0.113.9", "203.0.113.9, 10.0.0.1"),
            (
                "10.0.0.1",
                &["203.0.113.9", "10.0.0.2"],
                "203.0.113.9",
                "203.0.113.9, 10.0.0.2, 10.0.0.1",
            ),
            // All are trusted: the first.
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3", "10.0.0.3, 10.0.0.2, 10.0.0.1"),
            // Nothing there.
            ("10.0.0.1", &[], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["", " , ,"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9,,"], "203.0.113.9", "203.0.113.9, 10.0.0.1"),
            // Ports, brackets, mapped addresses.
            ("10.0.0.1", &["203.0.113.9:4711"], "203.0.113.9", "203.0.113.9, 10.0.0.1"),
            ("10.0.0.1", &["[2001:db8::7]:4711"], "2001:db8::7", "2001:db8::7, 10.0.0.1"),
            ("10.0.0.1", &["[2001:db8::7]"], "2001:db8::7", "2001:db8::7, 10.0.0.1"),
            ("10.0.0.1", &["2001:DB8::7"], "2001:db8::7", "2001:db8::7, 10.0.0.1"),
            ("10.0.0.1", &["::ffff:203.0.113.9"], "203.0.113.9", "203.0.113.9, 10.0.0.1"),
            ("::ffff:10.0.0.1", &["203.0.113.9"], "203.0.113.9", "203.0.113.9, 10.0.0.1"),
            (
                "10.0.0.1",
                &["203.0.113.9, [::ffff:10.0.0.2]:1"],
                "203.0.113.9",
                "203.0.113.9, 10.0.0.2, 10.0.0.1",
            ),
            ("2001:db8:1::1", &["203.0.113.9"], "203.0.113.9", "203.0.113.9, 2001:db8:1::1"),
            // What is not an address ends the search.
            ("10.0.0.1", &["unknown"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["_hidden"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["6.6.6.6, unknown, 10.0.0.2"], "10.0.0.2", "10.0.0.2, 10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9.1"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["010.0.0.9"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9:99999"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9:"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["[203.0.113.9]"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["fe80::1%1"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["[fe80::1%1]:80"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["6.6.6.6 203.0.113.9"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["\"203.0.113.9\""], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["for=203.0.113.9"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", &["localhost"], "10.0.0.1", "10.0.0.1"),
        ] {
            let bytes: Vec<&[u8]> = fields.iter().map(|field| field.as_bytes()).collect();
            let expected = (client.to_owned(), way.to_owned());
            assert_eq!(sender(peer, &bytes, &trusted), expected, "{peer} {fields:?}");
        }
        let expected = ("10.0.0.1".to_owned(), "10.0.0.1".to_owned());
        assert_eq!(sender("10.0.0.1", &[b"203.0.113.9\xff"], &trusted), expected);
    }

    #[test]
    fn a_long_list_is_cut() {
        let trusted = trusted(&["10.0.0.0/8"]);
        let list = vec!["10.0.0.2"; 10_000].join(", ");
        let (client, way) = sender("10.0.0.1", &[list.as_bytes()], &trusted);
        assert_eq!((client.as_str(), way.split(", ").count()), ("10.0.0.2", PROXIES_MAX));
        let list = format!("{}, 203.0.113.9", vec!["6.6.6.6"; 10_000].join(", "));
        let expected = ("203.0.113.9".to_owned(), "203.0.113.9, 10.0.0.1".to_owned());
        assert_eq!(sender("10.0.0.1", &[list.as_bytes()], &trusted), expected);
    }

    #[test]
    fn unix_sockets_are_trusted_by_name() {
        let field: &[&[u8]] = &[b"203.0.113.9"];
        let nobody = (String::new(), String::new());
        assert_eq!(sender("", field, &trusted(&["0.0.0.0/0", "::/0"])), nobody);
        let client = ("203.0.113.9".to_owned(), "203.0.113.9".to_owned());
        assert_eq!(sender("", field, &trusted(&["unix:"])), client);
        assert_eq!(sender("", &[], &trusted(&["unix:"])), nobody);
    }

    #[test]
    fn the_scheme_of_the_client_is_one_of_two() {
        for (peer, fields, expected) in [
            ("10.0.0.1", &["https"][..], Some(true)),
            ("10.0.0.1", &["HTTP"], Some(false)),
            ("10.0.0.1", &["https, http"], None),
            ("10.0.0.1", &["https", "http"], None),
            ("10.0.0.1", &["wss"], None),
            ("10.0.0.1", &[], None),
            ("203.0.113.9", &["https"], None),
        ] {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(X_FORWARDED_PROTO, HeaderValue::from_static(field));
            }
            let sender = Sender::of(peer.parse().ok(), &headers, &trusted(&["10.0.0.0/8"]));
            assert_eq!(sender.is_tls, expected, "{peer} {fields:?}");
        }
    }
}
