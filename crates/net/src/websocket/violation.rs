//! Violations of the protocol by a peer.

use std::fmt;

use super::close_code::CloseCode;

/// A violation of RFC 6455, or of this crate's limits. It ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A frame from a client without a mask (section 5.1).
    Unmasked,
    /// A frame from a server with a mask (section 5.1).
    Masked,
    /// Bits that belong to extensions, though none was negotiated (section 5.2).
    ReservedBits,
    /// An opcode that the standard does not define (section 5.2).
    UnknownOpcode(u8),
    /// A control frame that is not final (section 5.5).
    FragmentedControl,
    /// A control frame over 125 bytes (section 5.5).
    ControlTooLong,
    /// A continuation without a message to continue (section 5.4).
    ContinuationWithoutStart,
    /// A new message before the last fragment of the one before (section 5.4).
    InterruptedMessage,
    /// A 64-bit length with its top bit set (section 5.2).
    LengthTopBit,
    /// A length written in more bytes than it needs (section 5.2).
    LengthNotMinimal,
    /// A close frame whose payload is a single byte (section 5.5.1).
    CloseTooShort,
    /// A close code that must not be sent (section 7.4).
    InvalidCloseCode(u16),
    /// A text message or close reason that is not UTF-8 (section 8.1).
    NotUtf8,
    /// A text message over the limit.
    TextTooLong,
    /// One empty fragment after the other: work without progress.
    EmptyFragments,
}

impl Violation {
    /// Returns the code of the close frame that answers the violation (section 7.4.1).
    pub fn close_code(self) -> CloseCode {
        match self {
            Violation::NotUtf8 => CloseCode::INVALID_PAYLOAD,
            Violation::TextTooLong => CloseCode::TOO_BIG,
            // A single empty fragment is legal. Only this crate's limit forbids many.
            Violation::EmptyFragments => CloseCode::POLICY,
            _ => CloseCode::PROTOCOL_ERROR,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Violation::Unmasked => "a frame from the client is not masked",
            Violation::Masked => "a frame from the server is masked",
            Violation::ReservedBits => "a frame uses an extension that was not negotiated",
            Violation::UnknownOpcode(opcode) => {
                return write!(formatter, "a frame has the unknown opcode {opcode}");
            }
            Violation::FragmentedControl => "a control frame is fragmented",
            Violation::ControlTooLong => "a control frame is longer than 125 bytes",
            Violation::ContinuationWithoutStart => "a continuation frame continues no message",
            Violation::InterruptedMessage => "a message starts inside another one",
            Violation::LengthTopBit => "a frame is longer than the protocol allows",
            Violation::LengthNotMinimal => "a frame's length is not in its shortest form",
            Violation::CloseTooShort => "a close frame contains only half of a code",
            Violation::InvalidCloseCode(code) => {
                return write!(formatter, "a close frame has the invalid code {code}");
            }
            Violation::NotUtf8 => "a text is not valid UTF-8",
            Violation::TextTooLong => "a text message is longer than the limit",
            Violation::EmptyFragments => "a message has too many empty fragments in a row",
        })
    }
}

impl std::error::Error for Violation {}
