//! Forwarding of requests and answers, with and without failures.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::backends::{Backend, answer_with, config, nobody, read_request};
use crate::gate::{Gate, PATIENCE, body, status};

fn echo(request: &str) -> String {
    answer_with(request)
}

#[tokio::test]
async fn a_request_reaches_the_backend_and_is_recorded() {
    let backend = Backend::answering(echo).await;
    let gate = Gate::start(&backend.config()).await;
    let answer = gate
        .exchange(
            "POST /a/b?c=d HTTP/1.1\r\nHost: shop.example\r\nConnection: close, X-Own\r\nX-Own: 1\r\n\
             X-Forwarded-For: 192.0.2.1\r\nX_Real_IP: 192.0.2.1\r\nReferer: r\r\nUser-Agent: u\r\n\
             Content-Length: 4\r\n\r\nbody",
        )
        .await;
    assert_eq!(status(&answer), "200");
    let seen = body(&answer);
    assert!(seen.starts_with("POST /a/b?c=d HTTP/1.1\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\nbody"), "{seen}");
    for field in
        ["host: shop.example", "x-forwarded-for: 127.0.0.1", "forwarded: for=127.0.0.1;proto=http"]
    {
        assert!(seen.to_ascii_lowercase().contains(field), "{field}: {seen}");
    }
    for field in ["x-own", "x_real_ip", "192.0.2.1", "connection:"] {
        assert!(!seen.to_ascii_lowercase().contains(field), "{field}: {seen}");
    }
    let row = gate.rows(1).await.remove(0);
    let bytes = seen.len().to_string();
    for (name, value) in [
        ("client", "127.0.0.1"),
        ("host", "shop.example"),
        ("method", "POST"),
        ("path", "/a/b"),
        ("query", "c=d"),
        ("protocol", "HTTP/1.1"),
        ("status", "200"),
        ("referer", "r"),
        ("user_agent", "u"),
        ("bytes", &bytes),
        ("route", "/"),
        ("backend", "one"),
        ("backend_address", &backend.address.to_string()),
        ("outcome", "answered"),
    ] {
        assert_eq!(row.get(name).map(String::as_str), Some(value), "{name}: {row:?}");
    }
}

#[tokio::test]
async fn connections_to_a_backend_are_used_again() {
    let backend = Backend::answering(echo).await;
    let gate = Gate::start(&backend.config()).await;
    for _ in 0..20 {
        assert_eq!(status(&gate.get("/").await), "200");
    }
    assert_eq!(gate.rows(20).await.len(), 20);
    assert!(backend.connections() <= 2, "{}", backend.connections());
}

