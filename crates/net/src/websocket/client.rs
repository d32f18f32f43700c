//! A small WebSocket client for tests and benchmarks, without TLS and extensions. It fails if the
//! server violates the protocol. Its masks are predictable, so it must not be used on the
//! internet.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::{fmt, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::close::{self, CloseFrame};
use super::close_code::CloseCode;
use super::decoder::{Decoder, Frame};
use super::frame::{Opcode, Role, put_header};
use super::handshake::accept_text;
use super::mask;

/// The options of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Messages longer than this are cut into frames of this many bytes, at least 1. Default
    /// 131,000, as Chromium does.
    pub frame_bytes: usize,
    /// The value of the `Origin` field; none by default.
    pub origin: Option<String>,
    /// The value of the `Host` field; the address by default.
    pub host: Option<String>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { frame_bytes: 131_000, origin: None, host: None }
    }
}

/// The error of a failed connection attempt.
#[derive(Debug)]
pub enum ConnectError {
    /// The server answered with this HTTP status instead of 101.
    Refused(u16),
    /// The connection failed, or the answer is not HTTP.
    Io(io::Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Refused(status) => {
                write!(formatter, "the server answered the handshake with status {status}")
            }
            ConnectError::Io(error) => write!(formatter, "cannot connect: {error}"),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        ConnectError::Io(error)
    }
}

/// Connects to `ws://ADDRESS/PATH` and returns the two directions.
pub async fn connect(
    address: SocketAddr,
    path: &str,
    options: ClientOptions,
) -> Result<(ClientSender, ClientReceiver), ConnectError> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let key = STANDARD.encode(random().to_ne_bytes().repeat(2));
    let host = options.host.clone().unwrap_or_else(|| address.to_string());
    let origin = options.origin.as_ref().map_or(String::new(), |o| format!("Origin: {o}\r\n"));
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let (head, rest) = read_head(&mut stream).await?;
    check_head(&head, &accept_text(key.as_bytes()))?;
    let (read_half, write_half) = stream.into_split();
    let sender = ClientSender { half: write_half, frame_bytes: options.frame_bytes.max(1) };
    let decoder = Decoder::for_sender(Role::Server, usize::MAX);
    let message = Vec::new();
    Ok((sender, ClientReceiver { half: read_half, decoder, buffer: rest, consumed: 0, message }))
}

/// Reads up to the empty line. Returns the head, and the bytes read after it.
async fn read_head(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    loop {
        if let Some(end) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let rest = head.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&head).into_owned(), rest));
        }
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn check_head(head: &str, accept: &str) -> Result<(), ConnectError> {
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    match status {
        Some(101) => {}
        Some(status) => return Err(ConnectError::Refused(status)),
        None => return Err(io::Error::other("the answer is not HTTP").into()),
    }
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    let is_accepted = fields
        .any(|(name, value)| name.eq_ignore_ascii_case("sec-websocket-accept") && value == accept);
    if !is_accepted {
        return Err(io::Error::other("the server did not hash the key").into());
    }
    Ok(())
}

/// The client's sending direction.
#[derive(Debug)]
pub struct ClientSender {
    half: OwnedWriteHalf,
    frame_bytes: usize,
}

impl ClientSender {
    /// Sends a text message.
    pub async fn send_text(&mut self, text: &str) -> io::Result<()> {
        let bytes = encode(Opcode::Text, text.as_bytes(), self.frame_bytes);
        self.half.write_all(&bytes).await
    }

    /// Sends a binary message.
    pub async fn send_binary(&mut self, payload: &[u8]) -> io::Result<()> {
        self.half.write_all(&encode(Opcode::Binary, payload, self.frame_bytes)).await
    }

    /// Sends a ping; the payload is not checked.
    pub async fn send_ping(&mut self, payload: &[u8]) -> io::Result<()> {
        self.half.write_all(&encode(Opcode::Ping, payload, usize::MAX)).await
    }

