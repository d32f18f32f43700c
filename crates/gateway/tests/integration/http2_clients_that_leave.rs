//! HTTP/2 clients that leave before their answer has come: their requests at the backend are
//! cancelled.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::backends::Backend;
use crate::gate::{Gate, PATIENCE};
use crate::http2::{connector, data};

/// Adds a permit when it is dropped, such as with a request that is cancelled.
#[derive(Debug)]
struct NotesEnd(Arc<Semaphore>);

impl Drop for NotesEnd {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// A body that begins, and fails if it is cut. Otherwise it never ends.
#[derive(Debug)]
struct Endless {
    start: Option<Bytes>,
    cut: Option<oneshot::Receiver<()>>,
    _end: Option<NotesEnd>,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(start) = self.start.take() {
            return Poll::Ready(Some(Ok(Frame::data(start))));
        }
        let Some(cut) = &mut self.cut else { return Poll::Pending };
        match Pin::new(cut).poll(context) {
            Poll::Ready(_) => Poll::Ready(Some(Err(io::Error::other("cut")))),
            Poll::Pending => Poll::Pending,
        }
    }
}

type AnyBody = BoxBody<Bytes, io::Error>;

fn endless(cut: Option<oneshot::Receiver<()>>, end: Option<NotesEnd>) -> AnyBody {
    Endless { start: Some(Bytes::from_static(b"half")), cut, _end: end }.boxed()
}

fn whole(text: &'static str) -> AnyBody {
    Full::from(text).map_err(|never| match never {}).boxed()
}

/// A backend that never answers `/hang`, and whose answer to `/part` never ends. Each such request
/// adds a permit to the first semaphore, and its end one to the second.
struct Hanging {
    backend: Backend,
    arrived: Arc<Semaphore>,
    left: Arc<Semaphore>,
}

impl Hanging {
    async fn start(is_http2: bool) -> Self {
        let (arrived, left) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (arrives, leaves) = (arrived.clone(), left.clone());
        let backend = Backend::start(move |stream, _| {
            let (arrives, leaves) = (arrives.clone(), leaves.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let (arrives, leaves) = (arrives.clone(), leaves.clone());
                async move { Ok::<_, Infallible>(serve(request, &arrives, leaves).await) }
            });
            async move {
                let stream = TokioIo::new(stream);
                // A connection may end in any way.
                let _ = if is_http2 {
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    server.serve_connection(stream, service).await
                } else {
                    let server = hyper::server::conn::http1::Builder::new();
                    server.serve_connection(stream, service).await
                };
            }
        })
        .await;
        Self { backend, arrived, left }
    }
}

async fn serve(
    request: Request<Incoming>,
    arrives: &Semaphore,
    leaves: Arc<Semaphore>,
) -> Response<AnyBody> {
    match request.uri().path() {
        "/hang" => {
            let _end = NotesEnd(leaves);
            arrives.add_permits(1);
            match request.into_body().collect().await {
                Ok(_) => std::future::pending().await,
                // A server of HTTP/1.1 learns from the body that the connection has ended.
                Err(_) => Response::new(whole("cut off")),
            }
        }
        "/part" => {
            arrives.add_permits(1);
            Response::new(endless(None, Some(NotesEnd(leaves))))
        }
        _ => Response::new(whole("here")),
    }
}

/// Waits for one permit, and takes it.
async fn take(semaphore: &Semaphore, what: &str) {
    let permit = timeout(PATIENCE, semaphore.acquire()).await.unwrap_or_else(|_| panic!("{what}"));
    permit.expect("it stays open").forget();
}

/// A connection of a client, and the task that drives it.
struct Client {
    sender: SendRequest<AnyBody>,
    driver: JoinHandle<()>,
}

impl Client {
    async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("it accepts");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = connector(b"h2").connect(name, stream).await.expect("a handshake");
        let handshake =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = handshake.await.expect("a handshake");
        let driver = tokio::spawn(async move {
            // It may end in any way.
            let _ = connection.await;
        });
        Self { sender, driver }
    }

    fn send(
        &mut self,
        path: &str,
        body: AnyBody,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + use<> {
        let uri = format!("https://localhost{path}");
        self.sender.send_request(Request::post(uri).body(body).expect("a request"))
    }

    async fn status(&mut self) -> u16 {
        let answer = timeout(PATIENCE, self.send("/", whole(""))).await;
        answer.expect("in time").expect("an answer").status().as_u16()
    }
}

