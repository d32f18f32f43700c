//! Measures unmasking and decoding without a socket, in bytes of payload a second:
//! `cargo bench -p weir-net --bench receiving`.

use divan::Bencher;
use divan::counter::BytesCount;
use weir_net::websocket::client::encode_binary;
use weir_net::websocket::{Decoder, Frame};

/// The maximum number of bytes that one read of a socket returns.
const READ_BYTES: usize = 256 << 10;
const MESSAGE_BYTES: usize = 4 << 20;

fn main() {
    divan::main();
}

/// A message in frames of this size, read as a socket is read. Chromium's frames have 131,000
/// bytes, Firefox sends one a message, and small ones cost the most.
#[divan::bench(args = [125, 4_096, 131_000, MESSAGE_BYTES])]
fn decode(bencher: Bencher<'_, '_>, frame_bytes: usize) {
    let payload: Vec<u8> = (0..MESSAGE_BYTES).map(|i| (i * 31 % 251) as u8).collect();
    let message = encode_binary(&payload, frame_bytes);
    // The bytes are unmasked in place, so each run needs a fresh copy.
    bencher
        .counter(BytesCount::new(MESSAGE_BYTES))
        .with_inputs(|| message.clone())
        .bench_local_values(|mut message| {
            assert_eq!(decoded_bytes(&mut message), MESSAGE_BYTES);
            message
        });
}

fn decoded_bytes(message: &mut [u8]) -> usize {
    let mut decoder = Decoder::new(0);
    let mut bytes = 0;
    for mut input in message.chunks_mut(READ_BYTES) {
        while !input.is_empty() {
            let (consumed, frame) = decoder.decode(input).expect("the frames are right");
            if let Some(Frame::Binary { range, .. }) = frame {
                bytes += range.len();
            }
            input = &mut input[consumed..];
        }
    }
    bytes
}