    /// Sends a pong; the payload is not checked.
    pub async fn send_pong(&mut self, payload: &[u8]) -> io::Result<()> {
        self.half.write_all(&encode(Opcode::Pong, payload, usize::MAX)).await
    }

    /// Sends a close frame.
    pub async fn close(&mut self, code: CloseCode, reason: &str) -> io::Result<()> {
        let payload = close::payload(Some(code), reason);
        self.half.write_all(&encode(Opcode::Close, &payload, usize::MAX)).await
    }

    /// Sends bytes without encoding: encoded frames, or the bytes of a broken client.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.half.write_all(bytes).await
    }

    /// Ends the sending direction of the connection without a close frame.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        self.half.shutdown().await
    }
}

/// Returns the masked frames of a binary message, each with at most `frame_bytes` (at least 1) of
/// payload. For benchmarks that must not spend their time on masking.
pub fn encode_binary(payload: &[u8], frame_bytes: usize) -> Vec<u8> {
    encode(Opcode::Binary, payload, frame_bytes.max(1))
}

fn encode(opcode: Opcode, payload: &[u8], frame_bytes: usize) -> Vec<u8> {
    let mut output = Vec::with_capacity(payload.len() + 64);
    let frames = payload.len().div_ceil(frame_bytes).max(1);
    for index in 0..frames {
        let start = index * frame_bytes;
        let piece = &payload[start..payload.len().min(start.saturating_add(frame_bytes))];
        let opcode = if index == 0 { opcode } else { Opcode::Continuation };
        let key = (random() as u32).to_ne_bytes();
        put_header(&mut output, opcode, index + 1 == frames, piece.len(), Some(key));
        let payload_start = output.len();
        output.extend_from_slice(piece);
        mask::apply(&mut output[payload_start..], key, 0);
    }
    output
}

/// Returns bits that differ from call to call, because every `RandomState` has its own keys.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A message from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A text message.
    Text(String),
    /// A binary message, assembled.
    Binary(Vec<u8>),
    /// A ping, which the client does not answer by itself.
    Ping(Vec<u8>),
    /// A pong.
    Pong(Vec<u8>),
    /// A close frame.
    Close(CloseFrame),
}

/// The client's receiving direction.
#[derive(Debug)]
pub struct ClientReceiver {
    half: OwnedReadHalf,
    decoder: Decoder,
    buffer: Vec<u8>,
    consumed: usize,
    /// The binary message in progress.
    message: Vec<u8>,
}

impl ClientReceiver {
    /// Waits for the next message. Returns `None` if the server has ended the connection. Fails if
    /// reading fails, or if the server violates the protocol.
    pub async fn next(&mut self) -> io::Result<Option<Message>> {
        loop {
            if self.consumed == self.buffer.len() {
                self.buffer.clear();
                self.consumed = 0;
                if self.half.read_buf(&mut self.buffer).await? == 0 {
                    return Ok(None);
                }
            }
            if let Some(message) = self.decode()? {
                return Ok(Some(message));
            }
        }
    }

    fn decode(&mut self) -> io::Result<Option<Message>> {
        let input = &mut self.buffer[self.consumed..];
        let (consumed, frame) = self.decoder.decode(input).map_err(io::Error::other)?;
        let message = match frame {
            Some(Frame::Binary { range, end_of_message }) => {
                self.message.extend_from_slice(&input[range]);
                end_of_message.then(|| Message::Binary(std::mem::take(&mut self.message)))
            }
            Some(Frame::Text) => Some(Message::Text(self.decoder.text().to_owned())),
            Some(Frame::Ping) => Some(Message::Ping(self.decoder.control().to_vec())),
            Some(Frame::Pong) => Some(Message::Pong(self.decoder.control().to_vec())),
            Some(Frame::Close(frame)) => Some(Message::Close(frame)),
            None => None,
        };
        self.consumed += consumed;
        Ok(message)
    }
}
