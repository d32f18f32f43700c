//! What a transfer waits for: bytes and messages of its connections, room, or a deadline.

use weir_net::websocket::{BufferEvent, SocketEvent, SocketReader, UpgradedStream};

use crate::file::{AheadPermit, MergeEvent};

/// The result of a wait.
#[derive(Debug)]
pub(super) enum Input {
    /// Bytes in the receiver's space.
    InPlace { length: usize, ends_message: bool },
    /// Bytes that are out of order or have to be inspected.
    Bytes { bytes: Vec<u8>, ends_message: bool },
    /// A message of the protocol.
    Message(String),
    /// An event on a joined connection.
    Joined(MergeEvent),
    /// No bytes, or a pong.
    Empty { ends_message: bool },
    /// Room for the bytes that wait for it.
    Room(AheadPermit),
    /// The connection has ended.
    Disconnected,
    /// The deadline has passed.
    Timeout,
}

impl Input {
    /// Describes in a capture what ended a wait without bytes.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Message(_) => "a message of the protocol came",
            Self::Joined(_) => "a joined connection left",
            Self::Disconnected => "the connection ended",
            _ => "nothing came",
        }
    }
}

/// Reads the next bytes, into the space if there is one, or a message.
pub(super) async fn read(
    reader: &mut SocketReader<UpgradedStream>,
    space: Option<&mut [u8]>,
) -> Input {
    let Some(space) = space else {
        return match reader.next().await {
            Ok(Some(SocketEvent::Binary { bytes: [], end_of_message })) => {
                Input::Empty { ends_message: end_of_message }
            }
            Ok(Some(SocketEvent::Pong(_))) => Input::Empty { ends_message: false },
            Ok(Some(SocketEvent::Binary { bytes, end_of_message })) => {
                Input::Bytes { bytes: bytes.to_vec(), ends_message: end_of_message }
            }
            Ok(Some(SocketEvent::Text(text))) => Input::Message(text.to_owned()),
            Ok(None) | Err(_) => Input::Disconnected,
        };
    };
    match reader.next_into(space).await {
        Ok(Some(BufferEvent::Binary { length: 0, end_of_message })) => {
            Input::Empty { ends_message: end_of_message }
        }
        Ok(Some(BufferEvent::Pong(_))) => Input::Empty { ends_message: false },
        Ok(Some(BufferEvent::Binary { length, end_of_message })) => {
            Input::InPlace { length, ends_message: end_of_message }
        }
        Ok(Some(BufferEvent::Text(text))) => Input::Message(text.to_owned()),
        Ok(None) | Err(_) => Input::Disconnected,
    }
}

/// Returns whether the input resets the stall timer. Only bytes do; otherwise empty messages and
/// pongs could keep an upload open forever.
pub(super) fn contains_bytes(input: &Input) -> bool {
    matches!(
        input,
        Input::InPlace { .. } | Input::Bytes { .. } | Input::Joined(MergeEvent::Chunk(_))
    )
}
