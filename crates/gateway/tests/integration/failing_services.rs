//! Failures of lookups, log-ins and servers, of which the operator is told.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_testkit::messages::Message;

use crate::backends::{Backend, answer_with, config, nobody, read_request};
use crate::gate::{Gate, PATIENCE, status};
use crate::tokens::{ISSUER, token};

/// A configuration with a lookup at this URL, and the backend `one`.
fn with_lookup(backend: &Backend, url: &str) -> String {
    format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/api\"\n\
         issuer = \"app\"\nclaim = \"tenant\"\nlookup = {{ url = \"{url}\" }}\n",
        backend.address
    )
}

/// A configuration with a session of this backend.
fn with_session(backend: &Backend, more: &str) -> String {
    format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n{more}[[routes]]\npath = \"/\"\n\
         issuer = \"app\"\nbackend = \"one\"\n\
         session = {{ login = \"/session?key=hidden\", credential_file = \"credential\" }}\n",
        backend.address
    )
}

/// The sentences of the warnings so far about a server.
fn heard(server: SocketAddr) -> Vec<String> {
    let heard = weir_testkit::messages::heard(&server.to_string());
    heard.into_iter().map(|warning| warning.sentence).collect()
}

#[tokio::test]
async fn a_look_up_that_fails_is_reported_with_its_reason() {
    let backend = Backend::answering(|_| answer_with("one")).await;
    for (answer, expected_status, outcome, reason) in [
        ("500 Oops", "502", "no_lookup", "its status is 500 Internal Server Error"),
        (
            "200 {\"backend\": 7}",
            "502",
            "no_lookup",
            "its answer is neither {\"backend\": \"NAME\"}",
        ),
        ("200 <html>\n<body>", "502", "no_lookup", "its answer is neither"),
        ("200 two", "502", "no_lookup", "it names the backend `two`, which the configuration does"),
        ("404 ", "403", "no_backend", ""),
    ] {
        let service = Backend::start(move |mut stream, _| async move {
            while read_request(&mut stream).await.is_some() {
                let (status, body) = answer.split_once(' ').expect("a status");
                let length = body.len();
                let answer =
                    format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        })
        .await;
        let url = format!("http://{}/of?key=hidden&tenant={{claim}}", service.address);
        let gate = Gate::start(&with_lookup(&backend, &url)).await;
        for tenant in ["a", "b"] {
            let token = token(&format!(r#""tenant":"{tenant}""#));
            assert_eq!(status(&gate.get_as(&token, "/api").await), expected_status, "{answer}");
        }
        assert!(gate.rows(2).await.iter().all(|row| row["outcome"] == outcome), "{answer}");
        let heard = heard(service.address);
        if reason.is_empty() {
            assert!(heard.is_empty(), "{heard:?}");
            continue;
        }
        let place = format!("the lookup http://{}/of", service.address);
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(
            heard[0].starts_with(&place) && heard[0].contains("of the route /api"),
            "{heard:?}"
        );
        assert!(heard[0].contains(reason) && !heard[0].contains("hidden"), "{reason}: {heard:?}");
    }
    let service = nobody();
    let url = format!("http://{service}/{{claim}}");
    let gate = Gate::start(&with_lookup(&backend, &url)).await;
    assert_eq!(status(&gate.get_as(&token(r#""tenant":"a""#), "/api").await), "502");
    assert!(heard(service)[0].contains("no connection: "), "{:?}", heard(service));
}

#[tokio::test]
async fn a_log_in_that_fails_is_reported_with_its_reason() {
    for (answer, reason) in [
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "its status is 401 Unauthorized"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            "neither `access_token` in JSON nor a cookie",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", "its answer breaks off"),
        ("hang", "there was no complete answer within 200ms"),
        ("", "there is no answer"),
    ] {
        let backend = Backend::start(move |mut stream, _| async move {
            if read_request(&mut stream).await.is_some() && answer != "hang" {
                let _ = stream.write_all(answer.as_bytes()).await;
                return;
            }
            let _ = read_request(&mut stream).await;
        })
        .await;
        // Only a backend that hangs is given up: the others may be slow to answer on a busy
        // machine.
        let more = if answer == "hang" { "timeouts = { first_byte = \"200ms\" }\n" } else { "" };
        let gate = Gate::start(&with_session(&backend, more)).await;
        for subject in ["u", "v"] {
            let token = token(&format!(r#""sub":"{subject}""#));
            assert_eq!(status(&gate.get_as(&token, "/").await), "502", "{answer:?}");
        }
        let heard = heard(backend.address);
        assert_eq!(heard.len(), 2, "{heard:?}");
        let place = format!("the log-in at {}/session", backend.address);
        assert!(heard[0].starts_with(&place), "{heard:?}");
        assert!(heard[0].contains("for the backend one fails: "), "{heard:?}");
        assert!(heard[0].contains(reason), "{reason}: {heard:?}");
        let is_secret = |text: &str| text.contains("hidden") || text.contains("credential-of");
        assert!(!is_secret(&heard[0]), "{heard:?}");
    }
}

/// A backend that answers no health check.
async fn hanging() -> Backend {
    Backend::start(|mut stream, _| async move {
        // Reads until the gateway closes.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await
}

/// A backend that answers its health checks, and notes the time of each.
async fn checked(times: Arc<Mutex<Vec<Instant>>>) -> Backend {
    Backend::start(move |mut stream, _| {
        // Each check has a connection of its own.
        times.lock().expect("no panic").push(Instant::now());
        async move {
            if read_request(&mut stream).await.is_some() {
                let _ = stream.write_all(answer_with("well").as_bytes()).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_server_that_hangs_delays_no_check_of_the_others() {
    let hanging = [hanging().await, hanging().await, hanging().await];
    let times = Arc::new(Mutex::new(Vec::new()));
    let good = checked(times.clone()).await;
    let mut servers: Vec<_> = hanging.iter().map(|it| it.address).collect();
    servers.push(good.address);
    let more = "health = \"/health\"\nhealth_interval = \"300ms\"\n";
    let gate = Gate::start(&config(&servers, more)).await;
    let is_reported = |server: &Backend| {
        let expected = format!("{} of the backend one: it gets no requests", server.address);
        heard(server.address).iter().any(|it| it.starts_with(&expected))
    };
    let is_done = || {
        let servers = gate.handle.counts().backends.remove(0).servers;
        servers.iter().filter(|it| it.is_available).count() == 1
            && hanging.iter().all(is_reported)
            && times.lock().expect("no panic").len() >= 4
    };
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < PATIENCE, "{times:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // One after the other, each round took 1,200 ms. A busy machine may delay some checks, but not
    // all.
    let times = times.lock().expect("no panic");
    let shortest = times.windows(2).map(|pair| pair[1] - pair[0]).min();
    assert!(shortest < Some(Duration::from_millis(900)), "{times:?}");
}

#[tokio::test]
async fn servers_that_are_tried_all_the_same_are_not_said_to_be_left_out() {
    let (one, two) = (hanging().await, hanging().await);
    let more = "health = \"/health\"\nhealth_interval = \"100ms\"\n";
    let _gate = Gate::start(&config(&[one.address, two.address], more)).await;
    let start = tokio::time::Instant::now();
    let both = || [heard(one.address), heard(two.address)].concat();
    while both().len() < 2 {
        assert!(start.elapsed() < PATIENCE, "{:?}", both());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let heard = both();
    let without = "it gets no requests, because its health check failed";
    let tried = "no server of the backend is well, so each of them is tried";
    for part in [without, tried] {
        assert_eq!(heard.iter().filter(|it| it.contains(part)).count(), 1, "{heard:?}");
    }
    assert!(!heard.iter().any(|it| it.contains(without) && it.contains(tried)), "{heard:?}");
}

#[tokio::test]
async fn an_ejection_is_reported_with_its_reason() {
    let breaking = Backend::start(|mut stream, _| async move {
        // Every fourth request is answered, which ends the series of failures.
        if read_request(&mut stream).await.is_some_and(|request| request.contains(" /good ")) {
            let _ = stream.write_all(answer_with("good").as_bytes()).await;
        }
    })
    .await;
    let gate = Gate::start(&breaking.config()).await;
    let post = "POST / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    for _ in 0..2 {
        for _ in 0..3 {
            assert_eq!(status(&gate.exchange(post).await), "502");
        }
        assert_eq!(status(&gate.get("/good").await), "200");
    }
    let server = breaking.address.to_string();
    let warnings = weir_testkit::messages::heard(&server);
    let expected = format!("{server} of the backend one: it failed 3 times in a row: no answer: ");
    for Message { sentence, fields } in &warnings {
        assert_eq!((&*fields["backend"], &fields["server"]), ("one", &server));
        assert!(sentence.starts_with(&expected), "{sentence}");
        assert!(sentence.ends_with("so each of them is tried"), "{sentence}");
    }
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

/// A client that knows how to get such an answer must not be able to take a server from the others.
#[tokio::test]
async fn an_answer_that_cannot_be_read_takes_no_server_out() {
    let odd = Backend::answering(|request| match request.contains(" /odd ") {
        true => format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(200)),
        false => answer_with("good"),
    })
    .await;
    let gate = Gate::start(&odd.config()).await;
    gate.handle.measure();
    for _ in 0..6 {
        assert_eq!(status(&gate.get("/odd").await), "502");
    }
    let servers = &gate.handle.counts().backends[0].servers;
    assert!(servers[0].is_available, "{servers:?}");
    assert_eq!(status(&gate.get("/good").await), "200");
    assert_eq!(gate.rows(7).await[0]["outcome"], "backend_broken");
    assert_eq!(heard(odd.address), [""; 0]);
}

#[tokio::test]
async fn caches_have_counters_before_they_are_used() {
    let backend = Backend::answering(|_| answer_with("one")).await;
    let lookups = with_lookup(&backend, &format!("http://{}/{{claim}}", backend.address));
    for (config, caches) in [
        (backend.config(), &[][..]),
        (lookups, &["lookup"]),
        (with_session(&backend, ""), &["session"]),
    ] {
        let gate = Gate::start(&config).await;
        gate.handle.measure();
        let counts = gate.handle.counts().events.cache_lookups;
        for cache in ["lookup", "session"] {
            let expected = caches.contains(&cache).then_some(&0);
            assert_eq!(counts.get(&(cache, "hit")), expected, "{cache}: {counts:?}");
            assert_eq!(counts.get(&(cache, "miss")), expected, "{cache}: {counts:?}");
        }
    }
}
