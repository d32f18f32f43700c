//! Sends JSON messages over a WebSocket.

use weir_net::websocket::{CloseCode, SocketError, SocketWriter, UpgradedStream};
use weir_view::JsonError;

/// Sends an encoded message. A failed encoding is a defect of the server, and closes the connection
/// with code 1011 and the encoder's reason.
pub(crate) async fn send(
    writer: &SocketWriter<UpgradedStream>,
    encoded: Result<String, JsonError>,
) -> Result<(), SocketError> {
    match encoded {
        Ok(text) => writer.send_text(&text).await,
        Err(error) => writer.close(CloseCode::INTERNAL_ERROR, &error.to_string()).await,
    }
}
