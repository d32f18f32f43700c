//! A gateway behind other proxies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_testkit::messages::heard;

use crate::backends::{Backend, answer_with, config, nobody};
use crate::gate::{Gate, PATIENCE, Row, body, status};

fn request(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n{fields}\r\n")
}

/// Sends a request with these fields. Returns what the backend received and what was recorded.
async fn exchange(trusted: &str, fields: &str) -> (String, Row) {
    let backend = Backend::answering(answer_with).await;
    let gate = Gate::start(&format!("{trusted}\n{}", backend.config())).await;
    let seen = body(&gate.exchange(&request(fields)).await).to_ascii_lowercase();
    (seen, gate.rows(1).await.remove(0))
}

#[tokio::test]
async fn the_word_of_trusted_proxies_counts() {
    let trusted = "trusted_networks = [\"127.0.0.0/8\", \"2001:db8::/32\"]";
    let fields = "X-Forwarded-For: 6.6.6.6, 203.0.113.9, 2001:db8::5\r\nX-Forwarded-Proto: https\r\n\
                  Forwarded: for=6.6.6.7\r\nX-Real-IP: 6.6.6.8\r\n";
    let (seen, row) = exchange(trusted, fields).await;
    for field in [
        "\r\nx-forwarded-for: 203.0.113.9, 2001:db8::5, 127.0.0.1\r\n",
        "\r\nx-forwarded-proto: https\r\n",
        "\r\nforwarded: for=203.0.113.9;proto=https\r\n",
    ] {
        assert!(seen.contains(field), "{field}: {seen}");
    }
    assert!(!seen.contains("6.6.6."), "{seen}");
    assert_eq!(row["client"], "203.0.113.9");
}

#[tokio::test]
async fn the_word_of_others_does_not() {
    let fields = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n";
    for trusted in ["", "trusted_networks = [\"10.0.0.0/8\", \"unix:\"]"] {
        let (seen, row) = exchange(trusted, fields).await;
        assert!(seen.contains("\r\nx-forwarded-for: 127.0.0.1\r\n"), "{seen}");
        assert!(seen.contains("\r\nforwarded: for=127.0.0.1;proto=http\r\n"), "{seen}");
        assert_eq!(row["client"], "127.0.0.1");
    }
}

#[tokio::test]
async fn a_reload_changes_who_is_trusted() {
    let backend = Backend::answering(answer_with).await;
    let gate = Gate::start(&backend.config()).await;
    let request = request("X-Forwarded-For: 203.0.113.9\r\n");
    gate.exchange(&request).await;
    gate.reload(&format!("trusted_networks = [\"127.0.0.1\"]\n{}", backend.config()));
    gate.exchange(&request).await;
    let rows = gate.rows(2).await;
    assert_eq!([&rows[0]["client"], &rows[1]["client"]], ["127.0.0.1", "203.0.113.9"]);
}

#[tokio::test]
async fn limits_count_the_client_behind_the_proxy() {
    let backend = Backend::answering(answer_with).await;
    let limit = "[[limits]]\nrule_file = \"clients.conf\"\nmode = \"enforce\"\n";
    let trusted = "trusted_networks = [\"127.0.0.1\"]";
    let gate = Gate::start(&format!("{trusted}\n{}{limit}", backend.config())).await;
    for client in ["203.0.113.1", "203.0.113.2", "203.0.113.1"] {
        gate.exchange(&request(&format!("X-Forwarded-For: {client}\r\n"))).await;
    }
    let rows = gate.rows(3).await;
    let statuses: Vec<&str> = rows.iter().map(|row| row["status"].as_str()).collect();
    assert_eq!(statuses, ["200", "200", "429"]);
}

#[tokio::test]
async fn proxies_name_their_clients_by_the_proxy_protocol() {
    let backend = Backend::answering(answer_with).await;
    let config = format!("trusted_networks = [\"127.0.0.1\"]\n{}", backend.config());
    let gate = Gate::start_at("proxy+tcp://127.0.0.1:0", &config).await;
    let request = request("X-Forwarded-For: 6.6.6.6\r\n");
    let answer = gate.exchange(&format!("PROXY TCP4 203.0.113.9 10.0.0.1 1 2\r\n{request}")).await;
    let seen = body(&answer).to_ascii_lowercase();
    assert!(seen.contains("\r\nx-forwarded-for: 203.0.113.9\r\n"), "{seen}");
    assert_eq!(gate.rows(1).await[0]["client"], "203.0.113.9");
    // A second trusted proxy after the load balancer.
    let from_proxy = "PROXY TCP4 127.0.0.1 10.0.0.1 1 2\r\n";
    gate.exchange(&format!("{from_proxy}{request}")).await;
    assert_eq!(gate.rows(2).await[1]["client"], "6.6.6.6");
    for _ in 0..3 {
        assert_eq!(gate.exchange(&request).await, "");
    }
    let heard = heard(": closed without a valid header of the PROXY protocol: there is none");
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard.iter().all(|it| it.fields["peer"].starts_with("127.0.0.1:")), "{heard:?}");
    gate.reload(&backend.config());
    assert_eq!(
        gate.exchange(&format!("{from_proxy}{request}")).await,
        "",
        "nobody is trusted any more"
    );
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named() {
    let address = nobody();
    let gate = Gate::start(&config(&[address], "")).await;
    for _ in 0..5 {
        assert_eq!(status(&gate.exchange(&request("")).await), "502");
    }
    let unreachable = heard(&format!("{address} of the backend one: it cannot be reached: "));
    assert_eq!(unreachable.len(), 5, "{unreachable:?}");
    let fields = &unreachable[0].fields;
    assert_eq!((&*fields["backend"], &fields["server"]), ("one", &address.to_string()));
    let ejected = heard(&format!("{address} of the backend one: it failed 3 times in a row: "));
    assert_eq!(ejected.len(), 1, "{ejected:?}");
}

#[tokio::test]
async fn a_server_that_is_not_well_is_named_with_the_reason() {
    static IS_WELL: AtomicBool = AtomicBool::new(false);
    let backend = Backend::answering(|_| match IS_WELL.load(Ordering::SeqCst) {
        true => answer_with("ok"),
        false => "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_owned(),
    })
    .await;
    // The interval is also the timeout of a check, so it is long enough for an answer on a busy
    // machine.
    let health = "health = \"/health\"\nhealth_interval = \"1s\"";
    let _gate = Gate::start(&config(&[backend.address], health)).await;
    let said = || heard(&backend.address.to_string());
    let wait_for = async |part: &str| {
        let said = async {
            while !said().iter().any(|it| it.sentence.contains(part)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, said).await.expect(part);
    };
    wait_for("its health check failed: its status is 500").await;
    IS_WELL.store(true, Ordering::SeqCst);
    wait_for("it is healthy again").await;
    let heard = said();
    assert_eq!(heard.len(), 2, "each change is said once");
    assert!(heard.iter().all(|it| it.fields["backend"] == "one"), "{heard:?}");
    assert!(heard.iter().all(|it| it.fields.contains_key("server")), "{heard:?}");
}
