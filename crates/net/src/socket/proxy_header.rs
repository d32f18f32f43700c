//! The header of the PROXY protocol, versions 1 and 2, in which a proxy names its client.
//!
//! The source is `proxy-protocol.txt` of HAProxy's documentation, of 2020/03/05; section numbers
//! refer to it. Exactly the bytes of the header are read, because TLS or HTTP follows. So a header
//! of version 1 that is longer than the shortest one is read in small pieces.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt};

/// The first bytes of version 1 (section 2.1) and version 2 (section 2.2).
const SIGNATURE_V1: &[u8] = b"PROXY ";
const SIGNATURE_V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The length of the shortest line of version 1: `PROXY UNKNOWN` with its line end. The fixed part
/// of version 2 is longer.
const LINE_BYTES_MIN: usize = 15;

/// The maximum length of a line of version 1 (section 2.1).
const LINE_BYTES_MAX: usize = 107;

/// The length of the fixed part of version 2.
const FIXED_BYTES: usize = 16;

/// The length of the longest address block of version 2: two paths of Unix sockets.
const ADDRESS_BYTES_MAX: usize = 216;

/// The number of bytes of a header of version 2 that are skipped by one read.
const SKIP_BYTES: usize = 4_096;

/// Reads the PROXY header at the start of a connection, and no byte after it. Returns the address
/// of the client. Returns `None` if the client is the peer: the proxy connects for itself
/// (`LOCAL`), or cannot name the client (`UNKNOWN`, `UNSPEC`, or any protocol but TCP). There is no
/// time limit.
///
/// # Errors
/// If there is no valid header, or if the connection ends or fails within it.
pub async fn read_proxy_header<S: AsyncRead + Unpin>(
    stream: &mut S,
) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let mut header = Header { bytes: [0; HEADER_BYTES_MAX], length: 0 };
    loop {
        match parse(header.read())? {
            Progress::Needs(bytes) => header.fill(stream, bytes).await?,
            Progress::Complete { client, skipped } => {
                skip(stream, skipped).await?;
                return Ok(client);
            }
        }
    }
}

/// The maximum number of bytes of a header that are kept.
const HEADER_BYTES_MAX: usize = FIXED_BYTES + ADDRESS_BYTES_MAX;

/// The part of a header that was read.
struct Header {
    bytes: [u8; HEADER_BYTES_MAX],
    length: usize,
}

impl Header {
    fn read(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Reads up to `bytes` bytes.
    async fn fill<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        bytes: usize,
    ) -> Result<(), ProxyHeaderError> {
        let end = (self.length + bytes).min(HEADER_BYTES_MAX);
        let room = self.bytes.get_mut(self.length..end).unwrap_or_default();
        match stream.read(room).await.map_err(ProxyHeaderError::Io)? {
            0 => Err(ProxyHeaderError::Closed { is_empty: self.length == 0 }),
            read => {
                self.length += read;
                Ok(())
            }
        }
    }
}

/// Reads and discards bytes.
async fn skip<S: AsyncRead + Unpin>(
    stream: &mut S,
    mut bytes: usize,
) -> Result<(), ProxyHeaderError> {
    let mut buffer = [0; SKIP_BYTES];
    while bytes > 0 {
        let room = buffer.get_mut(..bytes.min(SKIP_BYTES)).unwrap_or_default();
        match stream.read(room).await.map_err(ProxyHeaderError::Io)? {
            0 => return Err(ProxyHeaderError::Closed { is_empty: false }),
            read => bytes -= read,
        }
    }
    Ok(())
}

/// The progress of parsing a header.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// At least this number of further bytes belongs to the header.
    Needs(usize),
    /// The addresses are known. `skipped` further bytes belong to the header: extensions, for
    /// instance the server name of TLS.
    Complete { client: Option<SocketAddr>, skipped: usize },
}

/// Parses the bytes of a header so far. The caller has read no byte after its addresses.
fn parse(bytes: &[u8]) -> Result<Progress, ProxyHeaderError> {
    let begins_as = |signature: &[u8]| bytes.iter().zip(signature).all(|(byte, it)| byte == it);
    if begins_as(SIGNATURE_V1) {
        parse_line(bytes)
    } else if begins_as(SIGNATURE_V2) {
        parse_binary(bytes)
    } else {
        Err(ProxyHeaderError::Missing)
    }
}

