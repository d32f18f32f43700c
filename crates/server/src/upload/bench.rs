//! A minimal upload protocol over a WebSocket, as a baseline for benchmarks: the server
//! acknowledges each message with the number of bytes so far, and parses nothing.

use weir_net::websocket::{BufferEvent, SocketOptions, Upgrade};

/// Receives messages until the page disconnects, and answers each with the number of bytes so
/// far.
pub(crate) async fn count(upgrade: Upgrade) {
    let options = SocketOptions::default();
    let Ok(socket) = upgrade.websocket(options).await else { return };
    let (mut reader, writer) = socket.split();
    let mut space = vec![0; options.read_buffer_bytes];
    let mut bytes_read = 0;
    while let Ok(Some(event)) = reader.next_into(&mut space).await {
        let BufferEvent::Binary { length, end_of_message } = event else { continue };
        bytes_read += length as u64;
        if end_of_message && writer.send_text(&bytes_read.to_string()).await.is_err() {
            return;
        }
    }
}
