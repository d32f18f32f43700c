//! The reader and the writer over an in-memory pipe, which makes every wait deterministic.

use std::time::Duration;

use crate::common::{frame, read_all, read_frame};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, timeout};
use weir_net::websocket::{
    CloseCode, SocketError, SocketEvent, SocketOptions, SocketReader, SocketWriter, Violation,
    WebSocket,
};

type Halves = (SocketReader<DuplexStream>, SocketWriter<DuplexStream>);

/// A client's end of a pipe that holds `bytes_max` each way, and a socket on the other.
fn pipe(bytes_max: usize) -> (DuplexStream, Halves) {
    let (client, server) = duplex(bytes_max);
    (client, WebSocket::new(server, SocketOptions::default()).split())
}

fn binary(bytes: &[u8], end_of_message: bool) -> SocketEvent<'_> {
    SocketEvent::Binary { bytes, end_of_message }
}

fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes(), reason.as_bytes()].concat()
}

#[tokio::test]
async fn payload_is_returned_before_its_frame_ends() {
    let (mut client, (mut reader, _writer)) = pipe(1000);
    // The head of a frame of a gigabyte, and its first three bytes; the mask is zero.
    let head = [&[0x82, 0xff], &(1_u64 << 30).to_be_bytes()[..], &[0; 4], b"abc"].concat();
    client.write_all(&head).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(binary(b"abc", false)));
    assert!(!reader.has_buffered());
    client.write_all(b"defg").await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(binary(b"defg", false)));
}

#[tokio::test]
async fn several_frames_of_one_read_are_separate_events() {
    let (mut client, (mut reader, _writer)) = pipe(1000);
    let all = [frame(0x02, b"a"), frame(0x8a, b"p"), frame(0x80, b"b"), frame(0x81, b"t")];
    client.write_all(&all.concat()).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(binary(b"a", false)));
    assert!(reader.has_buffered());
    assert_eq!(reader.next().await.unwrap(), Some(SocketEvent::Pong(b"p")));
    assert_eq!(reader.next().await.unwrap(), Some(binary(b"b", true)));
    assert_eq!(reader.next().await.unwrap(), Some(SocketEvent::Text("t")));
    assert!(!reader.has_buffered());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_loses_nothing() {
    let (mut client, (mut reader, _writer)) = pipe(1000);
    let message = frame(0x81, b"slowly");
    for byte in &message[..message.len() - 1] {
        client.write_all(&[*byte]).await.unwrap();
        assert!(timeout(Duration::from_millis(1), reader.next()).await.is_err());
    }
    client.write_all(&message[message.len() - 1..]).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(SocketEvent::Text("slowly")));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_send_tears_no_frame() {
    let (mut client, (_reader, writer)) = pipe(10);
    let send = writer.send_text("longer than the pipe");
    assert!(timeout(Duration::from_millis(1), send).await.is_err());
    let second = tokio::spawn(async move { writer.send_text("second").await });
    assert_eq!(read_frame(&mut client).await, (0x81, b"longer than the pipe".to_vec()));
    assert_eq!(read_frame(&mut client).await, (0x81, b"second".to_vec()));
    second.await.unwrap().unwrap();
}

#[tokio::test]
async fn pings_are_answered_inside_a_message() {
    let (mut client, (mut reader, _writer)) = pipe(1000);
    let all = [frame(0x02, b"a"), frame(0x89, b"ping"), frame(0x80, b"b")].concat();
    client.write_all(&all).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(binary(b"a", false)));
    assert_eq!(reader.next().await.unwrap(), Some(binary(b"b", true)));
    assert_eq!(read_frame(&mut client).await, (0x8a, b"ping".to_vec()));
}

