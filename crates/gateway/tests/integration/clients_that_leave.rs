//! Clients that leave before their answer has come.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::backends::{Backend, answer_with, config, read_request};
use crate::gate::{Gate, PATIENCE, Row, status};

const HANG: &str = "GET /hang HTTP/1.1\r\nHost: gate\r\n\r\n";

/// A backend that never answers `/hang`, and of `/part` sends the head and a part of the body only.
/// Each such request adds a permit to the first semaphore, and the end of its connection one to the
/// second.
struct Hanging {
    backend: Backend,
    arrived: Arc<Semaphore>,
    left: Arc<Semaphore>,
}

impl Hanging {
    async fn start() -> Self {
        let (arrived, left) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (arrives, leaves) = (arrived.clone(), left.clone());
        let backend = Backend::start(move |mut stream, _| {
            let (arrives, leaves) = (arrives.clone(), leaves.clone());
            async move {
                while let Some(request) = read_request(&mut stream).await {
                    let answer = match &request {
                        it if it.contains(" /hang ") => String::new(),
                        it if it.contains(" /part ") => {
                            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_owned()
                        }
                        _ => answer_with("here"),
                    };
                    let _ = stream.write_all(answer.as_bytes()).await;
                    if !answer.ends_with("here") {
                        arrives.add_permits(1);
                        let _ = stream.read_to_end(&mut Vec::new()).await;
                        leaves.add_permits(1);
                        return;
                    }
                }
            }
        })
        .await;
        Self { backend, arrived, left }
    }

    /// A gateway before it with this number of connections.
    async fn gate(&self, connections: usize) -> Gate {
        let more = format!("connections = {connections}\ntimeouts = {{ connect = \"1s\" }}");
        Gate::start(&config(&[self.backend.address], &more)).await
    }
}

/// Waits for one permit, and takes it.
async fn take(semaphore: &Semaphore) {
    let permit = timeout(PATIENCE, semaphore.acquire()).await.expect("in time");
    permit.expect("it stays open").forget();
}

/// The ways in which a client leaves.
#[derive(Debug, Clone, Copy)]
enum Leave {
    /// It closes its connection: FIN.
    Close,
    /// It resets its connection: RST.
    Reset,
    /// It only closes its sending side.
    HalfClose,
}

/// Leaves. Returns the connection if it is still open.
async fn leave(mut client: TcpStream, way: Leave) -> Option<TcpStream> {
    match way {
        Leave::Close => return None,
        Leave::Reset => {
            client.set_zero_linger().expect("a socket");
            return None;
        }
        Leave::HalfClose => client.shutdown().await.expect("it is open"),
    }
    Some(client)
}

fn assert_gone(rows: &[Row]) {
    for row in rows {
        assert_eq!(row["outcome"], "client_gone", "{row:?}");
    }
}

#[tokio::test]
async fn the_places_of_clients_that_have_left_are_free() {
    let hanging = Hanging::start().await;
    let gate = hanging.gate(3).await;
    for way in [Leave::Close, Leave::Reset, Leave::HalfClose] {
        let mut open = Vec::new();
        for _ in 0..3 {
            let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
            client.write_all(HANG.as_bytes()).await.expect("it reads");
            take(&hanging.arrived).await;
            open.extend(leave(client, way).await);
        }
        for _ in 0..3 {
            take(&hanging.left).await;
        }
        assert_eq!(status(&gate.get("/").await), "200", "{way:?}: a place is free");
        let server = gate.handle.counts().backends.remove(0).servers.remove(0);
        assert_eq!(server.requests, 0, "{way:?}");
    }
    let rows = gate.rows(12).await;
    let (good, gone): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row["path"] == "/");
    assert_eq!((good.len(), gone.len()), (3, 9));
    assert_gone(&gone);
    assert!(gone.iter().all(|row| !row.contains_key("status")), "{gone:?}");
}

