//! The header by which a proxy names the client of a connection.

use std::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use weir_net::socket::read_proxy_header;

/// A header of version 1 or 2, with what follows it on the connection.
pub(crate) fn proxy(bytes: &[u8]) {
    let (Ok(client), length) = read(bytes) else { return };
    let header = &bytes[..length];
    // Only the header is read: what follows belongs to TLS or HTTP, and changes nothing.
    for rest in [&b""[..], b"\r\n", b"PROXY UNKNOWN\r\n", b"\x16\x03\x01"] {
        assert_eq!(read(&[header, rest].concat()), (Ok(client), length), "before {rest:?}");
    }
    // All of it is needed.
    for end in [length / 2, length - 1] {
        let (result, read) = read(&header[..end]);
        assert_eq!(read, end, "all that there is was read");
        assert!(result.is_err(), "{end} of {length} bytes are a header: {result:?}");
    }
    if let Some(client) = client {
        let family = if client.is_ipv4() { "TCP4" } else { "TCP6" };
        let (own, port) = (client.ip(), client.port());
        let line = format!("PROXY {family} {own} {own} {port} 443\r\n");
        assert_eq!(read(line.as_bytes()), (Ok(Some(client)), line.len()), "{line:?}");
    }
}

/// The client that a header names, or what is wrong with it, and the number of bytes that were
/// read.
fn read(bytes: &[u8]) -> (Result<Option<SocketAddr>, String>, usize) {
    let mut rest = bytes;
    let read = pin!(read_proxy_header(&mut rest)).poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(client) = read else { panic!("all bytes are there") };
    (client.map_err(|error| error.to_string()), bytes.len() - rest.len())
}