#[tokio::test]
async fn a_backend_that_closes_idle_connections_loses_no_request() {
    // Each connection closes after one answer, without `Connection: close`.
    let backend = Backend::start(|mut stream, _| async move {
        if let Some(request) = read_request(&mut stream).await {
            let _ = stream.write_all(answer_with(&request).as_bytes()).await;
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    for number in 0..50 {
        let answer = gate.get(&format!("/{number}")).await;
        assert_eq!(status(&answer), "200", "{number}: {answer}");
    }
}

#[tokio::test]
async fn a_dead_server_is_left_out() {
    let backend = Backend::answering(echo).await;
    let gate = Gate::start(&config(&[nobody(), backend.address], "")).await;
    for _ in 0..20 {
        assert_eq!(status(&gate.get("/").await), "200");
    }
    let gate = Gate::start(&config(&[nobody()], "")).await;
    let answer = gate.get("/").await;
    assert_eq!(status(&answer), "502");
    let row = gate.rows(1).await.remove(0);
    assert_eq!((row["status"].as_str(), row["outcome"].as_str()), ("502", "backend_connect"));
}

#[tokio::test]
async fn what_may_have_been_done_is_not_done_twice() {
    let post = "POST / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let gate = Gate::start(&breaking_at_first().await.config()).await;
    assert_eq!(status(&gate.exchange(post).await), "502");
    let gate = Gate::start(&breaking_at_first().await.config()).await;
    assert_eq!(status(&gate.get("/").await), "200", "a GET may be sent again");
}

/// A backend whose first connection breaks after it has read a request.
async fn breaking_at_first() -> Backend {
    Backend::start(|mut stream, number| async move {
        while let Some(request) = read_request(&mut stream).await {
            if number == 0 {
                return;
            }
            let _ = stream.write_all(answer_with(&request).as_bytes()).await;
        }
    })
    .await
}

#[tokio::test]
async fn backends_that_misbehave_are_answered_for() {
    for (answer, expected_status, outcome) in [
        ("", "502", "backend_broken"),
        ("nonsense\r\n\r\n", "502", "backend_broken"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "502",
            "backend_broken",
        ),
        ("HTTP/1.1 200 OK\r\nBad Name: 1\r\n\r\n", "502", "backend_broken"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "200", "backend_broke_off"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "200", "backend_broke_off"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "502", "backend_broken"),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "200",
            "answered",
        ),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", "200", "answered"),
    ] {
        let backend = Backend::start(move |mut stream, _| async move {
            if read_request(&mut stream).await.is_some() {
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        })
        .await;
        let gate = Gate::start(&backend.config()).await;
        let got = gate.get("/").await;
        assert_eq!(status(&got), expected_status, "{answer:?}: {got}");
        let row = gate.rows(1).await.remove(0);
        assert_eq!(row["outcome"], outcome, "{answer:?}: {row:?}");
    }
}

#[tokio::test]
async fn backends_that_hang_are_given_up() {
    for (answer, timeouts, expected_status, outcome) in [
        ("", "first_byte = \"100ms\"", "504", "backend_timeout"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            "idle = \"100ms\"",
            "200",
            "backend_idle",
        ),
        ("", "whole = \"100ms\"", "504", "backend_timeout"),
        // Longer, because the head must come before it ends.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            "whole = \"1s\"",
            "200",
            "answer_timeout",
        ),
    ] {
        let backend = Backend::start(move |mut stream, _| async move {
            if read_request(&mut stream).await.is_some() {
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            std::future::pending::<()>().await;
        })
        .await;
        let more = format!("timeouts = {{ {timeouts} }}");
        let gate = Gate::start(&config(&[backend.address], &more)).await;
        assert_eq!(status(&gate.get("/").await), expected_status, "{answer:?}");
        assert_eq!(gate.rows(1).await.remove(0)["outcome"], outcome, "{answer:?}");
    }
}

#[tokio::test]
async fn a_long_upload_is_no_slow_answer() {
    let backend = Backend::answering(echo).await;
    // Less than the duration of the upload, and far more than the pause between two bytes.
    let more = "timeouts = { first_byte = \"2s\" }";
    let gate = Gate::start(&config(&[backend.address], more)).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    let head = "POST / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nContent-Length: 8\r\n\r\n";
    client.write_all(head.as_bytes()).await.expect("it reads");
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        client.write_all(b"x").await.expect("it reads");
    }
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.expect("an answer");
    assert_eq!(status(&String::from_utf8_lossy(&answer)), "200");
}

/// Otherwise a few slow clients could make the gateway avoid a healthy server.
#[tokio::test]
async fn a_client_that_pauses_is_no_slow_server() {
    let backend = Backend::answering(echo).await;
    let more = "timeouts = { first_byte = \"2s\" }";
    let gate = Gate::start(&config(&[backend.address], more)).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    let head = "POST / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nContent-Length: 8\r\n\r\n";
    client.write_all(format!("{head}half").as_bytes()).await.expect("it reads");
    tokio::time::sleep(Duration::from_secs(5)).await;
    client.write_all(b"rest").await.expect("it reads");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.expect("an answer");
    assert_eq!(status(&String::from_utf8_lossy(&answer)), "200");
}

#[tokio::test]
async fn a_server_gets_no_more_connections_than_it_may_have() {
    let backend = Backend::start(|mut stream, _| async move {
        while let Some(request) = read_request(&mut stream).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let _ = stream.write_all(answer_with(&request).as_bytes()).await;
        }
    })
    .await;
    let config = config(&[backend.address], "connections = 2");
    let gate = std::sync::Arc::new(Gate::start_on(4, "127.0.0.1:0", &config).await);
    let clients: Vec<_> = (0..10)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.get("/").await })
        })
        .collect();
    for client in clients {
        let answer =
            tokio::time::timeout(PATIENCE, client).await.expect("in time").expect("no panic");
        assert_eq!(status(&answer), "200");
    }
    assert!(backend.connections() <= 2, "{}", backend.connections());
}

#[tokio::test]
async fn a_client_that_vanishes_in_its_body_is_recorded() {
    let backend = Backend::answering(echo).await;
    let gate = Gate::start(&backend.config()).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    let head = "POST / HTTP/1.1\r\nHost: gate\r\nContent-Length: 100\r\n\r\nhalf";
    client.write_all(head.as_bytes()).await.expect("it reads");
    drop(client);
    let row = gate.rows(1).await.remove(0);
    assert_eq!(row["outcome"], "client_gone", "{row:?}");
    assert_eq!(status(&gate.get("/").await), "200", "others are served");
}

