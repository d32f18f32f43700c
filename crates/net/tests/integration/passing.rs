//! Payload that is read directly into the caller's space. At every split of reads and space, the
//! bytes and events equal those through the reader's buffer, and those of the decoder alone.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::common::frame;
use proptest::prelude::*;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use weir_net::websocket::{
    BufferEvent, Decoder, Frame, SocketError, SocketEvent, SocketOptions, Violation, WebSocket,
};

/// A connection that delivers its bytes in given pieces and accepts all writes.
struct Pieces(VecDeque<Vec<u8>>);

impl Pieces {
    /// Cuts the input into pieces of these sizes, over and over.
    fn new(input: &[u8], sizes: &[usize]) -> Self {
        let (mut rest, mut pieces) = (input, VecDeque::new());
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).clamp(1, rest.len()));
            pieces.push_back(piece.to_vec());
            rest = after;
        }
        Self(pieces)
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The events, with adjacent pieces of one binary message joined.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    messages: Vec<(Vec<u8>, bool)>,
    others: Vec<String>,
    end: Option<Violation>,
}

impl Seen {
    fn binary(&mut self, piece: &[u8], ends: bool) {
        match self.messages.last_mut() {
            Some((bytes, end @ false)) => {
                bytes.extend_from_slice(piece);
                *end = ends;
            }
            _ => self.messages.push((piece.to_vec(), ends)),
        }
    }

    fn other(&mut self, what: String) {
        self.others.push(format!("{what} after {} messages", self.messages.len()));
    }
}

/// The decoder alone, over the whole input.
fn expected(input: &[u8]) -> Seen {
    let mut decoder = Decoder::new(1_000);
    let (mut seen, mut buffer, mut start) = (Seen::default(), input.to_vec(), 0);
    while start < buffer.len() {
        let (consumed, frame) = match decoder.decode(&mut buffer[start..]) {
            Ok(decoded) => decoded,
            Err(violation) => {
                seen.end = Some(violation);
                break;
            }
        };
        match frame {
            Some(Frame::Binary { range, end_of_message }) => {
                seen.binary(&buffer[start..][range], end_of_message);
            }
            Some(Frame::Text) => seen.other(format!("text {:?}", decoder.text())),
            Some(Frame::Pong) => seen.other(format!("pong {:?}", decoder.control())),
            Some(Frame::Ping | Frame::Close(_)) | None => {}
        }
        start += consumed;
    }
    seen
}

/// Runs the reader with spaces of these sizes, used in turn. A size of 0 stands for a call of
/// `next`.
async fn read(pieces: Pieces, space_sizes: &[usize]) -> Seen {
    let (mut reader, _writer) = WebSocket::new(pieces, SocketOptions::default()).split();
    let mut seen = Seen::default();
    for size in space_sizes.iter().cycle() {
        let mut space = vec![0xEE; *size];
        let ended = match space.is_empty() {
            true => match reader.next().await {
                Ok(Some(SocketEvent::Binary { bytes, end_of_message })) => {
                    seen.binary(bytes, end_of_message);
                    continue;
                }
                Ok(Some(SocketEvent::Text(text))) => {
                    seen.other(format!("text {text:?}"));
                    continue;
                }
                Ok(Some(SocketEvent::Pong(bytes))) => {
                    seen.other(format!("pong {bytes:?}"));
                    continue;
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
            false => match reader.next_into(&mut space).await {
                Ok(Some(BufferEvent::Binary { length, end_of_message })) => {
                    assert!(length > 0 || end_of_message, "something came");
                    seen.binary(&space[..length], end_of_message);
                    continue;
                }
                Ok(Some(BufferEvent::Text(text))) => {
                    seen.other(format!("text {text:?}"));
                    continue;
                }
                Ok(Some(BufferEvent::Pong(bytes))) => {
                    seen.other(format!("pong {bytes:?}"));
                    continue;
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
        };
        match ended {
            Err(SocketError::Violation(violation)) => seen.end = Some(violation),
            Ok(()) | Err(SocketError::Disconnected) => {}
            Err(error) => panic!("{error}"),
        }
        break;
    }
    seen
}

fn run(input: &[u8], piece_sizes: &[usize], space_sizes: &[usize]) -> Seen {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(read(Pieces::new(input, piece_sizes), space_sizes))
}

/// Frames of every kind, a message in fragments with a ping in it, and at the end a violation.
fn sample() -> Vec<u8> {
    let text = frame(0x81, b"text");
    let long: Vec<u8> = (0..=255).collect();
    let parts = [
        frame(0x02, b"one"),
        frame(0x89, b"ping"),
        frame(0x00, &long),
        frame(0x80, b""),
        frame(0x8a, b"pong"),
        text,
        frame(0x82, &long[..130]),
        frame(0x82, b""),
        frame(0x02, b"x"),
        vec![0x82, 0x80],
    ];
    parts.concat()
}

#[test]
fn every_split_of_the_input_yields_the_same_events() {
    let input = sample();
    let expected = expected(&input);
    assert_eq!(expected.end, Some(Violation::InterruptedMessage));
    for at in 1..input.len() {
        for space in [1, 7, 64, 1_000] {
            assert_eq!(run(&input, &[at, input.len()], &[space]), expected, "{at}, {space}");
        }
    }
    for piece in 1..80 {
        assert_eq!(run(&input, &[piece], &[50, 0, 3]), expected, "pieces of {piece}");
    }
}

fn frames() -> impl Strategy<Value = Vec<u8>> {
    let payload = || prop::collection::vec(any::<u8>(), 0..3_000);
    let one = prop_oneof![
        4 => payload().prop_map(|bytes| frame(0x82, &bytes)),
        2 => (payload(), payload()).prop_map(|(a, b)| [frame(0x02, &a), frame(0x80, &b)].concat()),
        1 => "[a-z]{0,40}".prop_map(|text| frame(0x81, text.as_bytes())),
        1 => Just(frame(0x89, b"are you there?")),
        1 => Just(frame(0x8a, b"")),
    ];
    prop::collection::vec(one, 1..12).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn any_frames_in_any_pieces_into_any_space(
        input in frames(),
        piece_sizes in prop::collection::vec(1_usize..2_000, 1..6),
        space_sizes in prop::collection::vec(0_usize..2_000, 1..6),
    ) {
        prop_assert_eq!(run(&input, &piece_sizes, &space_sizes), expected(&input));
    }
}

#[tokio::test]
async fn an_empty_space_takes_nothing() {
    let (mut reader, _writer) =
        WebSocket::new(Pieces::new(&frame(0x82, b"abc"), &[99]), SocketOptions::default()).split();
    let nothing = BufferEvent::Binary { length: 0, end_of_message: false };
    assert_eq!(reader.next_into(&mut []).await.unwrap(), Some(nothing));
    let mut space = [0; 9];
    let all = BufferEvent::Binary { length: 3, end_of_message: true };
    assert_eq!(reader.next_into(&mut space).await.unwrap(), Some(all));
    assert_eq!(&space[..3], b"abc");
}
