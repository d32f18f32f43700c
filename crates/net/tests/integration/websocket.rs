//! WebSockets through the server and its client, over real sockets.

use std::time::Duration;

use crate::common::{Running, frame, read_frame, read_until, soon};
use hyper::{Request, Response};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use weir_net::websocket::client::{ClientOptions, ConnectError, Message, connect, encode_binary};
use weir_net::websocket::{
    CloseCode, SocketError, SocketEvent, SocketOptions, UpgradedStream, WebSocket, accept,
};
use weir_net::{Body, Client, HostGuard, IncomingBody, ServeOptions};

/// A server that passes every WebSocket it accepts to `run`.
async fn start<R, F>(run: R) -> Running
where
    R: Fn(WebSocket<UpgradedStream>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), SocketError>> + Send + 'static,
{
    let handler = move |mut request: Request<IncomingBody>, _: Client| {
        let run = run.clone();
        async move {
            let (response, upgrade) = match accept(&mut request) {
                Ok(accepted) => accepted,
                Err(error) => {
                    let mut response = Response::new(Body::from(error.to_string()));
                    error.set_on(&mut response);
                    return response;
                }
            };
            tokio::spawn(
                async move { run(upgrade.websocket(SocketOptions::default()).await?).await },
            );
            response
        }
    };
    Running::start(ServeOptions::default(), handler).await
}

async fn echo(socket: WebSocket<UpgradedStream>) -> Result<(), SocketError> {
    let (mut reader, writer) = socket.split();
    let mut message = Vec::new();
    while let Some(event) = reader.next().await? {
        match event {
            SocketEvent::Text(text) => writer.send_text(text).await?,
            SocketEvent::Binary { bytes, end_of_message } => {
                message.extend_from_slice(bytes);
                if end_of_message {
                    writer.send_binary(&std::mem::take(&mut message)).await?;
                }
            }
            SocketEvent::Pong(_) => {}
        }
    }
    Ok(())
}

/// Bytes that reveal a shift, a swap or a wrong mask.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

#[tokio::test]
async fn echo_at_every_frame_size() {
    let server = start(echo).await;
    for (message_bytes, frame_bytes) in [
        (0, 1),
        (1, 1),
        (125, 200),
        (126, 200),
        (300, 7),
        (65_535, 65_535),
        (65_536, 65_536),
        (400_000, 131_000),
    ] {
        let options = ClientOptions { frame_bytes, ..ClientOptions::default() };
        let (mut sender, mut receiver) = connect(server.address, "/", options).await.unwrap();
        let message = pattern(message_bytes);
        sender.send_binary(&message).await.unwrap();
        assert_eq!(soon(receiver.next()).await.unwrap(), Some(Message::Binary(message)));
        sender.send_text("grüße, 世界").await.unwrap();
        let text = Some(Message::Text("grüße, 世界".to_owned()));
        assert_eq!(soon(receiver.next()).await.unwrap(), text);
        sender.close(CloseCode::NORMAL, "done").await.unwrap();
        let closed = soon(receiver.next()).await.unwrap();
        assert!(matches!(closed, Some(Message::Close(f)) if f.code == Some(CloseCode::NORMAL)));
        assert_eq!(soon(receiver.next()).await.unwrap(), None, "the server closes first");
    }
}

#[tokio::test]
async fn an_upload_arrives_as_it_was_sent() {
    let (report, mut reports) = mpsc::unbounded_channel();
    let server = start(move |socket| {
        let report = report.clone();
        async move {
            let (mut reader, writer) = socket.split();
            let (mut received, mut messages) = (Vec::new(), 0);
            while let Some(event) = reader.next().await? {
                let SocketEvent::Binary { bytes, end_of_message } = event else { continue };
                received.extend_from_slice(bytes);
                messages += usize::from(end_of_message);
                if end_of_message {
                    writer.send_text(&received.len().to_string()).await?;
                }
            }
            let _ = report.send((received, messages));
            Ok(())
        }
    })
    .await;
    let upload = pattern(20_000_000);
    for frame_bytes in [131_000, usize::MAX] {
        let (mut sender, mut receiver) =
            connect(server.address, "/", ClientOptions::default()).await.unwrap();
        let acks = tokio::spawn(async move { while let Ok(Some(_)) = receiver.next().await {} });
        for message in upload.chunks(8_000_000) {
            sender.send_raw(&encode_binary(message, frame_bytes)).await.unwrap();
        }
        sender.close(CloseCode::NORMAL, "").await.unwrap();
        let (received, messages) = soon(reports.recv()).await.unwrap();
        assert!(received == upload, "the bytes differ");
        assert_eq!(messages, 3);
        soon(acks).await.unwrap();
    }
}

