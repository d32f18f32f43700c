//! The frame decoder: its violations, and its independence of chunking.

use crate::common::frame;
use proptest::prelude::*;
use weir_net::websocket::{CloseCode, CloseFrame, Decoder, Frame, Violation};

const TEXT_BYTES_MAX: usize = 1000;

/// The frames of a decoder, with adjacent pieces of one binary message joined.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Binary { bytes: Vec<u8>, end_of_message: bool },
    Text(String),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(CloseFrame),
}

#[derive(Default, Debug, PartialEq)]
struct Outcome {
    seen: Vec<Seen>,
    violation: Option<Violation>,
}

impl Outcome {
    fn binary(&mut self, piece: &[u8], ends: bool) {
        if let Some(Seen::Binary { bytes, end_of_message: end @ false }) = self.seen.last_mut() {
            bytes.extend_from_slice(piece);
            *end = ends;
        } else {
            self.seen.push(Seen::Binary { bytes: piece.to_vec(), end_of_message: ends });
        }
    }
}

/// Runs the decoder over the input in chunks of the given sizes, which are used in turn.
fn decode(input: &[u8], chunk_sizes: &[usize]) -> Outcome {
    let mut decoder = Decoder::new(TEXT_BYTES_MAX);
    let mut outcome = Outcome::default();
    let mut rest = input;
    for size in chunk_sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*size).min(rest.len()));
        rest = after;
        if let Err(violation) = decode_chunk(&mut decoder, chunk, &mut outcome) {
            let again = decoder.decode(&mut [0x82]);
            assert_eq!(again, Err(violation), "a violation is final");
            outcome.violation = Some(violation);
            break;
        }
    }
    outcome
}

fn decode_chunk(
    decoder: &mut Decoder,
    chunk: &[u8],
    outcome: &mut Outcome,
) -> Result<(), Violation> {
    let mut buffer = chunk.to_vec();
    let mut start = 0;
    while start < buffer.len() {
        let (consumed, frame) = decoder.decode(&mut buffer[start..])?;
        // So there are at most as many calls as bytes, and the cost is linear.
        assert!(consumed > 0, "every call consumes something");
        assert!(frame.is_some() || start + consumed == buffer.len(), "no call stops early");
        match frame {
            Some(Frame::Binary { range, end_of_message }) => {
                assert!(range.end <= consumed, "payload lies in what was consumed");
                outcome.binary(&buffer[start..][range], end_of_message);
            }
            Some(Frame::Text) => outcome.seen.push(Seen::Text(decoder.text().to_owned())),
            Some(Frame::Ping) => outcome.seen.push(Seen::Ping(decoder.control().to_vec())),
            Some(Frame::Pong) => outcome.seen.push(Seen::Pong(decoder.control().to_vec())),
            Some(Frame::Close(close)) => outcome.seen.push(Seen::Close(close)),
            None => {}
        }
        start += consumed;
    }
    Ok(())
}

/// Decodes a whole input the plain way: RFC 6455 section 5, top to bottom, byte by byte.
fn oracle(input: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.violation = oracle_frames(input, &mut outcome).err();
    outcome
}

