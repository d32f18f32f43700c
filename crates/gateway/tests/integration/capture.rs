//! Captures of single requests: their steps and heads, and which request is captured.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use weir_observe::capture::{Capture, CaptureError, CaptureOutcome, Step};

use crate::backends::{Backend, answer_with, config, nobody, read_request};
use crate::gate::{Gate, PATIENCE, status};
use crate::tokens::{ISSUER, token};

const HEAD: Duration = Duration::from_millis(200);
const BODY: Duration = Duration::from_millis(500);

/// A backend that sends the second half of its body only after the client has received the first.
async fn slow_backend(half_arrived: Arc<Notify>) -> Backend {
    Backend::start(move |mut stream, _| {
        let half_arrived = half_arrived.clone();
        async move {
            while read_request(&mut stream).await.is_some() {
                tokio::time::sleep(HEAD).await;
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
                let _ = stream.write_all(head).await;
                half_arrived.notified().await;
                tokio::time::sleep(BODY).await;
                let _ = stream.write_all(b"cd").await;
            }
        }
    })
    .await
}

/// Captures the next request, which `requests` sends.
async fn look<T>(
    gate: &Gate,
    condition: Option<&str>,
    requests: impl Future<Output = T>,
) -> (Capture, T) {
    let pending = gate.handle.capture(condition).expect("a valid condition");
    let (outcome, made) = tokio::join!(pending.wait(PATIENCE), requests);
    match outcome {
        CaptureOutcome::Found(capture) => (*capture, made),
        CaptureOutcome::Nothing { ended, .. } => panic!("nothing of {ended}"),
    }
}

fn names(capture: &Capture) -> Vec<&'static str> {
    capture.steps.iter().map(|step| step.name).collect()
}

fn step<'a>(capture: &'a Capture, name: &str) -> &'a Step {
    let found = capture.steps.iter().find(|step| step.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {capture:?}"))
}

fn took(capture: &Capture, name: &str) -> Duration {
    Duration::from_nanos(step(capture, name).duration_ns)
}

fn text<'a>(capture: &'a Capture, title: &str) -> &'a str {
    let found = capture.texts.iter().find(|(named, _)| *named == title);
    found.map_or_else(|| panic!("no {title} in {capture:?}"), |(_, text)| text)
}

#[tokio::test]
async fn the_steps_of_a_request_have_their_times() {
    let half_arrived = Arc::new(Notify::new());
    let backend = slow_backend(half_arrived.clone()).await;
    let config = format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\nissuer = \"app\"\n\
         backend = \"one\"\n",
        backend.address
    );
    let gate = Gate::start(&config).await;
    let token = token(r#""sub":"u""#);
    let half = (&b"\r\n\r\nab"[..], &*half_arrived);
    let request = gate.get_in_parts(&token, "/a?b=c&access=hidden", half);
    let (first, answer) = look(&gate, None, request).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!((&*first.name, first.has_ended), ("GET /a", true));
    let expected = [
        "client connection",
        "request head",
        "route",
        "token",
        "limits",
        "backend",
        "server connection",
        "request sent",
        "answer head",
        "answer body",
        "answer body",
        "last byte",
    ];
    let without_limits: Vec<&str> = expected.into_iter().filter(|name| *name != "limits").collect();
    assert_eq!(names(&first), without_limits, "no limits are set");
    assert_eq!(step(&first, "token").detail, "verified");
    assert!(step(&first, "server connection").detail.contains("new, connected in"), "{first:?}");
    // The backend may have the request before the gateway notes that it is sent.
    assert!(took(&first, "answer head") >= HEAD / 2, "{first:?}");
    let bodies: Vec<&Step> = first.steps.iter().filter(|it| it.name == "answer body").collect();
    assert_eq!([bodies[0].bytes, bodies[1].bytes], [Some(2), Some(2)]);
    assert!(Duration::from_nanos(bodies[1].duration_ns) >= BODY, "{first:?}");
    assert!(step(&first, "client connection").begun_ns <= 0);
    // The steps are contiguous, so their sum is the whole duration.
    let laps: u64 = first.steps.iter().filter(|it| it.begun_ns >= 0).map(|it| it.duration_ns).sum();
    assert!(laps <= first.duration.as_nanos() as u64, "{first:?}");
    assert!(laps + 400_000_000 >= first.duration.as_nanos() as u64, "{first:?}");

    let request = gate.get_in_parts(&token, "/a", half);
    let (second, answer) = look(&gate, None, request).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(step(&second, "token").detail, "remembered");
    assert!(step(&second, "server connection").detail.ends_with(": reused"), "{second:?}");
}

