//! Close frames (RFC 6455 sections 5.5.1 and 7.4).

use super::close_code::CloseCode;
use super::frame::CONTROL_BYTES_MAX;
use super::violation::Violation;

/// The close frame of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// The code; `None` if the frame was empty.
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

/// Returns the payload of a close frame. A reason that is too long is truncated at a character.
pub(crate) fn payload(code: Option<CloseCode>, reason: &str) -> Vec<u8> {
    let Some(code) = code else { return Vec::new() };
    let reason = &reason[..reason.floor_char_boundary(CONTROL_BYTES_MAX - 2)];
    [&code.get().to_be_bytes(), reason.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_reasons_are_cut_at_a_character() {
        let payload = payload(Some(CloseCode::NORMAL), &"é".repeat(100));
        let parsed = CloseFrame::parse(&payload).unwrap();
        assert_eq!(parsed.reason, "é".repeat(61));
    }
}
