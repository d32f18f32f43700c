//! Captures of an upload, with its messages, acknowledgements and bytes, and of a request.

use std::convert::Infallible;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_observe::glass::{Capture, Observation, Sight, Step, StepTotal};
use weir_server::Options;

use crate::common::{PATIENCE, TestServer, log};

const MESSAGE_BYTES: usize = 100_000;
const HALF: usize = 2 * MESSAGE_BYTES;

async fn found(capture: Capture<Infallible>) -> Observation {
    match capture.wait(PATIENCE).await {
        Sight::Found(observation) => *observation,
        Sight::Nothing { .. } => panic!("nothing was seen"),
    }
}

fn total<'a>(observation: &'a Observation, name: &str) -> &'a StepTotal {
    let found = observation.totals.iter().find(|total| total.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", observation.totals))
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_acknowledgements_of_an_upload_are_steps() {
    let server = TestServer::start(Options::default()).await;
    let log = log(400_000);
    let capture = server.handle.uploads().arm(None).expect("nobody else waits");
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
    let observation = found(capture).await;
    assert!(observation.has_ended);
    let messages = total(&observation, "message");
    assert_eq!(messages.count, log.len().div_ceil(MESSAGE_BYTES) as u64, "{messages:?}");
    assert_eq!(messages.bytes, Some(log.len() as u64));
    assert!(messages.bytes_median.is_some_and(|bytes| (96_000..=100_000).contains(&bytes)));
    assert_eq!(total(&observation, "read").bytes, Some(log.len() as u64));
    assert!(total(&observation, "submit").count >= 1);
    assert!(total(&observation, "ack").count >= 1);
    // No capture waits for the next one.
    upload.send_file("b", &log, MESSAGE_BYTES).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_in_a_request_is_seen_too() {
    let server = TestServer::start(Options::default()).await;
    let log = log(300_000);
    let capture = server.handle.uploads().arm(None).expect("nobody else waits");
    let answer = server.put("a%3Cb%3E.log", &log).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let observation = found(capture).await;
    assert_eq!((&*observation.name, observation.has_ended), ("a<b>.log", true));
    assert_eq!(total(&observation, "answer").count, 1);
    let heads: Vec<_> = observation.texts.iter().map(|(title, text)| (*title, &**text)).collect();
    let [("client to server", request), ("server to client", response)] = heads[..] else {
        panic!("{heads:?}");
    };
    assert!(request.starts_with("PUT /a") && request.contains("content-length"), "{request}");
    assert!(response.contains("201 Created"), "{response}");
    assert_eq!(total(&observation, "read").bytes, Some(log.len() as u64));
    assert!(total(&observation, "submit").count >= 1);
    server.stop().await;
}

fn steps(observation: &Observation) -> Vec<&'static str> {
    observation.steps.iter().map(|step| step.name).collect()
}

fn step<'a>(observation: &'a Observation, name: &str) -> &'a Step {
    let found = observation.steps.iter().find(|step| step.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", observation.steps))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_seen_from_its_first_byte_to_the_last_of_its_answer() {
    let server = TestServer::start(Options::default()).await;
    let put = server.put("a.log", &log(2_000_000)).await;
    let location = put.field("location").expect("an address").to_owned();
    let id = location.rsplit('/').next().expect("an id").to_owned();
    let capture = server.handle.requests().arm(None).expect("nobody else waits");
    let path = format!("/api/sessions/{id}/export?format=csv&filter=secret");
    let answer = server.request("GET", "/api/sessions/none/report?token=qZ7secret", &[]).await;
    assert_eq!(answer.status, 404, "{}", answer.text());
    let refused = found(capture).await;
    assert!(refused.has_ended);
    let expected = ["client connection", "request head", "answer", "write", "last byte"];
    assert_eq!(steps(&refused), expected, "{refused:?}");
    assert_eq!(step(&refused, "answer").detail, "404 Not Found, unknown_session");
    let titles: Vec<&str> = refused.texts.iter().map(|(title, _)| *title).collect();
    assert_eq!(titles, ["client to server", "server to client"]);
    let all = format!("{refused:?}");
    assert!(!all.contains("qZ7secret") && all.contains("report?token="), "{all}");

    let capture = server.handle.requests().arm(None).expect("nobody else waits");
    let path = path.replace("&filter=secret", "");
    let answer = server.request("GET", &path, &[("Cookie", "a=qZ7secret")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let exported = found(capture).await;
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
    let server = TestServer::start(Options::default()).await;
    let capture = server.handle.requests().arm(None).expect("nobody else waits");
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
    let seen = found(capture).await;
    assert!(seen.has_ended);
    let last = *steps(&seen).last().expect("steps");
    assert_eq!(last, "connection ended", "{seen:?}");
    // The next request has its own capture.
    let capture = server.handle.requests().arm(None).expect("nobody else waits");
    server.request("GET", "/", &[]).await;
    assert_eq!(found(capture).await.name, "GET /");
    server.stop().await;
}