fn oracle_frames(input: &[u8], outcome: &mut Outcome) -> Result<(), Violation> {
    let mut bytes = input.iter().copied();
    let mut message: Option<u8> = None;
    let mut text = Vec::new();
    let mut empty_fragments = 0;
    loop {
        let (Some(first), Some(second)) = (bytes.next(), bytes.next()) else { return Ok(()) };
        let (is_final, opcode) = (first >= 0x80, first & 15);
        let is_control = opcode >= 8;
        match () {
            () if first & 0x70 != 0 => return Err(Violation::ReservedBits),
            () if ![0, 1, 2, 8, 9, 10].contains(&opcode) => {
                return Err(Violation::UnknownOpcode(opcode));
            }
            () if second < 0x80 => return Err(Violation::Unmasked),
            () if is_control && !is_final => return Err(Violation::FragmentedControl),
            () if is_control && second & 127 > 125 => return Err(Violation::ControlTooLong),
            () if opcode == 0 && message.is_none() => {
                return Err(Violation::ContinuationWithoutStart);
            }
            () if (opcode == 1 || opcode == 2) && message.is_some() => {
                return Err(Violation::InterruptedMessage);
            }
            () => {}
        }
        let (length_bytes, least) = match second & 127 {
            126 => (2, 126),
            127 => (8, 65_536),
            _ => (0, 0),
        };
        let mut length = u64::from(if length_bytes == 0 { second & 127 } else { 0 });
        for _ in 0..length_bytes {
            let Some(byte) = bytes.next() else { return Ok(()) };
            length = length << 8 | u64::from(byte);
        }
        if length >= 1 << 63 {
            return Err(Violation::LengthTopBit);
        }
        if length < least {
            return Err(Violation::LengthNotMinimal);
        }
        let kind = if opcode == 0 { message.unwrap() } else { opcode };
        if kind == 1 && text.len() as u64 + length > TEXT_BYTES_MAX as u64 {
            return Err(Violation::TextTooLong);
        }
        let mask: Vec<u8> = bytes.by_ref().take(4).collect();
        if mask.len() < 4 {
            return Ok(());
        }
        if !is_control {
            empty_fragments = if length == 0 && !is_final { empty_fragments + 1 } else { 0 };
            if empty_fragments > 16 {
                return Err(Violation::EmptyFragments);
            }
        }
        let payload: Vec<u8> = bytes.by_ref().take(length.min(1 << 40) as usize).collect();
        let is_whole = payload.len() as u64 == length;
        let payload: Vec<u8> =
            payload.iter().enumerate().map(|(i, byte)| byte ^ mask[i % 4]).collect();
        if kind == 2 && (!payload.is_empty() || (is_whole && is_final)) {
            outcome.binary(&payload, is_whole && is_final);
        }
        if kind == 1 {
            text.extend(&payload);
            let error = std::str::from_utf8(&text).err();
            // A character at the end may still be completed.
            if error.is_some_and(|error| error.error_len().is_some() || (is_whole && is_final)) {
                return Err(Violation::NotUtf8);
            }
        }
        if !is_whole {
            return Ok(());
        }
        if !is_control {
            message = (!is_final).then_some(kind);
        }
        match kind {
            1 if is_final => {
                let whole = String::from_utf8(std::mem::take(&mut text)).unwrap();
                outcome.seen.push(Seen::Text(whole));
            }
            8 => {
                outcome.seen.push(Seen::Close(oracle_close(&payload)?));
                return Ok(());
            }
            9 => outcome.seen.push(Seen::Ping(payload)),
            10 => outcome.seen.push(Seen::Pong(payload)),
            _ => {}
        }
    }
}

fn oracle_close(payload: &[u8]) -> Result<CloseFrame, Violation> {
    match payload {
        [] => Ok(CloseFrame { code: None, reason: String::new() }),
        [_] => Err(Violation::CloseTooShort),
        [high, low, reason @ ..] => {
            let number = u16::from(*high) * 256 + u16::from(*low);
            let code = CloseCode::new(number).ok_or(Violation::InvalidCloseCode(number))?;
            let reason = std::str::from_utf8(reason).map_err(|_| Violation::NotUtf8)?;
            Ok(CloseFrame { code: Some(code), reason: reason.to_owned() })
        }
    }
}

/// Decodes at every chunk size and expects the same each time.
fn decode_anyhow(input: &[u8]) -> Outcome {
    let whole = decode(input, &[input.len().max(1)]);
    for size in 1..=input.len().min(40) {
        assert_eq!(decode(input, &[size]), whole, "in chunks of {size}");
    }
    assert_eq!(whole, oracle(input));
    whole
}

fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    frame(0x88, &[&code.to_be_bytes(), reason].concat())
}

