//! The memory of a response over HTTP/1 whose client does not read. A bystander does not notice.
//!
//! The client uses a Unix socket, because the kernel tells how many bytes wait in it. All other
//! bytes that the producer has made are in the server.

#![cfg(unix)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use weir_net::socket::{Address, BindOptions, Listener};
use weir_net::{Body, Client, IncomingBody, Server};

use crate::common::{read_all, read_until, soon};

/// The limit of a response, in addition to one part. hyper asks for more of a body until it holds
/// 408 KiB, and each time it gets up to 64 KiB or one part.
const RESPONSE_BYTES_MAX: usize = (408 + 64) << 10;

/// The limit of a channel, in addition to one part.
const QUEUE_BYTES: usize = 64 << 10;

/// The size of a body, many times more than the server may hold.
const BODY_BYTES: usize = 8 << 20;

/// The sizes of parts: many in each batch, one in each batch, and larger than a batch.
const PARTS_BYTES: [usize; 3] = [1_000, 65_000, 300_000];

/// Counts the bytes that the producer of a body has made.
#[derive(Clone, Default)]
struct Made(Arc<AtomicUsize>);

impl Made {
    fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes a part, or returns `None` after [`BODY_BYTES`].
    fn make(&self, part_bytes: usize) -> Option<Bytes> {
        let is_left = self.bytes() < BODY_BYTES;
        is_left.then(|| {
            self.0.fetch_add(part_bytes, Ordering::Relaxed);
            vec![b'x'; part_bytes].into()
        })
    }

    /// Returns a body whose parts wait in a queue.
    fn channel(self, part_bytes: usize) -> Body {
        let (sender, body) = Body::channel(QUEUE_BYTES);
        tokio::spawn(async move {
            while let Some(part) = self.make(part_bytes) {
                sender.send(part).await?;
            }
            sender.finish()
        });
        body
    }

