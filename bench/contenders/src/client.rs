//! The client. It masks all frames before it starts to send, so that sending takes only write(2).

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::payload::{Checksum, FRAME_BYTES, PAYLOADS, Received, payloads};

/// The key of every frame: four distinct bytes, none of them zero.
const MASK: [u8; 4] = [0x1b, 0xad, 0xca, 0xfe];
/// First bytes of frames (RFC 6455 section 5.2): a whole binary message, the beginning, the
/// middle and the end of one.
const WHOLE: u8 = 0x82;
const FIRST: u8 = 0x02;
const MIDDLE: u8 = 0x00;
const LAST: u8 = 0x80;
const CLOSE: u8 = 0x88;

/// How the client opens the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// No handshake: the server uses the bare socket.
    None,
    /// The opening handshake of RFC 6455.
    Http,
}

/// Sends frames of [`FRAME_BYTES`] until at least `bytes` of payload are sent, closes, and returns
/// what the server should have received. Each frame is a message of its own; with `rounds`, eight
/// times as many frames make up one message.
pub fn send(
    address: SocketAddr,
    handshake: Handshake,
    bytes: u64,
    rounds: Option<u64>,
) -> io::Result<Received> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    if handshake == Handshake::Http {
        greet(&mut stream)?;
    }
    let payloads = payloads();
    let round_bytes = (PAYLOADS * FRAME_BYTES) as u64;
    let checksum = match rounds {
        None => send_whole(&mut stream, &payloads, bytes.div_ceil(round_bytes))?,
        Some(rounds) => {
            let messages = bytes.div_ceil(round_bytes * rounds.max(2));
            send_fragments(&mut stream, &payloads, messages, rounds.max(2))?
        }
    };
    stream.write_all(&frame(CLOSE, &1000_u16.to_be_bytes()))?;
    stream.shutdown(Shutdown::Write)?;
    // The server may answer the close frame; it ends the connection.
    let _rest = io::copy(&mut stream, &mut io::sink());
    Ok(checksum.received(Duration::ZERO))
}

fn send_whole(stream: &mut TcpStream, payloads: &[Vec<u8>], rounds: u64) -> io::Result<Checksum> {
    let frames = round(payloads, [WHOLE; PAYLOADS]);
    let mut checksum = Checksum::default();
    for _ in 0..rounds {
        stream.write_all(&frames)?;
        payloads.iter().for_each(|payload| checksum.add(payload, true));
    }
    Ok(checksum)
}

fn send_fragments(
    stream: &mut TcpStream,
    payloads: &[Vec<u8>],
    messages: u64,
    rounds: u64,
) -> io::Result<Checksum> {
    let (mut first, mut last) = ([MIDDLE; PAYLOADS], [MIDDLE; PAYLOADS]);
    (first[0], last[PAYLOADS - 1]) = (FIRST, LAST);
    let [first, middle, last] =
        [first, [MIDDLE; PAYLOADS], last].map(|opcodes| round(payloads, opcodes));
    let mut checksum = Checksum::default();
    for number in 0..messages * rounds {
        let is_last = number % rounds == rounds - 1;
        stream.write_all(match number % rounds {
            0 => &first,
            _ if is_last => &last,
            _ => &middle,
        })?;
        for (index, payload) in payloads.iter().enumerate() {
            checksum.add(payload, is_last && index == PAYLOADS - 1);
        }
    }
    Ok(checksum)
}

/// A frame for each payload.
fn round(payloads: &[Vec<u8>], first_bytes: [u8; PAYLOADS]) -> Vec<u8> {
    let framed = payloads.iter().zip(first_bytes);
    framed.flat_map(|(payload, first)| frame(first, payload)).collect()
}

fn greet(stream: &mut TcpStream) -> io::Result<()> {
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
                   Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    if head.starts_with(b"HTTP/1.1 101 ") {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&head).into_owned()))
}

/// One masked frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        short @ ..126 => frame.push(0x80 | short as u8),
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
    frame
}
