//! The plain way to upload over a WebSocket, for comparison: each message is acknowledged by
//! itself, with the number of bytes so far, and nothing is parsed.

use weir_net::websocket::{Received, SocketOptions, Upgrade};

/// Receives messages and answers each with the bytes that came so far, until the page goes.
pub(crate) async fn count(upgrade: Upgrade) {
    let options = SocketOptions::default();
    let Ok(socket) = upgrade.websocket(options).await else { return };
    let (mut reader, writer) = socket.split();
    let mut space = vec![0; options.read_buffer_bytes];
    let mut received = 0;
    while let Ok(Some(came)) = reader.next_into(&mut space).await {
        let Received::Binary { length, end_of_message } = came else { continue };
        received += length as u64;
        if end_of_message && writer.send_text(&received.to_string()).await.is_err() {
            return;
        }
    }
}
