//! The protocol without the socket: decodes bytes, in any chunking, into frames.

use std::ops::Range;

use super::close::CloseFrame;
use super::frame::{CONTROL_BYTES_MAX, HEADER_BYTES_MAX, Opcode, Role, Start};
use super::mask;
use super::partial_text::PartialText;
use super::violation::Violation;

/// The maximum number of consecutive empty fragments inside a message. A sender may have a reason
/// for one (to flush, to end); a thousand only cost time.
const EMPTY_FRAGMENTS_MAX: u32 = 16;

/// A frame, or a part of one, that [`Decoder::decode`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The next bytes of a binary message, which lie, unmasked, in this range of the input.
    Binary {
        /// The range of the input. Empty only if an empty frame ends a message.
        range: Range<usize>,
        /// Whether they are the last of their message.
        end_of_message: bool,
    },
    /// A whole text message; [`Decoder::text`] returns it.
    Text,
    /// A ping; [`Decoder::control`] returns its payload, to be sent back in a pong.
    Ping,
    /// A pong; [`Decoder::control`] returns its payload.
    Pong,
    /// The peer has closed. Further bytes are ignored.
    Close(CloseFrame),
}

/// An incremental decoder of the frames that a client sends (RFC 6455 section 5).
///
/// The decoder returns the ranges of the caller's input that are payload, so payload is never
/// copied. Only texts (up to a limit) and control payloads (up to 125 bytes) are kept.
///
/// ```
/// use weir_net::websocket::{Decoder, Frame};
/// let mut decoder = Decoder::new(1024);
/// let mut input = [0x82, 0x83, 1, 2, 3, 4, b'a' ^ 1, b'b' ^ 2, b'c' ^ 3];
/// let (consumed, frame) = decoder.decode(&mut input)?;
/// assert_eq!((consumed, frame), (9, Some(Frame::Binary { range: 6..9, end_of_message: true })));
/// assert_eq!(&input[6..9], b"abc");
/// # Ok::<(), weir_net::websocket::Violation>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    sender: Role,
    text_bytes_max: usize,
    state: State,
    /// The message whose next fragment is due; `None` between messages.
    message: Option<Message>,
    /// Empty data frames since the last one with payload.
    empty_fragments: u32,
    /// The text in progress; at most `text_bytes_max`.
    partial_text: PartialText,
    /// The last text that was completed.
    text: String,
    /// The payload of the control frame in progress or, between frames, of the last one.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Inside a header, of which `filled` bytes have arrived.
    Header {
        bytes: [u8; HEADER_BYTES_MAX],
        filled: usize,
    },
    Payload(Payload),
    /// After a close frame or a violation. No more frames are returned.
    Ended(Option<Violation>),
}

const HEADER_START: State = State::Header { bytes: [0; HEADER_BYTES_MAX], filled: 0 };

#[derive(Clone, Copy, Debug)]
struct Payload {
    kind: Kind,
    is_final: bool,
    mask: [u8; 4],
    /// The number of payload bytes that were decoded.
    done: u64,
    /// The number of payload bytes that are still to come.
    remaining: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Data(Message),
    Control(Opcode),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Text,
    Binary,
}

impl Decoder {
    /// Creates a decoder for the frames of one client. A text message of more than
    /// `text_bytes_max` bytes is a violation. Binary messages have no limit, because they are not
    /// kept.
    pub fn new(text_bytes_max: usize) -> Self {
        Self::for_sender(Role::Client, text_bytes_max)
    }

    pub(crate) fn for_sender(sender: Role, text_bytes_max: usize) -> Self {
        Self {
            sender,
            text_bytes_max,
            state: HEADER_START,
            message: None,
            empty_fragments: 0,
            partial_text: PartialText::default(),
            text: String::new(),
            control: Vec::new(),
        }
    }

    /// Decodes from the start of `input` up to the next frame. Returns the number of bytes consumed
    /// and the frame, or `None` if all of `input` is consumed without a frame. After a frame, call
    /// again with the rest. Each byte is visited once, and payload is unmasked in place.
    ///
    /// # Errors
    /// If the client violates the protocol. Every later call then returns the same error.
    pub fn decode(&mut self, input: &mut [u8]) -> Result<(usize, Option<Frame>), Violation> {
        if let State::Ended(violation) = self.state {
            return violation.map_or(Ok((input.len(), None)), Err);
        }
        let decoded = self.decode_open(input);
        if let Err(violation) = decoded {
            self.state = State::Ended(Some(violation));
        }
        decoded
    }

    /// Returns the number of bytes still to come of the current binary frame; `None` if a header is
    /// due or the frame is not binary. All these bytes are payload, so they may be read directly
    /// into their final buffer and decoded there.
    pub fn binary_bytes_due(&self) -> Option<u64> {
        match self.state {
            State::Payload(Payload { kind: Kind::Data(Message::Binary), remaining, .. }) => {
                Some(remaining)
            }
            _ => None,
        }
    }

    /// Returns the text of the last [`Frame::Text`].
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the payload of the last [`Frame::Ping`] or [`Frame::Pong`].
    pub fn control(&self) -> &[u8] {
        &self.control
    }

    fn decode_open(&mut self, input: &mut [u8]) -> Result<(usize, Option<Frame>), Violation> {
        let mut consumed = 0;
        while consumed < input.len() {
            let frame = match self.state {
                State::Header { .. } => self.take_header(input, &mut consumed)?,
                State::Payload(payload) => self.take_payload(payload, input, &mut consumed)?,
                State::Ended(_) => return Ok((input.len(), None)),
            };
            if frame.is_some() {
                return Ok((consumed, frame));
            }
        }
        Ok((consumed, None))
    }

