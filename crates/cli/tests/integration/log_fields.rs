//! The fields of messages: what each is about, for programs that read the log.

use std::io::Write;
use std::net::TcpStream;

use serde_json::Value;

use crate::gateway::config;
use crate::log::{Logging, ask, nowhere};
use crate::support::{Folder, text};

const JSON: [&str; 2] = ["--log-as", "json"];

/// The fields of the first message that contains a text.
fn fields(logging: &Logging, part: &str) -> Value {
    let line = logging.line(part);
    let event: Value = serde_json::from_str(&line).expect("JSON");
    event["fields"].clone()
}

#[test]
fn a_server_that_cannot_be_reached_is_in_the_fields() {
    let (folder, server) = (Folder::new(), nowhere().to_string());
    let gateway = Logging::start_with(&folder, &config(server.parse().expect("it is one")), &JSON);
    assert!(Logging::ask(&gateway.line("answering at")).starts_with("HTTP/1.1 502"));
    let found = fields(&gateway, "it cannot be reached");
    assert_eq!(found, serde_json::json!({ "backend": "one", "server": server }));

    let (folder, server) = (Folder::new(), nowhere());
    let gateway = Logging::start_with(&folder, &config(server), &[]);
    assert!(Logging::ask(&gateway.line("answering at")).starts_with("HTTP/1.1 502"));
    let line = gateway.line("it cannot be reached");
    assert!(line.ends_with(&format!(" backend=one server={server}")), "{line}");
}

#[test]
fn a_configuration_that_is_read_again_is_in_the_fields() {
    let folder = Folder::new();
    let gateway = Logging::start_with(&folder, &config(nowhere()), &JSON);
    gateway.line("answering at");
    let path = folder.path("gateway.toml");
    std::fs::write(&path, "listen = 3").expect("written");
    let found = fields(&gateway, "goes on with the configuration before");
    assert_eq!(found["file"], text(&path));
    std::fs::write(&path, config(nowhere())).expect("written");
    let found = fields(&gateway, "the configuration was read again");
    assert_eq!(found, serde_json::json!({ "file": text(&path) }));
}

/// A token that no key has signed: `{"alg":"RS256","kid":"a"}` and the claims iss, aud and exp.
const TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJhdWQiOiJhcGkiLCJleHAiOjk5OTk5OTk5OTl9.";

#[test]
fn a_key_set_that_cannot_be_fetched_is_in_the_fields() {
    let (folder, keys) = (Folder::new(), nowhere());
    let config = config(nowhere());
    let issuer = format!(
        "issuer = \"app\"\n[issuers.app]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
         algorithms = [\"RS256\"]\njwks_url = \"http://{keys}/keys\"\n"
    );
    let gateway = Logging::start_with(&folder, &(config + &issuer), &JSON);
    let token = format!("{TOKEN}{}", "A".repeat(342));
    let request = format!(
        "GET / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let answer = ask(&gateway.line("answering at"), &request);
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let found = fields(&gateway, "the keys of the issuer `app` cannot be fetched");
    assert_eq!(found["url"], format!("http://{keys}/keys"));
    let error = found["error"].as_str().unwrap_or_default();
    assert!(error.contains("Connection refused"), "{found}");
}

#[test]
fn a_sender_that_is_dropped_is_in_the_fields() {
    let arguments = ["--no-open", "--listen", "127.0.0.1:0", "--idle", "5s"];
    let feed = Logging::run(&[&["listen", "127.0.0.1:0"], &arguments[..], &JSON].concat());
    let line = feed.line("listening at");
    let event: Value = serde_json::from_str(&line).expect("JSON");
    let listener = event["message"].as_str().and_then(|it| it.strip_prefix("listening at "));
    let listener = listener.expect("the address");
    let mut sender = TcpStream::connect(listener.trim_start_matches("tcp://")).expect("it listens");
    sender.write_all(b"no end").expect("it reads");
    let found = fields(&feed, "it has completed no line");
    let peer = sender.local_addr().expect("an address").to_string();
    let expected = serde_json::json!({ "listener": listener, "peer": peer, "received_bytes": 6 });
    assert_eq!(found, expected);
}