#[tokio::test(start_paused = true)]
async fn pings_of_a_peer_that_does_not_read_keep_the_newest_pong() {
    let (mut client, (mut reader, _writer)) = pipe(16);
    let reading = tokio::spawn(async move {
        reader.next().await.map(|event| event.is_some()).map_err(|error| error.to_string())
    });
    for index in 0..1000_u16 {
        client.write_all(&frame(0x89, &index.to_be_bytes())).await.unwrap();
    }
    // Paused time advances only when the reader has read everything and waits.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut answered = Vec::new();
    while answered.last() != Some(&999) {
        let (first, payload) = read_frame(&mut client).await;
        assert_eq!(first, 0x8a);
        answered.push(u16::from_be_bytes([payload[0], payload[1]]));
    }
    // Four pongs fill the pipe, one is sent only in part, and one is stored.
    assert!(answered.len() <= 6, "{answered:?}");
    client.write_all(&frame(0x81, b"over")).await.unwrap();
    assert_eq!(reading.await.unwrap(), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_stuck_delays_no_reading_and_sends_the_pong_after() {
    let (mut client, (mut reader, writer)) = pipe(64);
    let sending = tokio::spawn(async move { writer.send_binary(&[7; 500]).await });
    tokio::time::sleep(Duration::from_millis(1)).await;
    client.write_all(&frame(0x89, b"?")).await.unwrap();
    client.write_all(&frame(0x81, b"read")).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(SocketEvent::Text("read")));
    assert_eq!(read_frame(&mut client).await, (0x82, vec![7; 500]));
    assert_eq!(read_frame(&mut client).await, (0x8a, b"?".to_vec()));
    sending.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_close_is_answered_with_its_code() {
    let (mut client, (mut reader, writer)) = pipe(1000);
    let close = frame(0x88, &close_payload(3001, "bye"));
    client.write_all(&[close, frame(0x82, b"late")].concat()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(reader.next().await.unwrap(), None);
    }
    let said = reader.close_frame().unwrap();
    assert_eq!((said.code.unwrap().get(), said.reason.as_str()), (3001, "bye"));
    assert!(matches!(writer.send_text("late").await, Err(SocketError::Closed)));
    assert_eq!(read_frame(&mut client).await, (0x88, close_payload(3001, "")));
    assert_eq!(read_all(&mut client).await, "");
}

#[tokio::test(start_paused = true)]
async fn an_empty_close_is_answered_empty() {
    let (mut client, (mut reader, _writer)) = pipe(1000);
    client.write_all(&frame(0x88, b"")).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), None);
    assert_eq!(read_frame(&mut client).await, (0x88, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn our_close_is_sent_once_and_drain_waits_for_the_peers() {
    let (mut client, (mut reader, writer)) = pipe(1000);
    writer.close(CloseCode::GOING_AWAY, "shutting down").await.unwrap();
    writer.close(CloseCode::NORMAL, "again").await.unwrap();
    assert!(matches!(writer.send_ping(b"").await, Err(SocketError::Closed)));
    client.write_all(&frame(0x82, b"still under way")).await.unwrap();
    client.write_all(&frame(0x88, &close_payload(1001, ""))).await.unwrap();
    reader.drain().await;
    assert!(reader.close_frame().is_some());
    assert_eq!(read_frame(&mut client).await, (0x88, close_payload(1001, "shutting down")));
    assert_eq!(read_all(&mut client).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_violation_is_answered_and_ends_the_connection() {
    for (input, violation, code) in [
        (vec![0x82, 0x00], Violation::Unmasked, 1002),
        (frame(0x81, b"\xff"), Violation::NotUtf8, 1007),
        (frame(0x81, &[b'x'; 65_535]).repeat(1), Violation::TextTooLong, 1009),
        (
            frame(0x02, b"").into_iter().chain(frame(0, b"").repeat(16)).collect(),
            Violation::EmptyFragments,
            1008,
        ),
    ] {
        let (mut client, server) = duplex(1 << 20);
        let options = SocketOptions { text_bytes_max: 65_534, ..SocketOptions::default() };
        let (mut reader, writer) = WebSocket::new(server, options).split();
        client.write_all(&input).await.unwrap();
        let reading = tokio::spawn(async move {
            let first = reader.next().await.unwrap_err();
            (first, reader.next().await.unwrap_err())
        });
        let (first, payload) = read_frame(&mut client).await;
        assert_eq!((first, &payload[..2]), (0x88, &u16::to_be_bytes(code)[..]));
        assert_eq!(read_all(&mut client).await, "");
        // Closing with bytes in flight would reset the connection and lose the close frame.
        client.write_all(&[0; 100_000]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!reading.is_finished(), "the reader waits for the peer to go");
        drop(client);
        let (error, again) = reading.await.unwrap();
        assert!(matches!(error, SocketError::Violation(v) if v == violation), "{error}");
        assert!(matches!(again, SocketError::Violation(v) if v == violation), "{again}");
        assert!(matches!(writer.send_text("late").await, Err(SocketError::Closed)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_close_is_left_after_the_linger_timeout() {
    // The peer does not read, so the close frame does not fit, and does not end the connection.
    let (mut client, (mut reader, writer)) = pipe(16);
    let stuck = tokio::spawn(async move { writer.send_binary(&[0; 100]).await });
    tokio::time::sleep(Duration::from_millis(1)).await;
    client.write_all(&[0xff, 0xff]).await.unwrap();
    let begun = Instant::now();
    let error = reader.next().await.unwrap_err();
    assert!(matches!(error, SocketError::Violation(Violation::ReservedBits)), "{error}");
    let linger_timeout = SocketOptions::default().linger_timeout;
    assert!((linger_timeout..2 * linger_timeout).contains(&begun.elapsed()));
    stuck.abort();
}

#[tokio::test]
async fn an_end_without_a_close_is_distinguished() {
    let (mut client, (mut reader, _writer)) = pipe(1000);
    client.write_all(&frame(0x02, b"half")).await.unwrap();
    drop(client);
    assert_eq!(reader.next().await.unwrap(), Some(binary(b"half", false)));
    for _ in 0..2 {
        assert!(matches!(reader.next().await, Err(SocketError::Disconnected)));
    }
}

#[tokio::test]
async fn the_read_buffer_never_grows() {
    let options = SocketOptions { read_buffer_bytes: 1, ..SocketOptions::default() };
    let (mut client, server) = duplex(1 << 20);
    let (mut reader, _writer) = WebSocket::new(server, options).split();
    client.write_all(&frame(0x82, &[1; 60_000])).await.unwrap();
    let mut received = 0;
    while received < 60_000 {
        let Some(SocketEvent::Binary { bytes, .. }) = reader.next().await.unwrap() else {
            panic!()
        };
        assert!(bytes.len() <= 4096);
        received += bytes.len();
    }
}