#[tokio::test]
async fn bytes_sent_with_the_handshake_are_not_lost() {
    let server = start(echo).await;
    let mut stream = server.connect().await;
    let handshake = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let both = [handshake.as_bytes(), &frame(0x81, b"early"), &frame(0x81, b"bird")].concat();
    stream.write_all(&both).await.unwrap();
    let head = read_until(&mut stream, "\r\n\r\n").await.to_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
    assert!(!head.contains("sec-websocket-extensions"), "{head}");
    assert_eq!(read_frame(&mut stream).await, (0x81, b"early".to_vec()));
    assert_eq!(read_frame(&mut stream).await, (0x81, b"bird".to_vec()));
}

#[tokio::test]
async fn the_stream_is_the_socket_and_has_nodelay() {
    let (report, mut reports) = mpsc::unbounded_channel();
    let handler = move |mut request: Request<IncomingBody>, _: Client| {
        let report = report.clone();
        async move {
            let (response, upgrade) = accept(&mut request).unwrap();
            tokio::spawn(async move {
                let stream = upgrade.stream().await.unwrap();
                let socket = stream.transport().and_then(|transport| transport.tcp());
                report.send(socket.map(|socket| socket.nodelay().unwrap()))
            });
            response
        }
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    connect(server.address, "/", ClientOptions::default()).await.unwrap();
    assert_eq!(soon(reports.recv()).await, Some(Some(true)));
}

#[tokio::test]
async fn a_plain_request_is_answered_with_the_supported_version() {
    let server = start(echo).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let head = read_until(&mut stream, "\r\n\r\n").await.to_lowercase();
    assert!(head.starts_with("http/1.1 426 "), "{head}");
    assert!(head.contains("sec-websocket-version: 13"), "{head}");
}

#[tokio::test]
async fn a_page_of_another_site_gets_no_socket() {
    let handler = |mut request: Request<IncomingBody>, _: Client| async move {
        let guard = HostGuard::loopback();
        let mut response = Response::new(Body::empty());
        match guard.check(&request) {
            Ok(()) => response = accept(&mut request).unwrap().0,
            Err(refused) => *response.status_mut() = refused.status(),
        }
        response
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let with_origin = |origin: Option<String>| ClientOptions { origin, ..ClientOptions::default() };
    for (origin, refused) in [
        (None, None),
        (Some(format!("http://{}", server.address)), None),
        (Some("http://evil.example".to_owned()), Some(403)),
        (Some("null".to_owned()), Some(403)),
    ] {
        let connected = connect(server.address, "/", with_origin(origin.clone())).await;
        let status = match connected {
            Ok(_) => None,
            Err(ConnectError::Refused(status)) => Some(status),
            Err(ConnectError::Io(error)) => panic!("{error}"),
        };
        assert_eq!(status, refused, "{origin:?}");
    }
}

#[tokio::test]
async fn an_open_socket_holds_up_shutdown_for_the_grace_period_only() {
    let handler = |mut request: Request<IncomingBody>, _: Client| async move {
        let (response, upgrade) = accept(&mut request).unwrap();
        tokio::spawn(async move {
            let _stream = upgrade.stream().await;
            std::future::pending::<()>().await;
        });
        response
    };
    let grace_period = Duration::from_millis(100);
    let server =
        Running::start(ServeOptions { grace_period, ..ServeOptions::default() }, handler).await;
    let _client = connect(server.address, "/", ClientOptions::default()).await.unwrap();
    soon(server.stop()).await.unwrap();
}
