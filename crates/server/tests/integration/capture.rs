//! Captures of an upload, with its messages, acknowledgements and bytes, and of a request.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_observe::capture::{Capture, CaptureOutcome, PendingCapture, Step, StepTotal};
use weir_server::ServerOptions;

use crate::common::{PATIENCE, TestServer, log};

const MESSAGE_BYTES: usize = 100_000;
const HALF: usize = 2 * MESSAGE_BYTES;

async fn found(pending: PendingCapture) -> Capture {
    match pending.wait(PATIENCE).await {
        CaptureOutcome::Found(capture) => *capture,
        CaptureOutcome::Nothing { .. } => panic!("nothing was seen"),
    }
}

fn total<'a>(capture: &'a Capture, name: &str) -> &'a StepTotal {
    let found = capture.totals.iter().find(|total| total.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", capture.totals))
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_acknowledgements_of_an_upload_are_steps() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(400_000);
    let pending = server.handle.uploads().arm(None).expect("nobody else waits");
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    assert_eq!(upload.begin("a", log.len()).await, 0);
    // An acknowledgement is recorded after it is sent, so only the arrival of the second one shows
    // that the first one was recorded.
    upload.send(&log[..HALF], MESSAGE_BYTES).await;
    upload.wait_for_ack(1).await;
    upload.send(&log[HALF..], MESSAGE_BYTES).await;
    upload.wait_for_ack(HALF + 1).await;
    upload.finish("a").await;
    let capture = found(pending).await;
    assert!(capture.has_ended);
    let messages = total(&capture, "message");
    assert_eq!(messages.count, log.len().div_ceil(MESSAGE_BYTES) as u64, "{messages:?}");
    assert_eq!(messages.bytes, Some(log.len() as u64));
    assert!(messages.bytes_median.is_some_and(|bytes| (96_000..=100_000).contains(&bytes)));
    assert_eq!(total(&capture, "read").bytes, Some(log.len() as u64));
    assert!(total(&capture, "submit").count >= 1);
    assert!(total(&capture, "ack").count >= 1);
    // No capture waits for the next one.
    upload.send_file("b", &log, MESSAGE_BYTES).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_in_a_request_is_seen_too() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(300_000);
    let pending = server.handle.uploads().arm(None).expect("nobody else waits");
    let answer = server.put("a%3Cb%3E.log", &log).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let capture = found(pending).await;
    assert_eq!((&*capture.name, capture.has_ended), ("a<b>.log", true));
    assert_eq!(total(&capture, "answer").count, 1);
    let heads: Vec<_> = capture.texts.iter().map(|(title, text)| (*title, &**text)).collect();
    let [("client to server", request), ("server to client", response)] = heads[..] else {
        panic!("{heads:?}");
    };
    assert!(request.starts_with("PUT /a") && request.contains("content-length"), "{request}");
    assert!(response.contains("201 Created"), "{response}");
    assert_eq!(total(&capture, "read").bytes, Some(log.len() as u64));
    assert!(total(&capture, "submit").count >= 1);
    server.stop().await;
}

fn steps(capture: &Capture) -> Vec<&'static str> {
    capture.steps.iter().map(|step| step.name).collect()
}

fn step<'a>(capture: &'a Capture, name: &str) -> &'a Step {
    let found = capture.steps.iter().find(|step| step.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", capture.steps))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_seen_from_its_first_byte_to_the_last_of_its_answer() {
    let server = TestServer::start(ServerOptions::default()).await;
    let put = server.put("a.log", &log(2_000_000)).await;
    let location = put.field("location").expect("an address").to_owned();
    let id = location.rsplit('/').next().expect("an id").to_owned();
    let pending = server.handle.requests().arm(None).expect("nobody else waits");
    let path = format!("/api/sessions/{id}/export?format=csv&filter=secret");
    let answer = server.request("GET", "/api/sessions/none/report?token=qZ7secret", &[]).await;
    assert_eq!(answer.status, 404, "{}", answer.text());
    let refused = found(pending).await;
    assert!(refused.has_ended);
    let expected = ["client connection", "request head", "answer", "write", "last byte"];
    assert_eq!(steps(&refused), expected, "{refused:?}");
    assert_eq!(step(&refused, "answer").detail, "404 Not Found, unknown_session");
    let titles: Vec<&str> = refused.texts.iter().map(|(title, _)| *title).collect();
    assert_eq!(titles, ["client to server", "server to client"]);
    let all = format!("{refused:?}");
    assert!(!all.contains("qZ7secret") && all.contains("report?token="), "{all}");

    let pending = server.handle.requests().arm(None).expect("nobody else waits");
    let path = path.replace("&filter=secret", "");
    let answer = server.request("GET", &path, &[("Cookie", "a=qZ7secret")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let exported = found(pending).await;
    let writes = total(&exported, "write");
    assert!(writes.count >= 2, "the rows are not written at once: {writes:?}");
    assert!(writes.bytes > Some(answer.text().len() as u64), "{writes:?}");
    assert_eq!(steps(&exported).last(), Some(&"last byte"));
    let all = format!("{exported:?}");
    assert!(!all.contains(&id) && !all.contains("qZ7secret"), "{all}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_client_goes_is_seen_as_far_as_it_came() {
    let server = TestServer::start(ServerOptions::default()).await;
    let pending = server.handle.requests().arm(None).expect("nobody else waits");
    let mut client = TcpStream::connect(server.address).await.expect("the server listens");
    let head = format!(
        "PUT /a.log HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000\r\n\
         Expect: 100-continue\r\n\r\n",
        server.address
    );
    client.write_all(head.as_bytes()).await.expect("the server reads");
    let mut interim = [0; 12];
    client.read_exact(&mut interim).await.expect("the server wants the body");
    assert_eq!(&interim, b"HTTP/1.1 100");
    // The connection ends with a reset, so that it is not mistaken for the end of the sending side.
    client.set_zero_linger().expect("an option of the socket");
    drop(client);
    let seen = found(pending).await;
    assert!(seen.has_ended);
    let last = *steps(&seen).last().expect("steps");
    assert_eq!(last, "connection ended", "{seen:?}");
    // The next request has its own capture.
    let pending = server.handle.requests().arm(None).expect("nobody else waits");
    server.request("GET", "/", &[]).await;
    assert_eq!(found(pending).await.name, "GET /");
    server.stop().await;
}
