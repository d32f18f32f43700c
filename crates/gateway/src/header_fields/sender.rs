//! The client of a request that came through proxies.
//!
//! `X-Forwarded-For` is a list to which each proxy appends the address of its peer on the right.
//! The elements that trusted proxies appended are true; the client wrote the elements to their
//! left. The rule is that of nginx's [`real_ip_recursive on`][nginx]: start with the peer, and
//! while the address is trusted, move to the next one to the left. An element that is not an
//! address ends the search.
//!
//! nginx 1.22 returns the same client for the cases of the tests, with these exceptions. It does
//! not accept an IPv6 address in brackets without a port, reads `010.0.0.9` as `10.0.0.9`, and also
//! splits at spaces. Empty elements are ignored here (RFC 9110 section 5.6.1); in nginx, an empty
//! last field ends the search, and a leading comma belongs to the first address.
//!
//! `Forwarded` (RFC 7239) is ignored. A proxy that writes one of the two fields forwards the other
//! as the client wrote it, so a gateway that trusts both trusts clients. Proxies that write only
//! `Forwarded` are rare.
//!
//! [nginx]: https://nginx.org/en/docs/http/ngx_http_realip_module.html#real_ip_recursive

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::header_fields::trusted_networks::TrustedNetworks;

pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The maximum length of a chain of trusted proxies. Real chains are shorter, and the limit keeps
/// the forwarded list short.
const PROXIES_MAX: usize = 64;

/// The client of a request, and the trusted proxies on its path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    /// The address of the client; `None` for a Unix socket.
    pub(crate) address: Option<IpAddr>,
    /// Whether the client used TLS, if a trusted proxy states it.
    pub(crate) is_tls: Option<bool>,
    /// The addresses from the client to the peer, for the backend; `None` if the peer is not a
    /// trusted proxy.
    pub(crate) forwarded_for: Option<HeaderValue>,
}

impl Sender {
    /// Determines the sender of a request from its peer and its header fields.
    pub(crate) fn resolve(
        peer: Option<IpAddr>,
        headers: &HeaderMap,
        trusted: &TrustedNetworks,
    ) -> Self {
        if trusted.is_empty() || !trusted.trusts(peer) {
            return Self { address: peer, is_tls: None, forwarded_for: None };
        }
        let mut chain: Vec<IpAddr> = peer.into_iter().collect();
        let mut address = peer;
        for element in elements_from_the_right(headers) {
            if chain.len() >= PROXIES_MAX || !trusted.trusts(address) {
                break;
            }
            let Some(next) = parse_node(element) else { break };
            chain.push(next);
            address = Some(next);
        }
        chain.reverse();
        let chain: Vec<String> = chain.iter().map(|it| it.to_canonical().to_string()).collect();
        let forwarded_for = HeaderValue::from_str(&chain.join(", ")).ok();
        let forwarded_for = forwarded_for.filter(|_| !chain.is_empty());
        Self { address, is_tls: client_is_tls(headers), forwarded_for }
    }
}

/// Iterates over the elements of all fields from right to left, without empty ones. Several fields
/// are one list (RFC 9110 section 5.3).
fn elements_from_the_right(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let fields = headers.get_all(X_FORWARDED_FOR).iter().rev();
    let elements = fields.flat_map(|field| field.as_bytes().rsplit(|byte| *byte == b','));
    elements.map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// Parses an address, with or without a port; an IPv6 address with or without brackets.
fn parse_node(element: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(element).ok()?;
    let in_brackets = || {
        let address: Ipv6Addr = text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
        Some(IpAddr::V6(address))
    };
    let with_port = || {
        let address: SocketAddr = text.parse().ok()?;
        // A zone has a meaning only on the proxy's machine.
        let has_zone = matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
        (!has_zone).then(|| address.ip())
    };
    let address: Option<IpAddr> = text.parse().ok();
    address.or_else(in_brackets).or_else(with_port).map(|address| address.to_canonical())
}

/// Whether `X-Forwarded-Proto` is `https`; `None` unless it is a single `https` or `http`.
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
    use crate::header_fields::trusted_networks::TrustedNetworks;

    fn trusted(networks: &[&str]) -> TrustedNetworks {
        networks.iter().map(|network| network.parse().expect("a network")).collect()
    }

    /// Returns the client's address, and the list that the backend receives.
    fn sender(peer: &str, fields: &[&[u8]], trusted: &TrustedNetworks) -> (String, String) {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(field).expect("a value"));
        }
        let sender = Sender::resolve(peer.parse().ok(), &headers, trusted);
        let chain = sender.forwarded_for.map(|chain| chain.to_str().expect("text").to_owned());
        let address = sender.address.map(|address| address.to_string());
        (address.unwrap_or_default(), chain.unwrap_or_default())
    }

    #[test]
    fn the_last_address_that_is_not_trusted_is_the_client() {
        let trusted = trusted(&["10.0.0.0/8", "2001:db8:1::/48", "192.0.2.1"]);
        for (peer, fields, client, chain) in [
            // The field is ignored if the peer is not trusted.
            ("203.0.113.9", &["1.2.3.4"][..], "203.0.113.9", ""),
            ("192.0.2.2", &["1.2.3.4, 10.0.0.1"], "192.0.2.2", ""),
            // One proxy, several proxies, and elements that a client wrote.
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
            // All addresses are trusted: the first is the client.
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3", "10.0.0.3, 10.0.0.2, 10.0.0.1"),
            // No addresses.
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
            // An element that is not an address ends the search.
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
            let expected = (client.to_owned(), chain.to_owned());
            assert_eq!(sender(peer, &bytes, &trusted), expected, "{peer} {fields:?}");
        }
        let expected = ("10.0.0.1".to_owned(), "10.0.0.1".to_owned());
        assert_eq!(sender("10.0.0.1", &[b"203.0.113.9\xff"], &trusted), expected);
    }

    #[test]
    fn a_long_list_is_cut() {
        let trusted = trusted(&["10.0.0.0/8"]);
        let list = vec!["10.0.0.2"; 10_000].join(", ");
        let (client, chain) = sender("10.0.0.1", &[list.as_bytes()], &trusted);
        assert_eq!((client.as_str(), chain.split(", ").count()), ("10.0.0.2", PROXIES_MAX));
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
            let sender = Sender::resolve(peer.parse().ok(), &headers, &trusted(&["10.0.0.0/8"]));
            assert_eq!(sender.is_tls, expected, "{peer} {fields:?}");
        }
    }
}