#[tokio::test]
async fn heads_are_shown_without_secrets() {
    let backend = Backend::answering(|_| {
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nSet-Cookie: a=tUTx91\r\n\r\nabcd".to_owned()
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let request = "GET /a?token=qZ7secret&b=1 HTTP/1.1\r\nHost: gate\r\nCookie: s=qZ7secret\r\n\
                   X-Api-Key: qZ7secret\r\nUser-Agent: yes<b>\r\nConnection: close\r\n\r\n";
    let (seen, answer) = look(&gate, None, gate.exchange(request)).await;
    assert!(answer.contains("tUTx91"), "the client gets its cookie: {answer}");
    let titles: Vec<&str> = seen.texts.iter().map(|(title, _)| *title).collect();
    let expected =
        ["client to gateway", "gateway to server", "server to gateway", "gateway to client"];
    assert_eq!(titles, expected);
    let all = format!("{seen:?}");
    assert!(!all.contains("qZ7secret") && !all.contains("tUTx91"), "{all}");
    let came = text(&seen, "client to gateway");
    assert!(
        came.starts_with("GET /a?token=(9 bytes not shown)&b=(1 byte not shown) HTTP/1.1\n"),
        "{came}"
    );
    assert!(came.contains("cookie: (1 cookie, 11 bytes not shown)\n"), "{came}");
    assert!(came.contains("user-agent: yes<b>\n"), "{came}");
    let sent = text(&seen, "gateway to server");
    assert!(sent.contains("x-forwarded-for: 127.0.0.1\n"), "{sent}");
    let answered = text(&seen, "server to gateway");
    assert!(answered.starts_with("HTTP/1.1 200 OK\ncontent-length: 4\n"), "{answered}");
}

#[tokio::test]
async fn a_condition_chooses_the_request() {
    let backend = Backend::answering(|request| match request.starts_with("GET /bad") {
        true => "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_owned(),
        false => answer_with("ok"),
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let requests = async {
        for path in ["/", "/other", "/bad/1", "/bad/2"] {
            gate.get(path).await;
        }
    };
    let condition = Some("status>=500 and path^=/bad and route=/");
    let (seen, ()) = look(&gate, condition, requests).await;
    assert_eq!(seen.name, "GET /bad/1");
    let pending = gate.handle.capture(Some("status>=500 and path~^/never")).expect("valid");
    gate.get("/bad/3").await;
    let outcome = pending.wait(Duration::from_millis(1)).await;
    assert!(matches!(outcome, CaptureOutcome::Nothing { ended: 1, unseen: 0 }), "{outcome:?}");
    for (condition, expected) in [
        ("status==500", "`==` is not an operator"),
        ("nothing=1", "nothing"),
        ("time>2026-01-01", "the request is yet to come"),
    ] {
        let refused = gate.handle.capture(Some(condition)).expect_err("not valid");
        let CaptureError::Condition(why) = refused else { panic!("{refused:?}") };
        assert!(why.contains(expected) && why.contains('^'), "{condition}: {why}");
    }
}

#[tokio::test]
async fn each_attempt_is_a_step() {
    let gone = nobody();
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&config(&[gone, backend.address], "")).await;
    // One of the first two requests is sent to the server that has stopped.
    let mut attempts = Vec::new();
    for _ in 0..2 {
        let (seen, answer) = look(&gate, None, gate.get("/")).await;
        assert_eq!(status(&answer), "200", "{answer}");
        let connections = seen.steps.iter().filter(|it| it.name == "server connection");
        attempts.push(connections.map(|it| it.detail.clone()).collect::<Vec<_>>());
    }
    let retried = attempts.iter().find(|it| it.len() == 2).expect("one was sent again");
    assert!(retried[0].starts_with(&format!("{gone}: it cannot be reached")), "{retried:?}");
    assert!(retried[1].starts_with(&backend.address.to_string()), "{retried:?}");
}

#[tokio::test]
async fn the_parts_of_a_body_are_steps_and_so_is_a_log_in() {
    let logins = Arc::new(AtomicUsize::new(0));
    let counted = logins.clone();
    let backend = Backend::start(move |mut stream, _| {
        let counted = counted.clone();
        async move {
            while let Some(request) = read_request(&mut stream).await {
                let answer = match request.starts_with("POST /session ") {
                    true => {
                        counted.fetch_add(1, Ordering::SeqCst);
                        r#"{"access_token":"session-1","expires_in":60}"#
                    }
                    false => "ok",
                };
                let _ = stream.write_all(answer_with(answer).as_bytes()).await;
            }
        }
    })
    .await;
    let gate = Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\nissuer = \"app\"\n\
         backend = \"one\"\nsession = {{ login = \"/session\", credential_file = \"credential\" }}\n",
        backend.address
    ))
    .await;
    let token = token(r#""sub":"u""#);
    let request = format!(
        "POST /in HTTP/1.1\r\nHost: gate\r\nAuthorization: Bearer {token}\r\nContent-Length: 5\r\n\
         Connection: close\r\n\r\nhello"
    );
    let (seen, answer) = look(&gate, None, gate.exchange(&request)).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(step(&seen, "session").detail, "log-in");
    assert_eq!(step(&seen, "request body").bytes, Some(5));
    assert_eq!(logins.load(Ordering::SeqCst), 1);
    let all = format!("{seen:?}");
    assert!(!all.contains("session-1") && !all.contains("hello"), "{all}");
    let (seen, _) = look(&gate, None, gate.exchange(&request)).await;
    assert_eq!(step(&seen, "session").detail, "remembered");
}

#[tokio::test]
async fn what_is_refused_and_what_hangs_is_shown_too() {
    let arrived = Arc::new(Notify::new());
    let seen = arrived.clone();
    let backend = Backend::start(move |mut stream, _| {
        let seen = seen.clone();
        async move {
            let _request = read_request(&mut stream).await;
            seen.notify_one();
            std::future::pending::<()>().await;
        }
    })
    .await;
    let gate = Gate::start(&format!(
        "{}[[routes]]\npath = \"/x\"\nhost = \"b\"\nbackend = \"one\"\n",
        backend.config()
    ))
    .await;
    let refused = "TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let (seen, _) = look(&gate, None, gate.exchange(refused)).await;
    assert!(names(&seen).contains(&"refused"), "{seen:?}");
    let pending = gate.handle.capture(None).expect("room");
    let client = gate.get("/hangs");
    let outcome = async {
        arrived.notified().await;
        // The backend may have the request before the gateway notes that it is sent.
        pending.wait(Duration::from_millis(500)).await
    };
    let outcome = tokio::select! {
        outcome = outcome => outcome,
        _answer = client => panic!("it hangs"),
    };
    let CaptureOutcome::Found(seen) = outcome else { panic!("{outcome:?}") };
    assert!(!seen.has_ended && names(&seen).last() == Some(&"request sent"), "{seen:?}");
}