    /// Returns a body whose parts share the count. Its client is cut off when it leaves them in the
    /// queue.
    fn cut(self, part_bytes: usize, client: Client) -> Body {
        struct CountedPart(Vec<u8>, #[expect(dead_code, reason = "counts the copies")] Made);
        impl AsRef<[u8]> for CountedPart {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        let (sender, body) = Body::channel(QUEUE_BYTES);
        tokio::spawn(async move {
            loop {
                let part = CountedPart(vec![b'x'; part_bytes], self.clone());
                let sending = sender.send(Bytes::from_owner(part));
                if tokio::time::timeout(Duration::from_millis(50), sending).await.is_err() {
                    return client.cut_off();
                }
            }
        });
        body
    }

    /// Returns a body whose parts are made when the connection asks for them.
    fn polled(self, part_bytes: usize) -> Body {
        Body::poll_fn(move |_| Poll::Ready(self.make(part_bytes).map(Ok)))
    }
}

/// A server at a Unix socket.
struct UnixServer(PathBuf);

impl UnixServer {
    /// Answers `/channel/PART_BYTES` and `/polled/PART_BYTES` with parts of that size, `/few` like
    /// `/polled` with few bytes in advance, and other paths with `hello`.
    async fn start(name: &str, made: Made) -> Self {
        let path = std::env::temp_dir().join(format!("weir-{name}-{}.sock", std::process::id()));
        let address = Address::Unix(path.clone());
        let listener = Listener::bind(&address, &BindOptions::default()).await.unwrap();
        let handler = move |request: Request<IncomingBody>, client: Client| {
            let made = made.clone();
            async move {
                Response::new(match request.uri().path()[1..].split_once('/') {
                    Some(("channel", bytes)) => made.channel(bytes.parse().unwrap()),
                    Some(("cut", bytes)) => made.cut(bytes.parse().unwrap(), client),
                    Some(("few", bytes)) => {
                        client.limit_bytes_ahead();
                        made.polled(bytes.parse().unwrap())
                    }
                    Some((_, bytes)) => made.polled(bytes.parse().unwrap()),
                    None => Body::from("hello"),
                })
            }
        };
        tokio::spawn(Server::new([listener]).serve(handler, std::future::pending()));
        Self(path)
    }

    async fn request(&self, path: &str) -> UnixStream {
        let mut stream = UnixStream::connect(&self.0).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Waits until the producer makes nothing while a hundred requests of a bystander are answered.
    /// All of them run on one thread, so it would go on if it could.
    async fn wait_until_producer_waits(&self, made: &Made) {
        let mut bystander = UnixStream::connect(&self.0).await.unwrap();
        let mut before = 0;
        while before == 0 || before != made.bytes() {
            before = made.bytes();
            for _ in 0..100 {
                bystander.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
                read_until(&mut bystander, "\r\n\r\nhello").await;
            }
        }
    }
}

impl Drop for UnixServer {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// Reads 1 MiB, more than the socket and the response hold, so more must be produced.
async fn read_some(client: &mut UnixStream) -> usize {
    let mut some = vec![0; 1 << 20];
    soon(client.read_exact(&mut some)).await.unwrap()
}

/// Requests a body, and checks that the server never holds more than `bytes_max` of it.
async fn assert_held(server: &UnixServer, made: &Made, path: &str, bytes_max: usize) {
    made.0.store(0, Ordering::Relaxed);
    let mut client = server.request(path).await;
    let mut received = 0;
    // Before the client reads for the first time, and after it has stopped again.
    for _ in 0..3 {
        server.wait_until_producer_waits(made).await;
        let in_socket = rustix::io::ioctl_fionread(&client).unwrap() as usize;
        // The heads of the response and of its chunks count as taken, less than 1 % of the bytes.
        let held = made.bytes() - (received + in_socket);
        assert!(held <= bytes_max, "{path}: the server holds {held} bytes, not {bytes_max}");
        received += read_some(&mut client).await;
    }
    let rest = read_all(&mut client).await;
    assert!(rest.ends_with("x\r\n0\r\n\r\n"), "{path}: the whole body comes");
}

/// The parts wait in the queue of the channel, and one more at its producer.
#[tokio::test]
async fn a_client_that_does_not_read_stops_the_producer_of_a_channel() {
    let made = Made::default();
    let server = UnixServer::start("channel", made.clone()).await;
    for part_bytes in PARTS_BYTES {
        let path = format!("/channel/{part_bytes}");
        let queued = QUEUE_BYTES + part_bytes;
        let bytes_max = RESPONSE_BYTES_MAX + part_bytes + queued + part_bytes;
        assert_held(&server, &made, &path, bytes_max).await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_stops_a_polled_producer() {
    let made = Made::default();
    let server = UnixServer::start("polled", made.clone()).await;
    for part_bytes in PARTS_BYTES {
        let path = format!("/polled/{part_bytes}");
        assert_held(&server, &made, &path, RESPONSE_BYTES_MAX + part_bytes).await;
    }
}

/// The socket is small for one response, and as large as before for the next on its connection.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_system_takes_few_bytes_in_advance_for_one_response() {
    let made = Made::default();
    let server = UnixServer::start("few", made.clone()).await;
    let mut client = UnixStream::connect(&server.0).await.unwrap();
    let mut in_socket = Vec::new();
    for path in ["/polled/1000", "/few/1000", "/polled/1000", "/few/1000"] {
        made.0.store(0, Ordering::Relaxed);
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        server.wait_until_producer_waits(&made).await;
        in_socket.push(rustix::io::ioctl_fionread(&client).unwrap());
        let mut rest = Vec::new();
        while !rest.ends_with(b"x\r\n0\r\n\r\n") {
            soon(client.read_buf(&mut rest)).await.unwrap();
        }
    }
    let [usual, few, usual_again, few_again] = in_socket[..] else {
        unreachable!("four responses")
    };
    assert!(few * 3 < usual && few_again * 3 < usual, "{in_socket:?}");
    assert!(usual_again * 2 > usual, "{in_socket:?}");
}

#[tokio::test]
async fn nothing_is_kept_for_a_client_that_is_cut_off() {
    let made = Made::default();
    let server = UnixServer::start("cut", made.clone()).await;
    let before = Arc::strong_count(&made.0);
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(server.request("/cut/10000").await);
    }
    let freed = async {
        let mut most = 0;
        while most == 0 || Arc::strong_count(&made.0) > before {
            most = most.max(Arc::strong_count(&made.0) - before);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        most
    };
    let most = soon(freed).await;
    assert!(most > 5 * (408 << 10) / 10_000, "{most} parts were held before");
    for mut client in clients {
        let mut rest = Vec::new();
        let ended = soon(client.read_to_end(&mut rest)).await;
        assert!(ended.is_err() || !rest.ends_with(b"0\r\n\r\n"), "it does not look complete");
    }
    // A connection of another client is served.
    let mut bystander = server.request("/").await;
    assert!(read_all(&mut bystander).await.ends_with("hello"));
}
