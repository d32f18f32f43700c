//! The client's address in the bytes of a header.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::ProxyHeaderError;

/// The first bytes of version 1 (section 2.1) and version 2 (section 2.2).
const SIGNATURE_V1: &[u8] = b"PROXY ";
pub(super) const SIGNATURE_V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The length of the shortest line of version 1: `PROXY UNKNOWN` with its line end. The fixed part
/// of version 2 is longer.
const LINE_BYTES_MIN: usize = 15;

/// The maximum length of a line of version 1 (section 2.1).
const LINE_BYTES_MAX: usize = 107;

/// The length of the fixed part of version 2.
const FIXED_BYTES: usize = 16;

/// The length of the longest address block of version 2: two paths of Unix sockets.
const ADDRESS_BYTES_MAX: usize = 216;

/// The maximum number of bytes of a header that are kept.
pub(super) const HEADER_BYTES_MAX: usize = FIXED_BYTES + ADDRESS_BYTES_MAX;

/// The progress of parsing a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// At least this number of further bytes belongs to the header.
    Needs(usize),
    /// The addresses are known. `skipped` further bytes belong to the header: extensions, for
    /// instance the server name of TLS.
    Complete { client: Option<SocketAddr>, skipped: usize },
}

/// Parses the bytes of a header so far. The caller has read no byte after its addresses.
pub(super) fn parse(bytes: &[u8]) -> Result<Progress, ProxyHeaderError> {
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