#[test]
fn every_violation_is_named_and_has_its_close_code() {
    let half = frame(0x02, b"half a message");
    let long_length = |flags: u8, length: u64| {
        [&[flags, 0x80 | 127], &length.to_be_bytes()[..], &[0; 4]].concat()
    };
    let long_text = frame(0x81, &[b'x'; TEXT_BYTES_MAX + 1]);
    let long_fragments = [frame(0x01, &[b'x'; 600]), frame(0x80, &[b'x'; 401])].concat();
    let endless = [frame(0x02, b""), frame(0x00, b"").repeat(16)].concat();
    let torn_character = [frame(0x01, b"\xc3"), frame(0x80, b"x")].concat();
    let cases: Vec<(Violation, u16, Vec<u8>)> = vec![
        (Violation::Unmasked, 1002, vec![0x82, 0x01, b'x']),
        (Violation::ReservedBits, 1002, frame(0xc2, b"x")),
        (Violation::ReservedBits, 1002, frame(0xa2, b"x")),
        (Violation::ReservedBits, 1002, frame(0x92, b"x")),
        (Violation::UnknownOpcode(3), 1002, frame(0x83, b"x")),
        (Violation::UnknownOpcode(7), 1002, frame(0x87, b"x")),
        (Violation::UnknownOpcode(11), 1002, frame(0x8b, b"x")),
        (Violation::UnknownOpcode(15), 1002, frame(0x8f, b"x")),
        (Violation::FragmentedControl, 1002, frame(0x09, b"x")),
        (Violation::ControlTooLong, 1002, frame(0x89, &[0; 126])),
        (Violation::ContinuationWithoutStart, 1002, frame(0x80, b"x")),
        (Violation::ContinuationWithoutStart, 1002, [frame(0x82, b""), frame(0, b"x")].concat()),
        (Violation::InterruptedMessage, 1002, [half.clone(), frame(0x82, b"x")].concat()),
        (Violation::InterruptedMessage, 1002, [half, frame(0x81, b"x")].concat()),
        (Violation::LengthTopBit, 1002, long_length(0x82, 1 << 63)),
        (Violation::LengthNotMinimal, 1002, long_length(0x82, 65_535)),
        (Violation::LengthNotMinimal, 1002, vec![0x82, 0xfe, 0, 125, 0, 0, 0, 0]),
        (Violation::CloseTooShort, 1002, frame(0x88, b"x")),
        (Violation::InvalidCloseCode(1005), 1002, close(1005, b"")),
        (Violation::InvalidCloseCode(2999), 1002, close(2999, b"")),
        (Violation::NotUtf8, 1007, close(1000, b"\xff")),
        (Violation::NotUtf8, 1007, frame(0x81, b"\xed\xa0\x80")),
        (Violation::NotUtf8, 1007, torn_character),
        (Violation::TextTooLong, 1009, long_text),
        (Violation::TextTooLong, 1009, long_fragments),
        (Violation::TextTooLong, 1009, long_length(0x81, (1 << 63) - 1)),
        (Violation::EmptyFragments, 1008, endless),
    ];
    for (violation, code, input) in cases {
        assert_eq!(decode_anyhow(&input).violation, Some(violation), "{input:x?}");
        assert_eq!(violation.close_code().get(), code, "{violation:?}");
    }
}

#[test]
fn legal_frames_that_look_like_violations_are_accepted() {
    let shy = [frame(0x02, b""), frame(0x00, b"").repeat(15), frame(0x00, b"x")].concat();
    let shy = [shy, frame(0x00, b"").repeat(16), frame(0x80, b"")].concat();
    let split_character = [frame(0x01, b"\xc3"), frame(0x89, b"!"), frame(0x80, b"\xa9")].concat();
    for (input, last) in [
        (shy, Seen::Binary { bytes: b"x".to_vec(), end_of_message: true }),
        (split_character, Seen::Text("é".to_owned())),
        (frame(0x81, &[b'x'; TEXT_BYTES_MAX]), Seen::Text("x".repeat(TEXT_BYTES_MAX))),
        (frame(0x89, &[7; 125]), Seen::Ping(vec![7; 125])),
        (frame(0x82, b""), Seen::Binary { bytes: Vec::new(), end_of_message: true }),
        (frame(0x81, b""), Seen::Text(String::new())),
    ] {
        let outcome = decode_anyhow(&input);
        assert_eq!(outcome.violation, None, "{input:x?}");
        assert_eq!(outcome.seen.last(), Some(&last), "{input:x?}");
    }
}

