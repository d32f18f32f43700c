//! Bytes from sockets. The output may not depend on the pieces in which they arrive.

use weir_feed::{Framer, Framing};
use weir_net::websocket::{Decoder, Frame};

/// The longest text message, so that inputs can exceed it.
const TEXT_BYTES_MAX: usize = 64;

/// The longest line of a feed, so that inputs can exceed it.
const LINE_BYTES_MAX: usize = 48;

/// Splits off the first byte: the length of the pieces.
fn with_piece_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    bytes.split_first().map(|(first, rest)| (usize::from(*first).max(1), rest))
}

/// Frames of a WebSocket.
pub(crate) fn websocket(bytes: &[u8]) {
    let Some((length, bytes)) = with_piece_length(bytes) else { return };
    let whole = decode(bytes, bytes.len().max(1));
    assert_eq!(decode(bytes, length), whole, "pieces of {length} bytes");
}

/// The output of a connection: its messages in order, as text, with the violation at the end.
/// The payload of a binary frame is returned as it arrives, so its pieces are joined.
fn decode(bytes: &[u8], piece_bytes: usize) -> (Vec<String>, Vec<u8>) {
    let (mut decoder, mut messages, mut binary) =
        (Decoder::new(TEXT_BYTES_MAX), Vec::new(), Vec::new());
    for piece in bytes.chunks(piece_bytes) {
        let mut piece = piece.to_vec();
        let mut rest = &mut piece[..];
        while !rest.is_empty() {
            match decoder.decode(rest) {
                Ok((consumed, frame)) => {
                    assert!(consumed > 0 && consumed <= rest.len(), "{consumed} bytes");
                    assert!(frame.is_some() || consumed == rest.len(), "bytes are left");
                    match frame {
                        Some(Frame::Binary { range, .. }) => {
                            binary.extend_from_slice(&rest[range]);
                        }
                        Some(Frame::Text) => messages.push(decoder.text().to_owned()),
                        Some(other) => messages.push(format!("{other:?} {:?}", decoder.control())),
                        None => {}
                    }
                    rest = &mut std::mem::take(&mut rest)[consumed..];
                }
                Err(violation) => {
                    messages.push(format!("{violation:?}"));
                    return (messages, binary);
                }
            }
        }
    }
    (messages, binary)
}

/// Lines of a feed, by line feeds and by counts.
pub(crate) fn framing(bytes: &[u8]) {
    let Some((length, bytes)) = with_piece_length(bytes) else { return };
    for framing in [Framing::Auto, Framing::Newline, Framing::Octets] {
        let whole = lines(framing, bytes, bytes.len().max(1));
        assert_eq!(lines(framing, bytes, length), whole, "{framing:?}, pieces of {length} bytes");
    }
}

/// The lines of a stream, and its error. Lines over the limit are replaced by a mark, because
/// how much of them is kept depends on the pieces.
fn lines(framing: Framing, bytes: &[u8], piece_bytes: usize) -> (Vec<u8>, Option<String>) {
    let (mut framer, mut lines) = (Framer::new(framing, LINE_BYTES_MAX), Vec::new());
    for piece in bytes.chunks(piece_bytes) {
        let (complete, error) = framer.push(piece);
        lines.extend_from_slice(complete.first);
        lines.extend_from_slice(complete.rest);
        if let Some(error) = error {
            return (without_long_lines(&lines), Some(format!("{error:?}")));
        }
    }
    lines.extend_from_slice(framer.finish());
    (without_long_lines(&lines), None)
}

fn without_long_lines(lines: &[u8]) -> Vec<u8> {
    let shown = lines.split(|byte| *byte == b'\n').map(|line| match line.len() {
        0..=LINE_BYTES_MAX => line,
        _ => b"(too long)",
    });
    shown.collect::<Vec<_>>().join(&b'\n')
}
