//! Why a server asks a connection to close.

/// The reason for which a connection is asked to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// Another connection needs its place.
    MakeRoom,
    /// It has waited for too long.
    Late,
    /// The server stops.
    Stop,
    /// Its client does not take a response, which was given up.
    Unread,
}

impl CloseReason {
    /// Returns the reason with this number; `None` for 0.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        let reasons = [Self::MakeRoom, Self::Late, Self::Stop, Self::Unread];
        reasons.into_iter().find(|reason| reason.number() == number)
    }

    /// Returns its number, which is not 0.
    pub(crate) fn number(self) -> u8 {
        self as u8 + 1
    }
}
