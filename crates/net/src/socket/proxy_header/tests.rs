use std::collections::VecDeque;
use std::io;
use std::net::Ipv6Addr;
use std::pin::Pin;
use std::task::{Context, Poll};

use proptest::prelude::*;
use tokio::io::ReadBuf;

use super::parsing::SIGNATURE_V2;
use super::*;

/// A connection that delivers its bytes in pieces of these sizes, over and over.
struct Pieces {
    bytes: VecDeque<u8>,
    sizes: Vec<usize>,
    next: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = self.sizes[self.next % self.sizes.len()].max(1);
        self.next += 1;
        for _ in 0..size.min(buffer.remaining()) {
            if let Some(byte) = self.bytes.pop_front() {
                buffer.put_slice(&[byte]);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The client or the error, in words, and the bytes that were not read.
fn read(bytes: &[u8], sizes: &[usize]) -> (String, Vec<u8>) {
    let mut pieces =
        Pieces { bytes: bytes.iter().copied().collect(), sizes: sizes.to_vec(), next: 0 };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let said = match runtime.block_on(read_proxy_header(&mut pieces)) {
        Ok(Some(client)) => client.to_string(),
        Ok(None) => "the peer".to_owned(),
        Err(error) => format!("error: {error}"),
    };
    (said, pieces.bytes.into())
}

/// A header of version 2.
fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [SIGNATURE_V2, &[command, family], &length, rest].concat()
}

const V4: &[u8] = &[203, 0, 113, 9, 10, 0, 0, 1, 0x12, 0x34, 0x01, 0xbb];

fn v6() -> Vec<u8> {
    let address: Ipv6Addr = "2001:db8::7".parse().unwrap();
    [&address.octets()[..], &[0; 16], &[0x12, 0x34, 0x01, 0xbb]].concat()
}

/// Headers, each with its result in words.
fn valid() -> Vec<(Vec<u8>, &'static str)> {
    let line = |text: &str| format!("PROXY {text}\r\n").into_bytes();
    let longest = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let with_extension = [V4, &[0x02, 0x00, 0x03, b'a', b'.', b'b']].concat();
    vec![
        (line("TCP4 203.0.113.9 10.0.0.1 4660 443"), "203.0.113.9:4660"),
        (line("TCP4 0.0.0.0 0.0.0.0 0 0"), "0.0.0.0:0"),
        (line("TCP4 255.255.255.255 255.255.255.255 65535 65535"), "255.255.255.255:65535"),
        (line("TCP6 2001:db8::7 ::1 4660 443"), "[2001:db8::7]:4660"),
        (line("TCP6 2001:DB8:0:0:0:0:0:7 ::1 1 2"), "[2001:db8::7]:1"),
        (line("TCP6 ::ffff:203.0.113.9 ::1 1 2"), "[::ffff:203.0.113.9]:1"),
        (line("UNKNOWN"), "the peer"),
        (line(&format!("UNKNOWN {longest} {longest} 65535 65535")), "the peer"),
        (line("UNKNOWN whatever it is"), "the peer"),
        (binary(0x21, 0x11, V4), "203.0.113.9:4660"),
        (binary(0x21, 0x11, &with_extension), "203.0.113.9:4660"),
        (binary(0x21, 0x21, &v6()), "[2001:db8::7]:4660"),
        (binary(0x21, 0x21, &[&v6()[..], &[4, 0, 0]].concat()), "[2001:db8::7]:4660"),
        (binary(0x21, 0x11, &[V4, &[7; 9_000]].concat()), "203.0.113.9:4660"),
        (binary(0x21, 0x31, &[b'/'; 216]), "the peer"),
        (binary(0x21, 0x12, V4), "the peer"),
        (binary(0x21, 0x22, &v6()), "the peer"),
        (binary(0x21, 0x10, V4), "the peer"),
        (binary(0x21, 0x00, b""), "the peer"),
        (binary(0x21, 0x01, b"any"), "the peer"),
        (binary(0x20, 0x00, b""), "the peer"),
        (binary(0x20, 0x11, V4), "the peer"),
        (binary(0x20, 0xff, &[1; 65_535]), "the peer"),
    ]
}

#[test]
fn valid_headers_are_read_to_their_last_byte() {
    let next = b"\x16\x03\x01GET / HTTP/1.1\r\n";
    for (header, expected) in valid() {
        let stream = [&header[..], next].concat();
        for sizes in [&[usize::MAX][..], &[1], &[2], &[3, 1, 7], &[16], &[4_096]] {
            let (said, left) = read(&stream, sizes);
            assert_eq!((said.as_str(), &left[..]), (expected, &next[..]), "{header:?}");
        }
    }
}

#[test]
fn every_cut_is_an_unfinished_header() {
    for (header, _) in valid().into_iter().filter(|(header, _)| header.len() < 500) {
        for length in 0..header.len() {
            let (said, _) = read(&header[..length], &[usize::MAX]);
            assert_eq!(said, "error: the connection ended before its end", "{header:?}");
        }
    }
}

#[test]
fn others_are_refused() {
    let too_long = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 92], b"\r\n"].concat();
    assert_eq!(too_long.len(), 108);
    let missing = "there is none; does the proxy send it?";
    let parts = "its line is not a family, two addresses and two ports";
    let control = "its line has a control character";
    for (bytes, expected) in [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice(), missing),
        (b"\x16\x03\x01\x02\x00", missing),
        (b"PROXYTCP4 1.1.1.1 1.1.1.1 1 1\r\n", missing),
        (b"proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n", missing),
        (b"\r\n\r\n\0\r\nQUIT\r", missing),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n\r\n", control),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 1\t1\r\n", control),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r \n", control),
        (b"PROXY TCP4 1.1.1.1  1.1.1.1 1 1\r\n", parts),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1 \r\n", parts),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n", parts),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 01 1\r\n", parts),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 +1 1\r\n", parts),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n", parts),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 1 65536\r\n", parts),
        (b"PROXY TCP4 01.1.1.1 1.1.1.1 1 1\r\n", parts),
        (b"PROXY TCP4 1.1.1 1.1.1.1 1 1\r\n", parts),
        (b"PROXY TCP4 1.1.1.1 x 1 1\r\n", parts),
        (b"PROXY TCP4 ::1 ::1 1 1\r\n", parts),
        (b"PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n", parts),
        (b"PROXY TCP6 fe80::1%1 ::1 1 1\r\n", parts),
        (b"PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n", parts),
        (b"PROXY UNKNOWNX\r\n", parts),
        (b"PROXY TCP4 1.1.1.1 1.1.1.1 1 \xff\r\n", "its line is not ASCII"),
        (&too_long, "its line is longer than 107 bytes"),
        (&binary(0x11, 0x11, V4), "its version is not 2"),
        (&binary(0x22, 0x11, V4), "its command is neither LOCAL nor PROXY"),
        (&binary(0x21, 0x41, V4), "its address family is not known"),
        (&binary(0x21, 0x13, V4), "its transport protocol is not known"),
        (&binary(0x21, 0x11, &V4[..11]), "it is too short for its addresses"),
        (&binary(0x21, 0x21, V4), "it is too short for its addresses"),
        (&binary(0x21, 0x31, V4), "it is too short for its addresses"),
    ] {
        for sizes in [&[usize::MAX][..], &[1], &[3]] {
            let (said, _) = read(bytes, sizes);
            assert_eq!(said, format!("error: {expected}"), "{bytes:?}");
        }
    }
}

proptest! {
    /// For any bytes at any chunking, the result is the same, and no byte after the header is
    /// read.
    #[test]
    fn changed_headers_are_read_alike_in_any_pieces(
        case in 0_usize..23,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(1_usize..40, 1..5),
    ) {
        let mut bytes = valid().swap_remove(case).0;
        for (at, byte) in changes {
            let at = at.index(bytes.len().min(60));
            bytes[at] = byte;
        }
        bytes.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
        bytes.truncate(cut.index(bytes.len()) + 1);
        prop_assert_eq!(read(&bytes, &sizes).0, read(&bytes, &[usize::MAX]).0);
        let consumed = bytes.len() - read(&bytes, &sizes).1.len();
        // The bytes that were read, alone, are a whole header or have the same error.
        prop_assert_eq!(read(&bytes[..consumed], &sizes).0, read(&bytes, &sizes).0);
    }

    #[test]
    fn random_bytes_are_no_header(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        prop_assume!(bytes[0] != b'P' && bytes[0] != b'\r');
        prop_assert_eq!(read(&bytes, &[usize::MAX]).0, "error: there is none; does the proxy send it?");
    }
}