#[tokio::test]
async fn a_client_is_missed_in_the_middle_of_its_answer() {
    let hanging = Hanging::start().await;
    let gate = hanging.gate(1).await;
    for way in [Leave::Close, Leave::Reset, Leave::HalfClose] {
        let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
        client.write_all(HANG.replace("/hang", "/part").as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        while !answer.ends_with(b"half") {
            client.read_buf(&mut answer).await.expect("a part of the answer");
        }
        take(&hanging.arrived).await;
        let _open = leave(client, way).await;
        take(&hanging.left).await;
    }
    assert_gone(&gate.rows(3).await);
}

#[tokio::test]
async fn unread_bytes_hide_no_client_that_has_left() {
    let hanging = Hanging::start().await;
    let gate = hanging.gate(1).await;
    for way in [Leave::Close, Leave::Reset, Leave::HalfClose] {
        for pause in [Duration::ZERO, Duration::from_millis(50)] {
            let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
            client.write_all(HANG.as_bytes()).await.expect("it reads");
            take(&hanging.arrived).await;
            // The next request arrives while this one is answered.
            client.write_all(HANG.as_bytes()).await.expect("it reads");
            tokio::time::sleep(pause).await;
            let _open = leave(client, way).await;
            take(&hanging.left).await;
        }
    }
    assert_gone(&gate.rows(6).await);
}

#[tokio::test]
async fn a_client_that_stays_gets_both_of_its_answers() {
    let backend = Backend::start(|mut stream, _| async move {
        while read_request(&mut stream).await.is_some() {
            tokio::time::sleep(Duration::from_millis(1_300)).await;
            let _ = stream.write_all(answer_with("late").as_bytes()).await;
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let request = "GET / HTTP/1.1\r\nHost: gate\r\n\r\n";
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    client.write_all(request.as_bytes()).await.expect("it reads");
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.write_all(request.as_bytes()).await.expect("it reads");
    let mut answers = Vec::new();
    while answers.windows(4).filter(|it| it == b"late").count() < 2 {
        let read = timeout(PATIENCE, client.read_buf(&mut answers)).await.expect("in time");
        assert!(read.expect("it stays open") > 0, "{}", String::from_utf8_lossy(&answers));
    }
}

#[tokio::test]
async fn an_answer_in_time_reaches_a_client_that_sends_no_more() {
    // Each part comes in time, and all of them take longer than a second.
    let backend = Backend::start(|mut stream, _| async move {
        if read_request(&mut stream).await.is_some() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n").await;
            for byte in b"late, yet whole" {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let _ = stream.write_all(&[*byte]).await;
            }
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    client.write_all(b"GET / HTTP/1.1\r\nHost: gate\r\n\r\n").await.expect("it reads");
    client.shutdown().await.expect("it is open");
    let mut answer = String::new();
    let read = timeout(PATIENCE, client.read_to_string(&mut answer)).await.expect("in time");
    read.expect("an answer");
    assert!(answer.ends_with("late, yet whole"), "{answer}");
}

#[tokio::test]
async fn refusals_reach_a_client_that_sends_no_more() {
    let hanging = Hanging::start().await;
    let gate = hanging.gate(1).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    client.write_all(b"GET /a//b HTTP/1.1\r\nHost: gate\r\n\r\n").await.expect("it reads");
    client.shutdown().await.expect("it is open");
    let mut answer = String::new();
    let read = timeout(PATIENCE, client.read_to_string(&mut answer)).await.expect("in time");
    read.expect("an answer");
    assert_eq!(status(&answer), "400", "{answer}");
}

#[tokio::test]
async fn an_upload_ends_with_its_client() {
    let hanging = Hanging::start().await;
    let gate = hanging.gate(1).await;
    for way in [Leave::Close, Leave::Reset, Leave::HalfClose] {
        let backend_reads = 2;
        for sent in [1, backend_reads] {
            let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
            let head = "POST /hang HTTP/1.1\r\nHost: gate\r\nContent-Length: 2\r\n\r\n";
            client.write_all(head.as_bytes()).await.expect("it reads");
            client.write_all(&b"xx"[..sent]).await.expect("it reads");
            if sent == backend_reads {
                take(&hanging.arrived).await;
            }
            let _open = leave(client, way).await;
            if sent == backend_reads {
                take(&hanging.left).await;
            }
        }
    }
    assert_gone(&gate.rows(6).await);
}