#[test]
fn a_violation_is_detected_before_the_frame_is_complete() {
    for input in [
        &[0x81, 0xfe, 0xff, 0xff][..], // a text of 65,535 bytes, its mask still to come
        &[0x89, 0xfe],
        &[0x82, 0x05],
        &[0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0],
        &frame(0x81, b"a byte that UTF-8 does not have: \xff, and more")[..40],
        &frame(0x01, b"a character that is cut: \xe4\xb8.")[..],
    ] {
        assert!(decode(input, &[1]).violation.is_some(), "{input:x?}");
    }
}

#[test]
fn nothing_follows_a_close() {
    let input = [close(1001, b"bye"), frame(0x82, b"late"), vec![0xff; 20]].concat();
    let code = Some(CloseCode::GOING_AWAY);
    let expected = Seen::Close(CloseFrame { code, reason: "bye".to_owned() });
    let outcome = decode_anyhow(&input);
    assert_eq!(outcome, Outcome { seen: vec![expected], violation: None });
}

/// A frame of a client, which is mostly valid.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        20 => prop::sample::select(vec![0x00, 0x02, 0x80, 0x82, 0x82, 0x80, 0x01, 0x81, 0x89, 0x8a]),
        1 => Just(0x88),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        2 => Just(Vec::new()),
        6 => prop::collection::vec(any::<u8>(), 0..40),
        6 => "[a-zé]{0,20}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 100..300),
        1 => prop::collection::vec(any::<u8>(), 60_000..60_010),
    ];
    (first, payload).prop_map(|(first, payload)| frame(first, &payload))
}

/// Frames of well-formed messages, with pings between them, and the expected outcome.
fn good_messages() -> impl Strategy<Value = (Vec<u8>, Outcome)> {
    let pieces = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 1..5);
    prop::collection::vec((pieces, any::<bool>()), 0..6).prop_map(|messages| {
        let (mut input, mut outcome) = (Vec::new(), Outcome::default());
        for (pieces, has_ping) in messages {
            for (index, piece) in pieces.iter().enumerate() {
                let is_last = index + 1 == pieces.len();
                let first = if index == 0 { 2 } else { 0 } | if is_last { 0x80 } else { 0 };
                input.extend(frame(first, piece));
                if is_last || !piece.is_empty() {
                    outcome.binary(piece, is_last);
                }
                if has_ping {
                    input.extend(frame(0x89, &[index as u8]));
                    outcome.seen.push(Seen::Ping(vec![index as u8]));
                }
            }
        }
        (input, outcome)
    })
}

fn chunk_sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(1_usize..20, 1..20),
        prop::collection::vec(1_usize..5000, 1..20),
    ]
}

proptest! {
    #[test]
    fn any_frames_in_any_chunks_decode_as_the_oracle_says(
        frames in prop::collection::vec(any_frame(), 0..12),
        sizes in chunk_sizes(),
    ) {
        let input = frames.concat();
        prop_assert_eq!(decode(&input, &sizes), oracle(&input));
    }

    #[test]
    fn any_bytes_in_any_chunks_decode_as_the_oracle_says(
        input in prop::collection::vec(any::<u8>(), 0..60),
        sizes in chunk_sizes(),
    ) {
        prop_assert_eq!(decode(&input, &sizes), oracle(&input));
    }

    #[test]
    fn messages_come_out_as_they_went_in((input, expected) in good_messages(), sizes in chunk_sizes()) {
        prop_assert_eq!(decode(&input, &sizes), expected);
    }
}
