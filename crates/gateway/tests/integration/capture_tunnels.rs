//! Captures of tunnels: their transfers, and why they end.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_observe::capture::{Capture, CaptureOutcome};

use crate::backends::{Backend, config, read_request};
use crate::gate::{Gate, PATIENCE};

/// A backend that answers each word of a tunnel with the word twice.
async fn doubling() -> Backend {
    Backend::start(|mut stream, _| async move {
        let Some(_request) = read_request(&mut stream).await else { return };
        let switch =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
        let _ = stream.write_all(switch.as_bytes()).await;
        let mut word = [0; 4];
        while stream.read_exact(&mut word).await.is_ok() {
            let _ = stream.write_all(&[word, word].concat()).await;
        }
    })
    .await
}

async fn open(gate: &Gate) -> TcpStream {
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    let handshake =
        "GET /socket HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    client.write_all(handshake.as_bytes()).await.expect("it reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.expect("a head"));
    }
    client
}

async fn say(client: &mut TcpStream) {
    client.write_all(b"qZ7s").await.expect("it reads");
    client.read_exact(&mut [0; 8]).await.expect("an answer");
}

fn found(outcome: CaptureOutcome) -> Capture {
    match outcome {
        CaptureOutcome::Found(capture) => *capture,
        CaptureOutcome::Nothing { ended, .. } => panic!("nothing of {ended}"),
    }
}

fn bytes(capture: &Capture, name: &str) -> Option<u64> {
    let found = capture.totals.iter().find(|total| total.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {capture:?}")).bytes
}

fn end<'a>(capture: &'a Capture, name: &str) -> &'a str {
    let found = capture.steps.iter().find(|step| step.name == name);
    &found.unwrap_or_else(|| panic!("no {name} in {capture:?}")).detail
}

#[tokio::test]
async fn a_tunnel_that_is_under_way_is_seen_to_its_end() {
    let backend = doubling().await;
    let gate = Gate::start(&backend.config()).await;
    let talk = async {
        let mut client = open(&gate).await;
        // Transfers before the capture started are not in it.
        say(&mut client).await;
        let pending = gate.handle.tunnels().arm(None).expect("a place");
        say(&mut client).await;
        client.shutdown().await.expect("it ends");
        client.read_to_end(&mut Vec::new()).await.expect("the other side ends too");
        pending.wait(PATIENCE).await
    };
    let seen = found(tokio::time::timeout(PATIENCE, talk).await.expect("in time"));
    assert_eq!((&*seen.name, seen.has_ended), ("GET /socket", true));
    for (name, expected) in
        [("wait for the client", 4), ("write to the server", 4), ("wait for the server", 8)]
    {
        assert_eq!(bytes(&seen, name), Some(expected), "{name}: {seen:?}");
    }
    // The client may have received the first answer before the capture has its write.
    let written = bytes(&seen, "write to the client");
    assert!([Some(8), Some(16)].contains(&written), "{seen:?}");
    assert_eq!(end(&seen, "end of the client"), "it sends no more");
    assert_eq!(end(&seen, "end of the server"), "it sends no more");
    assert!(!format!("{seen:?}").contains("qZ7s"), "{seen:?}");
}

#[tokio::test]
async fn one_in_which_nothing_moves_says_so() {
    let backend = doubling().await;
    let gate = Gate::start(&config(&[backend.address], "timeouts = { idle = \"3s\" }")).await;
    let request = gate.handle.capture(None).expect("a place");
    let talk = async {
        let mut client = open(&gate).await;
        say(&mut client).await;
        let pending = gate.handle.tunnels().arm(None).expect("a place");
        (pending.wait(PATIENCE).await, request.wait(PATIENCE).await)
    };
    let (tunnel, request) = tokio::time::timeout(PATIENCE, talk).await.expect("in time");
    let (tunnel, request) = (found(tunnel), found(request));
    assert_eq!(end(&tunnel, "end"), "nothing has moved for 3 s");
    // The capture of the request that opened the tunnel includes the tunnel.
    assert_eq!(bytes(&request, "write to the client"), Some(8), "{request:?}");
    assert_eq!(end(&request, "aborted"), "tunnel_idle");
    let row = gate.rows(1).await.remove(0);
    assert_eq!(row["bytes"], "8", "{row:?}");
}
