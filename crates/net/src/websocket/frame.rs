//! Frame headers (RFC 6455 section 5.2).

use super::violation::Violation;

/// The maximum length of a header: two bytes, an extended length of eight, and a mask of four.
pub(crate) const HEADER_BYTES_MAX: usize = 14;

/// The maximum payload of a control frame (RFC 6455 section 5.5).
pub(crate) const CONTROL_BYTES_MAX: usize = 125;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0f;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;
/// Values of the length field: the length follows in two bytes, or in eight.
const LENGTH_IN_2: u8 = 126;
const LENGTH_IN_8: u8 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn from_bits(bits: u8) -> Result<Self, Violation> {
        Ok(match bits {
            0x0 => Opcode::Continuation,
            0x1 => Opcode::Text,
            0x2 => Opcode::Binary,
            0x8 => Opcode::Close,
            0x9 => Opcode::Ping,
            0xa => Opcode::Pong,
            other => return Err(Violation::UnknownOpcode(other)),
        })
    }

    fn bits(self) -> u8 {
        match self {
            Opcode::Continuation => 0x0,
            Opcode::Text => 0x1,
            Opcode::Binary => 0x2,
            Opcode::Close => 0x8,
            Opcode::Ping => 0x9,
            Opcode::Pong => 0xa,
        }
    }

    pub(crate) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

/// The role of the endpoint that sends the frames. Only a client masks them (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    #[cfg_attr(not(any(test, feature = "client")), expect(dead_code))]
    Server,
}

/// The first two bytes of a frame, which are valid on their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) is_final: bool,
    pub(crate) opcode: Opcode,
    length: u8,
    is_masked: bool,
}

impl Start {
    pub(crate) fn parse(bytes: [u8; 2], sender: Role) -> Result<Self, Violation> {
        let [first, second] = bytes;
        if first & RESERVED != 0 {
            return Err(Violation::ReservedBits);
        }
        let start = Self {
            is_final: first & FIN != 0,
            opcode: Opcode::from_bits(first & OPCODE)?,
            length: second & LENGTH,
            is_masked: second & MASKED != 0,
        };
        match (sender, start.is_masked) {
            (Role::Client, false) => return Err(Violation::Unmasked),
            (Role::Server, true) => return Err(Violation::Masked),
            (Role::Client, true) | (Role::Server, false) => {}
        }
        if start.opcode.is_control() {
            start.check_control()?;
        }
        Ok(start)
    }

    fn check_control(self) -> Result<(), Violation> {
        if !self.is_final {
            return Err(Violation::FragmentedControl);
        }
        if usize::from(self.length) > CONTROL_BYTES_MAX {
            return Err(Violation::ControlTooLong);
        }
        Ok(())
    }

    fn length_bytes(self) -> usize {
        match self.length {
            LENGTH_IN_2 => 2,
            LENGTH_IN_8 => 8,
            _ => 0,
        }
    }

    /// Returns the length of the whole header, these two bytes included.
    pub(crate) fn header_bytes(self) -> usize {
        2 + self.length_bytes() + if self.is_masked { 4 } else { 0 }
    }

    /// Returns the offset at which the length ends. It can be checked before the mask arrives.
    pub(crate) fn length_end(self) -> usize {
        2 + self.length_bytes()
    }

    /// Returns the payload's length, from the header's first [`length_end`](Start::length_end)
    /// bytes.
    pub(crate) fn payload_bytes(self, header: &[u8; HEADER_BYTES_MAX]) -> Result<u64, Violation> {
        let [_, _, a, b, c, d, e, f, g, h, ..] = *header;
        let (length, least) = match self.length {
            LENGTH_IN_2 => (u64::from(u16::from_be_bytes([a, b])), u64::from(LENGTH_IN_2)),
            LENGTH_IN_8 => (u64::from_be_bytes([a, b, c, d, e, f, g, h]), 1 << 16),
            short => (u64::from(short), 0),
        };
        if length >> 63 != 0 {
            return Err(Violation::LengthTopBit);
        }
        if length < least {
            return Err(Violation::LengthNotMinimal);
        }
        Ok(length)
    }

    /// Returns the mask of a complete header. If the frame has none, the mask is zero, which
    /// changes nothing.
    pub(crate) fn mask(self, header: &[u8; HEADER_BYTES_MAX]) -> [u8; 4] {
        let mut mask = [0; 4];
        if self.is_masked {
            mask.copy_from_slice(&header[self.length_end()..self.header_bytes()]);
        }
        mask
    }
}

/// Appends a frame's header to `output`.
pub(crate) fn put_header(
    output: &mut impl Extend<u8>,
    opcode: Opcode,
    is_final: bool,
    payload_bytes: usize,
    mask: Option<[u8; 4]>,
) {
    let masked = if mask.is_some() { MASKED } else { 0 };
    output.extend([opcode.bits() | if is_final { FIN } else { 0 }]);
    if payload_bytes < usize::from(LENGTH_IN_2) {
        output.extend([masked | payload_bytes as u8]);
    } else if let Ok(length) = u16::try_from(payload_bytes) {
        output.extend([masked | LENGTH_IN_2]);
        output.extend(length.to_be_bytes());
    } else {
        output.extend([masked | LENGTH_IN_8]);
        output.extend((payload_bytes as u64).to_be_bytes());
    }
    output.extend(mask.into_iter().flatten());
}