#[tokio::test]
async fn a_websocket_becomes_a_tunnel() {
    let backend = Backend::start(|mut stream, _| async move {
        let Some(request) = read_request(&mut stream).await else { return };
        assert!(request.to_ascii_lowercase().contains("upgrade: websocket"), "{request}");
        let switch =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
        let _ = stream.write_all(switch.as_bytes()).await;
        let mut word = [0; 4];
        while stream.read_exact(&mut word).await.is_ok() {
            word.reverse();
            let _ = stream.write_all(&word).await;
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    let handshake =
        "GET /socket HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    client.write_all(handshake.as_bytes()).await.expect("it reads");
    let exchange = async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.expect("a head"));
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        let mut word = [0; 4];
        client.write_all(b"abcd").await.expect("it reads");
        client.read_exact(&mut word).await.expect("an answer");
        assert_eq!(&word, b"dcba");
        client.shutdown().await.expect("it ends");
        client.read_to_end(&mut Vec::new()).await.expect("the other side ends too");
    };
    tokio::time::timeout(PATIENCE, exchange).await.expect("in time");
    let row = gate.rows(1).await.remove(0);
    assert_eq!((row["status"].as_str(), row["bytes"].as_str()), ("101", "4"), "{row:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_while_the_configuration_is_replaced() {
    let backends = [Backend::answering(echo).await, Backend::answering(echo).await];
    let configs = [backends[0].config(), backends[1].config()];
    let gate = std::sync::Arc::new(Gate::start(&configs[0]).await);
    // Each backend gets a request, even if the clients are slow or done before the other turns.
    assert_eq!(status(&gate.get("/").await), "200");
    gate.reload(&configs[1]);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move {
                for _ in 0..200 {
                    let answer = gate.get("/").await;
                    assert_eq!(status(&answer), "200", "{answer}");
                }
            })
        })
        .collect();
    for turn in 2..100 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        gate.reload(&configs[turn % 2]);
    }
    for client in clients {
        tokio::time::timeout(PATIENCE, client).await.expect("in time").expect("no request is lost");
    }
    assert!(backends.iter().all(|backend| backend.connections() > 0), "both were used");
    let rows = gate.rows(801).await;
    assert!(rows.iter().all(|row| row["outcome"] == "answered"));
}

#[tokio::test]
async fn requests_in_flight_end_before_the_gateway_does() {
    let backend = Backend::start(|mut stream, _| async move {
        if let Some(request) = read_request(&mut stream).await {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let _ = stream.write_all(answer_with(&request).as_bytes()).await;
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    client.write_all(b"GET / HTTP/1.1\r\nHost: gate\r\n\r\n").await.expect("it reads");
    while backend.connections() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    gate.stop().await;
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.expect("an answer");
    assert_eq!(status(&String::from_utf8_lossy(&answer)), "200");
}

#[tokio::test]
async fn a_path_without_a_route_is_refused() {
    let backend = Backend::answering(echo).await;
    let text = backend.config().replace("path = \"/\"", "path = \"/api\"\nhost = \"shop.example\"");
    let gate = Gate::start(&text).await;
    let request = |path: &str, host: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    };
    for (path, host, expected) in [
        ("/api", "shop.example", "200"),
        ("/api/x", "SHOP.example:8080", "200"),
        ("/apis", "shop.example", "404"),
        ("/", "shop.example", "404"),
        ("/api", "other.example", "404"),
    ] {
        let answer = gate.exchange(&request(path, host)).await;
        assert_eq!(status(&answer), expected, "{path} {host}");
    }
    let rows = gate.rows(5).await;
    assert_eq!(rows.iter().filter(|row| row["outcome"] == "no_route").count(), 3);
}

#[tokio::test]
async fn a_request_that_could_mean_another_one_is_refused() {
    let backend = Backend::answering(echo).await;
    let gate = Gate::start(&backend.config()).await;
    let mut count = 0;
    for (head, expected_status, outcome) in [
        ("GET /public/../api HTTP/1.1\r\nHost: a", "400", "ambiguous_path"),
        ("GET /%2e%2e/api HTTP/1.1\r\nHost: a", "400", "ambiguous_path"),
        ("GET //api HTTP/1.1\r\nHost: a", "400", "ambiguous_path"),
        ("GET /a HTTP/1.1\r\nHost: a\r\nHost: b", "400", "invalid_host"),
        ("GET /a HTTP/1.1", "400", "invalid_host"),
        ("TRACE /a HTTP/1.1\r\nHost: a", "405", "method_not_allowed"),
    ] {
        let answer = gate.exchange(&format!("{head}\r\nConnection: close\r\n\r\n")).await;
        assert_eq!(status(&answer), expected_status, "{head}");
        count += 1;
        assert_eq!(gate.rows(count).await[count - 1]["outcome"], outcome, "{head}");
    }
    assert_eq!(backend.connections(), 0, "nothing came through");
}

#[tokio::test]
async fn a_get_keeps_its_body() {
    let backend = Backend::answering(echo).await;
    let gate = Gate::start(&backend.config()).await;
    let request = "GET /_search HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                   Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
    let answer = gate.exchange(request).await;
    assert!(body(&answer).contains("4\r\nbody\r\n0\r\n"), "{answer}");
}

#[tokio::test]
async fn a_client_that_breaks_off_does_not_harm_the_server() {
    let backend = Backend::answering(echo).await;
    let gate = Gate::start(&config(&[backend.address, nobody()], "")).await;
    for number in 1..=6 {
        let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
        let head = "POST / HTTP/1.1\r\nHost: gate\r\nContent-Length: 100\r\n\r\nhalf";
        client.write_all(head.as_bytes()).await.expect("it reads");
        drop(client);
        assert_eq!(gate.rows(number).await.len(), number);
    }
    for _ in 0..10 {
        assert_eq!(status(&gate.get("/").await), "200");
    }
}
