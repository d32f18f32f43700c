//! A client that sends and receives single frames of HTTP/2 (RFC 9113), valid or not.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;

use crate::common::soon;
use crate::transports::connect_with;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The windows of the connection and of each stream before any update.
pub(crate) const WINDOW_BYTES: usize = 65_535;

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The error code of a reset.
    pub(crate) fn code(&self) -> u32 {
        u32::from_be_bytes(self.payload[self.payload.len() - 4..].try_into().unwrap())
    }

    /// The error code of a `GOAWAY`.
    pub(crate) fn goaway_code(&self) -> u32 {
        u32::from_be_bytes(self.payload[4..8].try_into().unwrap())
    }

    /// Returns the status of a response, its first field (RFC 7541 section 6, appendices A and B).
    pub(crate) fn status(&self) -> u16 {
        // The dynamic table has a size of 0, and the first block may begin with an update to it.
        let block = self.payload.strip_prefix(&[0x20]).unwrap_or(&self.payload);
        match *block {
            [0x88, ..] => 200,
            [0x8c, ..] => 400,
            [0x8d, ..] => 404,
            [0x08 | 0x48, length, ..] if length & 0x80 != 0 => {
                let bytes = &block[2..2 + usize::from(length & 0x7f)];
                let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
                let mut rest = &bits[..];
                (0..3).fold(0, |status, _| {
                    let short = u16::from_str_radix(&rest[..5], 2).unwrap();
                    let long = || u16::from_str_radix(&rest[..6], 2).unwrap();
                    let (digit, bits) = if short < 3 { (short, 5) } else { (long() - 22, 6) };
                    rest = &rest[bits..];
                    10 * status + digit
                })
            }
            _ => panic!("no status: {:?}", self.payload),
        }
    }
}

/// A connection over TLS on which HTTP/2 was chosen.
#[derive(Debug)]
pub(crate) struct Http2Client {
    pub(crate) stream: TlsStream<TcpStream>,
}

impl Http2Client {
    /// Connects, and sends nothing.
    pub(crate) async fn connect_silent(address: SocketAddr) -> Self {
        let client = Self { stream: soon(open(address)).await.unwrap() };
        assert!(client.has_chosen_http2());
        client
    }

    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let mut client = Self::connect_silent(address).await;
        client.begin().await;
        client
    }

    /// Connects to a server at its limit of connections, as soon as it has room. Until then it
    /// refuses connections without a choice of HTTP/2, perhaps within their handshake.
    pub(crate) async fn connect_to_full(address: SocketAddr) -> Self {
        let accepted = async {
            loop {
                let client = open(address).await.map(|stream| Self { stream });
                if let Some(client) = client.ok().filter(Self::has_chosen_http2) {
                    return client;
                }
            }
        };
        let mut client = soon(accepted).await;
        client.begin().await;
        client
    }

    fn has_chosen_http2(&self) -> bool {
        self.stream.get_ref().1.alpn_protocol() == Some(&b"h2"[..])
    }

    /// Sends the first bytes of a client.
    async fn begin(&mut self) {
        self.stream.write_all(PREFACE).await.unwrap();
        let no_header_table = [0, 1, 0, 0, 0, 0];
        self.send(SETTINGS, 0, 0, &no_header_table).await;
    }

    pub(crate) async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.try_send(kind, flags, stream, payload).await.unwrap();
    }

    pub(crate) async fn try_send(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> std::io::Result<()> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.stream.write_all(&frame).await?;
        self.stream.flush().await
    }

    /// Sends a request without a body.
    pub(crate) async fn get(&mut self, stream: u32, path: &str) {
        let block = header_block("GET", path, &[]);
        self.send(HEADERS, END_HEADERS | END_STREAM, stream, &block).await;
    }

    /// Reads the next frame. Returns `None` if the server has closed the connection.
    pub(crate) async fn receive(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        soon(self.stream.read_exact(&mut head)).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        soon(self.stream.read_exact(&mut payload)).await.ok()?;
        Some(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload })
    }

    /// Reads the next frame of this kind and stream. Skips others.
    pub(crate) async fn receive_of(&mut self, kind: u8, stream: u32) -> Frame {
        loop {
            let frame = self.receive().await.expect("the connection is open");
            if frame.kind == kind
                && frame.stream == stream
                && (kind != SETTINGS || frame.flags == 0)
            {
                return frame;
            }
        }
    }

    /// Reads to the end of a response, and keeps the windows open.
    pub(crate) async fn read_body(&mut self, stream: u32) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let frame = self.receive().await.expect("the connection is open");
            if frame.stream != stream || ![DATA, HEADERS].contains(&frame.kind) {
                assert!(![GOAWAY, RST_STREAM].contains(&frame.kind), "{frame:?}");
                continue;
            }
            if frame.kind == DATA {
                body.extend(&frame.payload);
                self.open_windows(stream, frame.payload.len()).await;
            }
            if frame.flags & END_STREAM != 0 {
                return body;
            }
        }
    }

    pub(crate) async fn open_windows(&mut self, stream: u32, bytes: usize) {
        if bytes > 0 {
            for id in [0, stream] {
                // A stream that has ended accepts no window update.
                let _ = self.try_send(WINDOW_UPDATE, 0, id, &(bytes as u32).to_be_bytes()).await;
            }
        }
    }

    /// Reads everything up to the end of the connection.
    pub(crate) async fn read_to_end(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.receive().await {
            frames.push(frame);
        }
        frames
    }
}

/// Connects, and offers HTTP/2 and HTTP/1.1.
async fn open(address: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
    let protocols: &[&[u8]] = &[b"h2", b"http/1.1"];
    connect_with(default_provider(), "cert.pem", &address.to_string(), protocols).await
}

/// The fields of a request, each a literal without indexing (RFC 7541 section 6.2.2).
pub(crate) fn header_block(method: &str, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    let pseudo = [(":method", method), (":scheme", "https"), (":path", path)];
    let is_authority = |field: &&(&str, &str)| field.0 == ":authority";
    let default = (":authority", "localhost");
    let authority = fields.iter().find(is_authority).unwrap_or(&default);
    let others = fields.iter().filter(|field| !is_authority(field));
    for (name, value) in pseudo.iter().chain([authority]).chain(others) {
        block.push(0);
        for text in [name, value] {
            push_length(&mut block, text.len());
            block.extend(text.as_bytes());
        }
    }
    block
}

/// Adds a number with a prefix of seven bits (RFC 7541 section 5.1).
fn push_length(block: &mut Vec<u8>, length: usize) {
    if length < 127 {
        return block.push(length as u8);
    }
    block.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        block.push(0x80 | (rest % 128) as u8);
        rest /= 128;
    }
    block.push(rest as u8);
}