/// Parses version 1: a line of text.
fn parse_line(bytes: &[u8]) -> Result<Progress, ProxyHeaderError> {
    if bytes.len() < LINE_BYTES_MIN {
        return Ok(Progress::Needs(LINE_BYTES_MIN - bytes.len()));
    }
    let Some(line) = bytes.strip_suffix(b"\r\n") else {
        let (line, is_ending) = bytes.strip_suffix(b"\r").map_or((bytes, false), |it| (it, true));
        if line.iter().any(u8::is_ascii_control) {
            return Err(malformed("its line has a control character"));
        }
        let needed = if is_ending { 1 } else { 2 };
        let is_too_long = bytes.len() + needed > LINE_BYTES_MAX;
        let too_long = || malformed("its line is longer than 107 bytes");
        return if is_too_long { Err(too_long()) } else { Ok(Progress::Needs(needed)) };
    };
    let line = line.strip_prefix(SIGNATURE_V1).unwrap_or_default();
    let complete = |client| Progress::Complete { client, skipped: 0 };
    if line == b"UNKNOWN" || line.starts_with(b"UNKNOWN ") {
        return Ok(complete(None));
    }
    let line = std::str::from_utf8(line).map_err(|_| malformed("its line is not ASCII"))?;
    let client = parse_addresses(line)
        .ok_or_else(|| malformed("its line is not a family, two addresses and two ports"))?;
    Ok(complete(Some(client)))
}

/// Parses `TCP4 SOURCE DESTINATION SOURCE-PORT DESTINATION-PORT`, with exactly one space between
/// two parts, and returns the source.
fn parse_addresses(line: &str) -> Option<SocketAddr> {
    let mut parts = line.split(' ');
    let mut next = || parts.next();
    let (family, source, destination) = (next()?, next()?, next()?);
    let source_port = parse_port(next()?)?;
    parse_port(next()?)?;
    let address = |text: &str| match family {
        "TCP4" => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        "TCP6" => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        _ => None,
    };
    let (source, _) = (address(source)?, address(destination)?);
    next().is_none().then(|| SocketAddr::new(source, source_port))
}

/// Parses a port. Leading zeros are refused, because the number could be meant as octal.
fn parse_port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let has_zero = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| is_plain && !has_zero)
}

/// Parses version 2: a fixed part, addresses, and extensions.
fn parse_binary(bytes: &[u8]) -> Result<Progress, ProxyHeaderError> {
    let Some((fixed, addresses)) = bytes.split_first_chunk::<FIXED_BYTES>() else {
        return Ok(Progress::Needs(FIXED_BYTES - bytes.len()));
    };
    let [.., version_and_command, family_and_protocol, high, low] = *fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if version_and_command >> 4 != 2 {
        return Err(malformed("its version is not 2"));
    }
    match version_and_command & 0x0f {
        0 => return Ok(Progress::Complete { client: None, skipped: length }),
        1 => {}
        _ => return Err(malformed("its command is neither LOCAL nor PROXY")),
    }
    let (family, protocol) = (family_and_protocol >> 4, family_and_protocol & 0x0f);
    let needed = match family {
        0 => 0,
        1 => 12,
        2 => 36,
        3 => ADDRESS_BYTES_MAX,
        _ => return Err(malformed("its address family is not known")),
    };
    if protocol > 2 {
        return Err(malformed("its transport protocol is not known"));
    }
    if length < needed {
        return Err(malformed("it is too short for its addresses"));
    }
    let is_tcp = protocol == 1;
    let needed = if is_tcp && family != 3 { needed } else { 0 };
    if addresses.len() < needed {
        return Ok(Progress::Needs(needed - addresses.len()));
    }
    let client = if is_tcp { source(family, addresses) } else { None };
    Ok(Progress::Complete { client, skipped: length - addresses.len().min(length) })
}

/// Returns the source of an address block, which has both addresses and then both ports.
fn source(family: u8, block: &[u8]) -> Option<SocketAddr> {
    let (address, ports) = match family {
        1 => {
            let (address, rest) = block.split_first_chunk::<4>()?;
            (IpAddr::from(*address), rest.get(4..)?)
        }
        2 => {
            let (address, rest) = block.split_first_chunk::<16>()?;
            (IpAddr::from(*address), rest.get(16..)?)
        }
        _ => return None,
    };
    let port = ports.first_chunk::<2>()?;
    Some(SocketAddr::new(address, u16::from_be_bytes(*port)))
}

fn malformed(fault: &'static str) -> ProxyHeaderError {
    ProxyHeaderError::Malformed(fault)
}

/// The reason for which a connection has no valid header.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyHeaderError {
    /// The peer is not allowed to send a header.
    Untrusted,
    /// The connection does not begin with a header.
    Missing,
    /// The header violates the protocol, as the text states.
    Malformed(&'static str),
    /// The connection ended within the header.
    Closed {
        /// Whether no byte was received, as from a check whether the port is open.
        is_empty: bool,
    },
    /// The header did not arrive in time.
    TimedOut,
    /// The connection broke.
    Io(io::Error),
}

impl fmt::Display for ProxyHeaderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => formatter.write_str("the peer is not trusted to send one"),
            Self::Missing => formatter.write_str("there is none; does the proxy send it?"),
            Self::Malformed(fault) => formatter.write_str(fault),
            Self::Closed { .. } => formatter.write_str("the connection ended before its end"),
            Self::TimedOut => formatter.write_str("it did not arrive in time"),
            Self::Io(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ProxyHeaderError {}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

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
}
