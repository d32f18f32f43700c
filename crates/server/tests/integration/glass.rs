//! Looking at an upload: its messages, its acknowledgements and what becomes of its bytes.

use std::convert::Infallible;

use weir_observe::glass::{Capture, Observation, Sight, StepTotal};
use weir_server::Options;

use crate::common::{PATIENCE, TestServer, log};

const MESSAGE_BYTES: usize = 100_000;
const HALF: usize = 2 * MESSAGE_BYTES;

async fn found(capture: Capture<Infallible>) -> Observation {
    match capture.wait(PATIENCE).await {
        Sight::Found(observation) => *observation,
        Sight::Nothing { .. } => panic!("no upload was seen"),
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
    // An acknowledgement is noted when it is sent, so the first one is when the second has come.
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
    assert!(total(&observation, "hand on").count >= 1);
    assert!(total(&observation, "ack").count >= 1);
    // Nobody looks at the next one.
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
    assert_eq!(total(&observation, "read").bytes, Some(log.len() as u64));
    assert!(total(&observation, "hand on").count >= 1);
    server.stop().await;
}
