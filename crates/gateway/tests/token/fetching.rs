//! The HTTP client, with misbehaving servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use weir_gateway::fetch::{
    Authorities, FetchAnswer, FetchClient, FetchError, FetchLimits, FetchProblem,
};

use crate::file::TestFile;
use crate::server::{Behaviour, TestServer, answer};

/// A client that trusts only a new authority, for tests without TLS.
fn client(limits: FetchLimits) -> (FetchClient, Authority) {
    let authority = Authority::new();
    let file = TestFile::new("ca", &authority.pem);
    let authorities = Authorities::read(&file.path).unwrap();
    (FetchClient::new(Some(&authorities), limits).unwrap(), authority)
}

async fn get(url: &str, limits: FetchLimits) -> Result<FetchAnswer, FetchError> {
    client(limits).0.get(&url.parse().unwrap()).await
}

fn limits() -> FetchLimits {
    FetchLimits { body_bytes_max: 1_000, ..FetchLimits::default() }
}

#[tokio::test]
async fn an_answer_comes_as_a_whole() {
    let server = TestServer::start(Behaviour::body("hello")).await;
    let answer = get(&server.url(), FetchLimits::default()).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"hello"[..]));
    let request = server.last_request();
    assert!(request.starts_with("GET /keys?x=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("\r\nhost: 127.0.0.1:{}\r\n", server.port)), "{request}");
    server.set(Behaviour::Send(
        b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            .to_vec(),
    ));
    let answer = get(&server.url(), FetchLimits::default()).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (404, &b"abc"[..]));
}

#[tokio::test]
async fn a_body_is_sent_with_its_type() {
    let server = TestServer::start(Behaviour::body("")).await;
    let (client, _) = client(FetchLimits::default());
    let url = server.url().parse().unwrap();
    let form = "application/x-www-form-urlencoded";
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(form))]);
    client.send(&url, Method::POST, headers, Bytes::from_static(b"a=1")).await.unwrap();
    let request = server.last_request();
    assert!(request.starts_with("POST /keys?x=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("\r\ncontent-type: {form}\r\n")), "{request}");
    assert!(request.ends_with("\r\n\r\na=1"), "{request}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = TestServer::start(Behaviour::body("secret")).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let head = format!("HTTP/1.1 {status}\r\nLocation: {}\r\n\r\n", target.url());
        let server = TestServer::start(Behaviour::Send(head.into_bytes())).await;
        let error = get(&server.url(), limits()).await.unwrap_err();
        assert!(matches!(error.problem(), FetchProblem::Redirect(_)), "{error}");
    }
    assert_eq!(target.requests(), 0);
}

#[tokio::test]
async fn bodies_are_bounded() {
    let exact = TestServer::start(Behaviour::body(&"x".repeat(1_000))).await;
    assert_eq!(get(&exact.url(), limits()).await.unwrap().body.len(), 1_000);
    let chunk = [b"3e8\r\n".as_slice(), &[b'x'; 1_000], b"\r\n"].concat();
    for behaviour in [
        Behaviour::body(&"x".repeat(1_001)),
        Behaviour::SendForever(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 1_000]),
        Behaviour::SendForever(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk),
    ] {
        let server = TestServer::start(behaviour).await;
        let error = get(&server.url(), limits()).await.unwrap_err();
        assert!(matches!(error.problem(), FetchProblem::TooLarge(1_000)), "{error}");
    }
}

