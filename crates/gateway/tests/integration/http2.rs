//! HTTP/1.1 and HTTP/2, plain and over TLS, on both sides of the gateway, with the trailers of
//! gRPC.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::gate::{Gate, PATIENCE};

/// Larger than the initial window of HTTP/2, so that both sides must enlarge it.
const BODY_BYTES: usize = 300_000;

/// The path of a test file: the certificate for `localhost` or its key.
pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../net/tests/data").join(name)
}

fn acceptor(protocol: &[u8]) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(data("cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(data("key.pem")).expect("a key");
    let builder = ServerConfig::builder().with_no_client_auth();
    let mut config = builder.with_single_cert(vec![certificate], key).expect("they fit");
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

pub(crate) fn connector(protocol: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(data("cert.pem")).expect("a certificate");
    roots.add(certificate).expect("an authority");
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// A body of unknown length with trailers, because HTTP/1.1 sends no trailers with a known length.
#[derive(Debug)]
struct Streamed {
    data: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Streamed {
    fn new(data: Bytes, trailers: HeaderMap) -> Self {
        Self { data: Some(data), trailers: Some(trailers) }
    }
}

impl Body for Streamed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = self.data.take().map(Frame::data);
        Poll::Ready(data.or_else(|| self.trailers.take().map(Frame::trailers)).map(Ok))
    }
}

/// A service like gRPC: it echoes the body, then sends the status, the version and a trailer of the
/// request as trailers.
async fn echo(request: Request<Incoming>) -> Result<Response<Streamed>, Infallible> {
    let version = format!("{:?}", request.version());
    let collected = request.into_body().collect().await;
    let (body, sent) = match collected {
        Ok(collected) => {
            let trailers = collected.trailers().cloned().unwrap_or_default();
            (collected.to_bytes(), trailers)
        }
        Err(_) => (Bytes::from_static(b"the request was cut off"), HeaderMap::new()),
    };
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    trailers.insert("x-version", HeaderValue::from_str(&version).expect("ASCII"));
    if let Some(value) = sent.get("x-sum") {
        trailers.insert("x-sum", value.clone());
    }
    let response = Response::builder().header("trailer", "grpc-status, x-version, x-sum");
    Ok(response.body(Streamed::new(body, trailers)).expect("a response"))
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, is_http2: bool) {
    let (stream, service) = (TokioIo::new(stream), service_fn(echo));
    // A connection may end in any way.
    let _ = if is_http2 {
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        server.serve_connection(stream, service).await
    } else {
        hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await
    };
}

/// Starts the service, and returns its port.
async fn backend(is_http2: bool, is_tls: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let acceptor = is_tls.then(|| acceptor(if is_http2 { b"h2" } else { b"http/1.1" }));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                match acceptor {
                    None => serve(stream, is_http2).await,
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream).await {
                            serve(stream, is_http2).await;
                        }
                    }
                }
            });
        }
    });
    port
}

type Answer = (StatusCode, Bytes, HeaderMap);

/// Sends a request with a body and a trailer, and collects the answer.
async fn ask(address: SocketAddr, is_http2: bool, is_tls: bool, body: Bytes) -> Answer {
    let stream = TcpStream::connect(address).await.expect("it accepts");
    if !is_tls {
        return ask_on(stream, is_http2, is_tls, body).await;
    }
    let connector = connector(if is_http2 { b"h2" } else { b"http/1.1" });
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = connector.connect(name, stream).await.expect("a handshake");
    ask_on(stream, is_http2, is_tls, body).await
}

