//! Close frames (RFC 6455 sections 5.5.1 and 7.4).

use std::fmt;

use super::frame::CONTROL_BYTES_MAX;
use super::violation::Violation;

/// The reason for closing a connection, as a number (RFC 6455 section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// The server is shutting down, or the page is left.
    pub const GOING_AWAY: Self = Self(1001);
    /// The peer breached the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// A message's content does not fit its type, as a text that is not UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// The peer breached a rule that no other code names.
    pub const POLICY: Self = Self(1008);
    /// A message is larger than the receiver takes.
    pub const TOO_BIG: Self = Self(1009);
    /// The server met a condition that keeps it from going on.
    pub const INTERNAL_ERROR: Self = Self(1011);

    /// A code that may be sent: one that the standard or its registry defines (1000 to 1014,
    /// but for 1004 to 1006), or one for applications (3000 to 4999). `None` for any other.
    pub fn new(code: u16) -> Option<Self> {
        matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999).then_some(Self(code))
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a peer said when it closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// The code; `None` when the frame was empty.
    pub code: Option<CloseCode>,
    /// The reason, for a log; at most 123 bytes, often empty.
    pub reason: String,
}

impl CloseFrame {
    /// Reads and checks the payload of a close frame.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, Violation> {
        let Some((code, reason)) = payload.split_first_chunk::<2>() else {
            return match payload {
                [] => Ok(Self { code: None, reason: String::new() }),
                _ => Err(Violation::CloseTooShort),
            };
        };
        let code = u16::from_be_bytes(*code);
        let code = CloseCode::new(code).ok_or(Violation::InvalidCloseCode(code))?;
        let reason = std::str::from_utf8(reason).map_err(|_| Violation::NotUtf8)?;
        Ok(Self { code: Some(code), reason: reason.to_owned() })
    }
}

/// The payload of a close frame to send; a reason that is too long is cut at a character.
pub(crate) fn payload(code: Option<CloseCode>, reason: &str) -> Vec<u8> {
    let Some(code) = code else { return Vec::new() };
    let reason = &reason[..reason.floor_char_boundary(CONTROL_BYTES_MAX - 2)];
    [&code.get().to_be_bytes(), reason.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_may_be_sent() {
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 4999] {
            assert!(CloseCode::new(code).is_some(), "{code}");
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
            assert!(CloseCode::new(code).is_none(), "{code}");
        }
    }

    #[test]
    fn long_reasons_are_cut_at_a_character() {
        let payload = payload(Some(CloseCode::NORMAL), &"é".repeat(100));
        let parsed = CloseFrame::parse(&payload).unwrap();
        assert_eq!(parsed.reason, "é".repeat(61));
    }
}