#[tokio::test]
async fn a_slow_server_is_left_in_time() {
    // Long enough to connect on a busy machine, and short enough for a test.
    const TIMEOUT: Duration = Duration::from_millis(700);
    let limits = FetchLimits { timeout: TIMEOUT, ..limits() };
    for behaviour in [
        Behaviour::BeSilent,
        Behaviour::SendForever(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", Vec::new()),
        Behaviour::SendForever(b"HTTP/1.1 100 Continue\r\n\r\n", Vec::new()),
    ] {
        let server = TestServer::start(behaviour).await;
        let start = Instant::now();
        let error = get(&server.url(), limits).await.unwrap_err();
        assert!(matches!(error.problem(), FetchProblem::Timeout), "{error}");
        assert!(start.elapsed() < TIMEOUT * 10, "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn answers_that_are_not_http_are_refused() {
    let mut many_fields = b"HTTP/1.1 200 OK\r\n".to_vec();
    many_fields.extend((0..101).flat_map(|number| format!("X-{number}: 1\r\n").into_bytes()));
    many_fields.extend(b"\r\n");
    let mut long_field = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    long_field.extend(vec![b'x'; 40 << 10]);
    long_field.extend(b"\r\n\r\n");
    for bytes in [
        b"".to_vec(),
        b"hello\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_vec(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n".to_vec(),
        many_fields,
        long_field,
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
        let server = TestServer::start(Behaviour::Send(bytes)).await;
        match get(&server.url(), limits()).await {
            Ok(_) => panic!("{shown} was accepted"),
            Err(error) => assert!(matches!(error.problem(), FetchProblem::Protocol(_)), "{error}"),
        }
    }
    let closing = TestServer::start(Behaviour::Close).await;
    let error = get(&closing.url(), limits()).await.unwrap_err();
    assert!(matches!(error.problem(), FetchProblem::Protocol(_)), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    // It is bound, so that the server of no other test gets the port, but does not listen.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let error = get(&format!("http://127.0.0.1:{port}/keys"), limits()).await.unwrap_err();
    assert!(matches!(error.problem(), FetchProblem::Connect(_)), "{error:?}");
    assert!(
        error.to_string().contains(&format!("127.0.0.1:{port}/keys: no connection")),
        "{error}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_asked() {
    // The socket takes the path of the temporary file.
    let file = TestFile::new("socket", "");
    std::fs::remove_file(&file.path).unwrap();
    let listener = tokio::net::UnixListener::bind(&file.path).unwrap();
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        TestServer::serve_one(stream, "over a socket").await;
    });
    let url = format!("http://unix:{}:/keys", file.path.display());
    assert_eq!(&get(&url, limits()).await.unwrap().body[..], b"over a socket");
    serving.await.unwrap();
}

#[tokio::test]
async fn authorities_are_needed_for_https_only() {
    let plain = TestServer::start(Behaviour::body("hello")).await.url().parse().unwrap();
    let client = FetchClient::for_url(&plain, None, limits()).unwrap();
    assert_eq!(&client.get(&plain).await.unwrap().body[..], b"hello");
    let https = "https://localhost/keys".parse().unwrap();
    let error = client.get(&https).await.unwrap_err();
    assert!(error.to_string().contains("without TLS"), "{error}");
}

/// A certificate authority of a test.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = pem(parameters.self_signed(&key).unwrap().der());
        Self { pem, issuer: Issuer::new(parameters, key) }
    }

    /// Starts a server with a certificate for this name.
    async fn server(&self, name: &str) -> TestServer {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let private = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        TestServer::start_with(Behaviour::Send(answer("200 OK", "over TLS")), Some(acceptor)).await
    }
}

/// A certificate as text (RFC 7468).
fn pem(der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

#[tokio::test]
async fn https_needs_a_certificate_of_a_trusted_authority_for_the_name() {
    let (client, authority) = client(FetchLimits::default());
    for (server, host, expected) in [
        (authority.server("localhost").await, "localhost", Ok(())),
        (authority.server("127.0.0.1").await, "127.0.0.1", Ok(())),
        (authority.server("other.example").await, "localhost", Err("NotValidForName")),
        (Authority::new().server("localhost").await, "localhost", Err("BadSignature")),
    ] {
        let url = format!("https://{host}:{}/keys", server.port).parse().unwrap();
        match (client.get(&url).await, expected) {
            (Ok(answer), Ok(())) => assert_eq!(&answer.body[..], b"over TLS"),
            (Err(error), Err(part)) => {
                assert!(matches!(error.problem(), FetchProblem::Connect(_)), "{error:?}");
                let message = format!("{error} {error:?}");
                assert!(message.contains(part), "{message}");
            }
            (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
        }
    }
}