    /// Continues a header. Each part is checked before more bytes are awaited. Returns a frame
    /// if the header ends and the payload is empty.
    fn take_header(
        &mut self,
        input: &[u8],
        consumed: &mut usize,
    ) -> Result<Option<Frame>, Violation> {
        let State::Header { bytes, filled } = &mut self.state else { return Ok(None) };
        if !fill(bytes, filled, 2, input, consumed) {
            return Ok(None);
        }
        let start = Start::parse([bytes[0], bytes[1]], self.sender)?;
        let kind = kind(start.opcode, self.message)?;
        if !fill(bytes, filled, start.length_end(), input, consumed) {
            return Ok(None);
        }
        let remaining = start.payload_bytes(bytes)?;
        let text_room = self.text_bytes_max - self.partial_text.bytes();
        if matches!(kind, Kind::Data(Message::Text)) && remaining > text_room as u64 {
            return Err(Violation::TextTooLong);
        }
        if !fill(bytes, filled, start.header_bytes(), input, consumed) {
            return Ok(None);
        }
        let mask = start.mask(bytes);
        self.begin(Payload { kind, is_final: start.is_final, mask, done: 0, remaining })
    }

    fn begin(&mut self, payload: Payload) -> Result<Option<Frame>, Violation> {
        self.state = State::Payload(payload);
        match payload.kind {
            Kind::Control(_) => self.control.clear(),
            Kind::Data(_) if payload.remaining > 0 || payload.is_final => self.empty_fragments = 0,
            Kind::Data(_) => self.empty_fragments += 1,
        }
        if self.empty_fragments > EMPTY_FRAGMENTS_MAX {
            return Err(Violation::EmptyFragments);
        }
        if let Kind::Data(message) = payload.kind {
            self.message = Some(message);
        }
        if payload.remaining > 0 { Ok(None) } else { self.finish(payload, 0..0) }
    }

    fn take_payload(
        &mut self,
        mut payload: Payload,
        input: &mut [u8],
        consumed: &mut usize,
    ) -> Result<Option<Frame>, Violation> {
        let available = (input.len() - *consumed) as u64;
        let taken = payload.remaining.min(available);
        let range = *consumed..*consumed + taken as usize;
        let bytes = &mut input[range.clone()];
        mask::apply(bytes, payload.mask, payload.done);
        match payload.kind {
            Kind::Data(Message::Text) => self.partial_text.push(bytes)?,
            Kind::Control(_) => self.control.extend_from_slice(bytes),
            Kind::Data(Message::Binary) => {}
        }
        *consumed = range.end;
        payload.done += taken;
        payload.remaining -= taken;
        if payload.remaining == 0 {
            return self.finish(payload, range);
        }
        self.state = State::Payload(payload);
        let is_binary = matches!(payload.kind, Kind::Data(Message::Binary));
        Ok(is_binary.then_some(Frame::Binary { range, end_of_message: false }))
    }

    /// Ends a frame. Its last payload bytes lie in `range`.
    fn finish(
        &mut self,
        payload: Payload,
        range: Range<usize>,
    ) -> Result<Option<Frame>, Violation> {
        self.state = HEADER_START;
        let message = match payload.kind {
            Kind::Control(opcode) => return self.finish_control(opcode).map(Some),
            Kind::Data(message) => message,
        };
        if payload.is_final {
            self.message = None;
        }
        match message {
            Message::Binary if payload.is_final || !range.is_empty() => {
                Ok(Some(Frame::Binary { range, end_of_message: payload.is_final }))
            }
            Message::Text if payload.is_final => {
                self.partial_text.finish_into(&mut self.text)?;
                Ok(Some(Frame::Text))
            }
            Message::Binary | Message::Text => Ok(None),
        }
    }

    fn finish_control(&mut self, opcode: Opcode) -> Result<Frame, Violation> {
        debug_assert!(self.control.len() <= CONTROL_BYTES_MAX);
        match opcode {
            Opcode::Ping => Ok(Frame::Ping),
            Opcode::Close => {
                self.state = State::Ended(None);
                CloseFrame::parse(&self.control).map(Frame::Close)
            }
            _ => Ok(Frame::Pong),
        }
    }
}

/// Returns the kind of a frame's payload, given the message in progress (section 5.4).
fn kind(opcode: Opcode, message: Option<Message>) -> Result<Kind, Violation> {
    match (opcode, message) {
        (Opcode::Continuation, Some(message)) => Ok(Kind::Data(message)),
        (Opcode::Continuation, None) => Err(Violation::ContinuationWithoutStart),
        (Opcode::Text | Opcode::Binary, Some(_)) => Err(Violation::InterruptedMessage),
        (Opcode::Text, None) => Ok(Kind::Data(Message::Text)),
        (Opcode::Binary, None) => Ok(Kind::Data(Message::Binary)),
        (Opcode::Close | Opcode::Ping | Opcode::Pong, _) => Ok(Kind::Control(opcode)),
    }
}

/// Moves bytes of the input into the header until it has `wanted` bytes. Returns false if the input
/// ends before that.
fn fill(
    header: &mut [u8; HEADER_BYTES_MAX],
    filled: &mut usize,
    wanted: usize,
    input: &[u8],
    consumed: &mut usize,
) -> bool {
    let taken = wanted.saturating_sub(*filled).min(input.len() - *consumed);
    header[*filled..*filled + taken].copy_from_slice(&input[*consumed..*consumed + taken]);
    *filled += taken;
    *consumed += taken;
    *filled >= wanted
}