async fn ask_on(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    is_http2: bool,
    is_tls: bool,
    body: Bytes,
) -> Answer {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("17"));
    let body = Streamed::new(body, trailers);
    let uri = match (is_http2, is_tls) {
        (true, true) => "https://localhost/pkg.Service/Call",
        (true, false) => "http://localhost/pkg.Service/Call",
        (false, _) => "/pkg.Service/Call",
    };
    let request = Request::post(uri).header("te", "trailers").header("trailer", "x-sum");
    let request = request.header("content-type", "application/grpc");
    let stream = TokioIo::new(stream);
    let response = if is_http2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream)
                .await
                .expect("a handshake");
        tokio::spawn(connection);
        sender.send_request(request.body(body).expect("a request")).await
    } else {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(stream).await.expect("a connection");
        tokio::spawn(connection);
        let request = request.header("host", "localhost");
        sender.send_request(request.body(body).expect("a request")).await
    };
    let response = response.expect("an answer");
    let status = response.status();
    let collected = response.into_body().collect().await.expect("a whole answer");
    let trailers = collected.trailers().cloned().unwrap_or_default();
    (status, collected.to_bytes(), trailers)
}

#[tokio::test]
async fn bodies_and_trailers_pass_between_all_versions() {
    let body: Bytes = (0..BODY_BYTES).map(|index| (index % 251) as u8).collect::<Vec<u8>>().into();
    let ca_file = data("cert.pem").display().to_string();
    for (backend_http2, backend_tls) in [(false, false), (true, false), (false, true), (true, true)]
    {
        let port = backend(backend_http2, backend_tls).await;
        let scheme = if backend_tls { "https" } else { "http" };
        let config = format!(
            "tls = {{ certificate = \"{ca_file}\", key = \"{}\" }}\n[backends.one]\n\
             instances = [\"{scheme}://localhost:{port}\"]\nhttp2 = {backend_http2}\n{}\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\n",
            data("key.pem").display(),
            if backend_tls { format!("ca_file = \"{ca_file}\"\n") } else { String::new() },
        );
        let plain = Gate::start(&config).await;
        let tls = Gate::start_at("tls://127.0.0.1:0", &config).await;
        let known = Gate::start_at("h2c+tcp://127.0.0.1:0", &config).await;
        for (client_http2, client_tls) in
            [(false, false), (false, true), (true, true), (true, false)]
        {
            let case = format!(
                "client HTTP/2 {client_http2}, TLS {client_tls}; backend HTTP/2 {backend_http2}, TLS {backend_tls}"
            );
            let gate = match (client_http2, client_tls) {
                (_, true) => &tls,
                (true, false) => &known,
                (false, false) => &plain,
            };
            let asked = ask(gate.address, client_http2, client_tls, body.clone());
            let (status, answer, trailers) =
                tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("{case}"));
            assert_eq!(status, StatusCode::OK, "{case}");
            assert!(answer == body, "{case}: {} bytes came back", answer.len());
            let version = if backend_http2 { Version::HTTP_2 } else { Version::HTTP_11 };
            let version = format!("{version:?}");
            for (name, value) in [("grpc-status", "0"), ("x-version", &version), ("x-sum", "17")] {
                let found = trailers.get(name).and_then(|value| value.to_str().ok());
                assert_eq!(found, Some(value), "{case}: {name}: {trailers:?}");
            }
        }
        // Hyper ends an answer at its trailers, and so must the record.
        for (gate, count) in [(&plain, 1), (&tls, 2), (&known, 1)] {
            let rows = gate.rows(count).await;
            assert!(rows.iter().all(|row| row["outcome"] == "answered"), "{rows:?}");
        }
    }
}

#[tokio::test]
async fn an_address_for_http2_without_tls_speaks_nothing_else() {
    let port = backend(true, false).await;
    let config = format!(
        "[backends.one]\ninstances = [\"http://localhost:{port}\"]\nhttp2 = true\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\n"
    );
    let gate = Gate::start_at("h2c+tcp://127.0.0.1:0", &config).await;
    let answer = gate.get("/").await;
    assert!(!answer.contains("HTTP/1"), "{answer}");
    let (status, ..) = ask(gate.address, true, false, Bytes::from_static(b"x")).await;
    assert_eq!(status, StatusCode::OK);
    let rows = gate.rows(1).await;
    assert_eq!((&*rows[0]["protocol"], &*rows[0]["method"]), ("HTTP/2.0", "POST"));
}
