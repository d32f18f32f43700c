//! `curl -T` of logs that cannot be read whole.

use std::io::Write;

use crate::common::{Response, TestServer, log};
use weir_server::{Remedies, ServerOptions};
use weir_testkit::archive::tar;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// The report of the session that a response names.
async fn report(server: &TestServer, response: &Response) -> serde_json::Value {
    let path = response.field("location").expect("an address");
    server.report(path.strip_prefix("/s/").expect("a session")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_is_cut_short_is_not_created() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(200_000);
    let archive = tar(&[("a.log", &log), ("b.log", &log)]);
    let cut = &archive[..log.len() + 512 + 100_000];
    let response = server.put("logs.tar", cut).await;
    assert_eq!((response.status, &response.json()["error"]), (422, &"incomplete".into()));
    let refusal = response.json();
    let message = refusal["message"].as_str().expect("a sentence");
    assert!(message.contains("logs.tar/b.log: the tar data is cut short"), "{message}");
    assert!(message.contains(" lines: ") && message.contains("http://"), "{message}");
    let report = report(&server, &response).await;
    assert!(report["records"].as_u64() > Some(1_000), "the lines before are kept");
    assert_eq!(report["incomplete"][0]["source"], "logs.tar/b.log");
    let reason = report["incomplete"][0]["reason"].as_str().expect("a sentence");
    assert!(reason.contains("cut short"), "{reason}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_has_its_defect_in_the_report() {
    let server = TestServer::start(ServerOptions::default()).await;
    let mut packed = gzip(&log(200_000));
    packed.truncate(packed.len() / 2);
    let response = server.put("a.log.gz", &packed).await;
    assert_eq!((response.status, &response.json()["error"]), (422, &"damaged".into()));
    let defects = &report(&server, &response).await["incomplete"];
    assert_eq!(
        (defects.as_array().map(Vec::len), &defects[0]["source"]),
        (Some(1), &"a.log.gz".into())
    );
    let whole = server.put("b.log", &log(200_000)).await;
    assert_eq!(whole.status, 201);
    assert!(report(&server, &whole).await.get("incomplete").is_none());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sound_data_that_needs_too_much_memory_is_not_called_damaged() {
    let server = TestServer::start(ServerOptions::default()).await;
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.include_contentsize(false).expect("a setting");
    encoder.window_log(28).expect("a setting");
    encoder.write_all(&log(1_000)).expect("memory");
    let packed = encoder.finish().expect("memory");
    let response = server.put("a.log.zst", &packed).await;
    assert_eq!((response.status, &response.json()["error"]), (422, &"needs_memory".into()));
    let refusal = response.json();
    let message = refusal["message"].as_str().expect("a sentence");
    let sentence = "the zstd data needs more than 128 MiB of memory to unpack; unpack it first";
    assert!(message.starts_with(sentence), "{message}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_no_log_is_said_to_be_none() {
    let options = ServerOptions {
        remedies: Remedies { unknown_format: "Name one.".to_owned(), ..Remedies::default() },
        ..ServerOptions::default()
    };
    let server = TestServer::start(options).await;
    let response = server.put("story.txt", b"The fog comes\non little cat feet.\n").await;
    assert_eq!(response.status, 201);
    let text = response.text();
    assert!(text.contains("2 lines: 0 records, 2 unparsed"), "{text}");
    assert!(text.ends_with("\nno line matches a known format. Name one.\n"), "{text}");
    let response = server.put("access.log", &log(1_000)).await;
    assert!(!response.text().contains("known format"), "{}", response.text());
}
