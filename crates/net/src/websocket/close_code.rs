//! Close codes (RFC 6455 section 7.4).

use std::fmt;

/// The reason for closing a connection, as a number (RFC 6455 section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// The server is shutting down, or the page is left.
    pub const GOING_AWAY: Self = Self(1001);
    /// The peer violated the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// A message's content does not fit its type, such as a text that is not UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// The peer violated a rule for which there is no other code.
    pub const POLICY: Self = Self(1008);
    /// A message is larger than the receiver accepts.
    pub const TOO_BIG: Self = Self(1009);
    /// The server met a condition that prevents it from continuing.
    pub const INTERNAL_ERROR: Self = Self(1011);

    /// Creates a code that may be sent: one that the standard or its registry defines (1000 to
    /// 1014, except 1004 to 1006), or one for applications (3000 to 4999). Returns `None` for any
    /// other.
    pub fn new(code: u16) -> Option<Self> {
        matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999).then_some(Self(code))
    }

    /// Returns the number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
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
}