/// The request that a client leaves.
#[derive(Debug, Clone, Copy)]
enum Left {
    /// Its answer has not begun.
    Waiting,
    /// The client has sent a part of the body, and the answer has not begun.
    Uploading,
    /// A part of the answer has come.
    Receiving,
}

/// Sends a request and waits until the backend has it. If `closes`, then closes the connection;
/// otherwise resets the stream.
async fn ask_and_leave(hanging: &Hanging, client: &mut Client, left: Left, closes: bool) {
    let (cut, is_cut) = oneshot::channel();
    let (path, body) = match left {
        Left::Waiting => ("/hang", whole("")),
        Left::Uploading => ("/hang", endless(Some(is_cut), None)),
        Left::Receiving => ("/part", whole("")),
    };
    let mut asked = Box::pin(client.send(path, body));
    let arrived = async { take(&hanging.arrived, "the request arrives").await };
    let mut answer = None;
    if matches!(left, Left::Receiving) {
        answer = Some(timeout(PATIENCE, &mut asked).await.expect("in time").expect("a head"));
        arrived.await;
    } else {
        tokio::select! {
            _ = &mut asked => panic!("there is no answer"),
            () = arrived => {}
        }
    }
    match closes {
        true => client.driver.abort(),
        // Hyper resets the stream if the body fails, or if nobody waits for the answer to a whole
        // request. Nothing receives this if there is no upload.
        false => _ = cut.send(()),
    }
    drop((asked, answer));
}

fn config(hanging: &Hanging, is_http2: bool) -> String {
    format!(
        "tls = {{ certificate = {:?}, key = {:?} }}\n{}",
        data("cert.pem"),
        data("key.pem"),
        crate::backends::config(
            &[hanging.backend.address],
            &format!("connections = 1\nhttp2 = {is_http2}\ntimeouts = {{ connect = \"5s\" }}")
        )
    )
}

#[tokio::test]
async fn the_requests_of_clients_that_have_left_are_cancelled() {
    for is_http2 in [false, true] {
        let hanging = Hanging::start(is_http2).await;
        let gate = Gate::start_at("tls://127.0.0.1:0", &config(&hanging, is_http2)).await;
        let mut count = 0;
        for closes in [false, true] {
            for left in [Left::Waiting, Left::Uploading, Left::Receiving] {
                let case = format!("HTTP/2 at the backend {is_http2}, closes {closes}, {left:?}");
                let mut client = Client::connect(gate.address).await;
                ask_and_leave(&hanging, &mut client, left, closes).await;
                take(&hanging.left, &case).await;
                if closes {
                    client = Client::connect(gate.address).await;
                }
                assert_eq!(client.status().await, 200, "{case}: the place is free");
                count += 2;
                let rows = gate.rows(count).await;
                let gone = rows.iter().filter(|row| row["outcome"] == "client_gone").count();
                assert_eq!(gone, count / 2, "{case}: {rows:?}");
                let server = gate.handle.counts().backends.remove(0).servers.remove(0);
                assert_eq!(server.requests, 0, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_reset_stream_leaves_the_others_of_its_connection_alone() {
    let hanging = Hanging::start(true).await;
    let gate = Gate::start_at("tls://127.0.0.1:0", &config(&hanging, true)).await;
    let mut client = Client::connect(gate.address).await;
    let stays = tokio::spawn(client.send("/hang", whole("")));
    take(&hanging.arrived, "the first request arrives").await;
    ask_and_leave(&hanging, &mut client, Left::Waiting, false).await;
    take(&hanging.left, "the second request is cancelled").await;
    assert_eq!(client.status().await, 200);
    assert!(!stays.is_finished() && hanging.left.available_permits() == 0, "the first one waits");
    assert_eq!(hanging.backend.connections(), 1, "all on one connection to the backend");
}
