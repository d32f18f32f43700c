//! The HTTP server over every kind of stream socket.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use hyper::Response;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use weir_net::socket::{
    Address, BindError, BindOptions, Listener, SelfSignedCertificate, SocketStream, TlsFiles,
    TlsHandshakeError,
};
use weir_net::{Body, Client, ServeOptions, Server};

use crate::common::{Running, SOON, exchange, read_all, soon};

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub(crate) fn tls_options() -> BindOptions {
    let tls = TlsFiles { certificate: data("cert.pem"), key: data("key.pem") };
    BindOptions { tls: Some(tls), ..BindOptions::default() }
}

/// Serves the name of the peer as the body of every response.
fn serve(listener: Listener) {
    let handler =
        |_, client: Client| async move { Response::new(Body::from(client.peer().to_string())) };
    tokio::spawn(Server::new([listener]).serve(handler, std::future::pending()));
}

async fn get(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_all(&mut stream).await
}

pub(crate) async fn connect_tls(host: &str) -> impl AsyncRead + AsyncWrite + Unpin {
    connect_trusting("cert.pem", host).await.unwrap()
}

/// Connects to a server that must have this certificate.
async fn connect_trusting(certificate: &str, host: &str) -> io::Result<TlsStream<TcpStream>> {
    connect_with(default_provider(), certificate, host, &[]).await
}

/// Connects to a server that must have this certificate, with the ciphers of a provider in their
/// order, and offers these protocols.
pub(crate) async fn connect_with(
    provider: CryptoProvider,
    certificate: &str,
    host: &str,
    protocols: &[&[u8]],
) -> io::Result<TlsStream<TcpStream>> {
    let certificate = CertificateDer::from_pem_file(data(certificate)).unwrap();
    connect_to(provider, certificate, host, protocols).await
}

async fn connect_to(
    provider: CryptoProvider,
    certificate: CertificateDer<'_>,
    host: &str,
    protocols: &[&[u8]],
) -> io::Result<TlsStream<TcpStream>> {
    let config = client_config(provider, certificate, protocols);
    let stream = TcpStream::connect(host).await.unwrap();
    TlsConnector::from(config).connect(server_name(), stream).await
}

/// Begins TLS on a connection to a server with the options of [`tls_options`].
pub(crate) async fn begin_tls(stream: TcpStream) -> TlsStream<TcpStream> {
    let certificate = CertificateDer::from_pem_file(data("cert.pem")).unwrap();
    let config = client_config(default_provider(), certificate, &[]);
    TlsConnector::from(config).connect(server_name(), stream).await.unwrap()
}

fn server_name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

fn client_config(
    provider: CryptoProvider,
    certificate: CertificateDer<'_>,
    protocols: &[&[u8]],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(provider));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

#[tokio::test]
async fn a_certificate_that_signs_itself_is_trusted_by_who_knows_it() {
    let own = || SelfSignedCertificate::new(["localhost".to_owned()]).unwrap();
    let (certificate, other) = (own(), own());
    let options = BindOptions { self_signed: Some(certificate.clone()), ..BindOptions::default() };
    let address = Address::Tls("127.0.0.1:0".to_owned());
    let mut listener = Listener::bind(&address, &options).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let accepting = tokio::spawn(async move {
        for _ in 0..2 {
            let _ended = listener.accept().await.unwrap().open(SOON).await;
        }
    });
    let connect = async |certificate: &SelfSignedCertificate| {
        let certificate = CertificateDer::from(certificate.der().to_vec());
        connect_to(default_provider(), certificate, &host, &[]).await
    };
    let stream = connect(&certificate).await.unwrap();
    let sent = stream.get_ref().1.peer_certificates().unwrap();
    assert_eq!(sent, [CertificateDer::from(certificate.der())]);
    assert!(connect(&other).await.is_err(), "each server has a certificate of its own");
    accepting.await.unwrap();
}

/// Files of a certificate and its key that are replaced in a test.
struct Files {
    folder: PathBuf,
    /// The seconds of the last change.
    changes: u64,
}

impl Files {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("weir-net-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder, changes: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Replaces a file, at a later time than before.
    fn replace(&mut self, name: &str, by: &str) {
        self.changes += 1;
        std::fs::copy(data(by), self.path(name)).unwrap();
        let file = std::fs::File::options().append(true).open(self.path(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(self.changes)).unwrap();
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_used() {
    let mut files = Files::new();
    files.replace("cert.pem", "cert.pem");
    files.replace("key.pem", "key.pem");
    let tls = TlsFiles { certificate: files.path("cert.pem"), key: files.path("key.pem") };
    weir_testkit::messages::listen();
    let options = BindOptions { tls: Some(tls), ..BindOptions::default() };
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address, &options).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    serve(listener);
    // An open connection is not affected.
    let mut open = connect_trusting("cert.pem", &host).await.unwrap();
    // Between the two steps of a renewal the key does not match the certificate.
    files.replace("cert.pem", "renewed-cert.pem");
    connect_trusting("cert.pem", &host).await.unwrap();
    files.replace("key.pem", "renewed-key.pem");
    connect_trusting("renewed-cert.pem", &host).await.unwrap();
    assert!(connect_trusting("cert.pem", &host).await.is_err(), "it has been replaced");
    // If files vanish or are damaged, the last certificate stays. Each state is reported once.
    std::fs::remove_file(files.path("key.pem")).unwrap();
    connect_trusting("renewed-cert.pem", &host).await.unwrap();
    files.replace("key.pem", "README.md");
    connect_trusting("renewed-cert.pem", &host).await.unwrap();
    open.write_all(GET.as_bytes()).await.unwrap();
    assert!(read_all(&mut open).await.starts_with("HTTP/1.1 200 "));
    let certificate = files.path("cert.pem").display().to_string();
    let heard = weir_testkit::messages::heard(&format!("{certificate}: the certificate "));
    assert!(heard.iter().all(|it| it.fields["file"] == certificate), "{heard:?}");
    let other = format!("it is not the key of the certificate in {certificate}");
    let expected = [
        &*format!("key.pem: cannot be used for TLS: {other}"),
        "the certificate was read again",
        "key.pem: the file does not exist; check the name",
        "key.pem: cannot be used for TLS: it holds no private key in PEM",
    ];
    assert_eq!(heard.len(), expected.len(), "{heard:?}");
    for (message, end) in heard.iter().zip(expected) {
        assert!(message.sentence.ends_with(end), "{message:?}");
    }
    std::fs::remove_dir_all(files.folder).unwrap();
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_named() {
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    for (certificate, key, reason) in [
        ("cert.pem", "renewed-key.pem", "it is not the key of the certificate in "),
        ("nothing.pem", "key.pem", "nothing.pem: the file does not exist; check the name"),
        (
            "README.md",
            "key.pem",
            "README.md: cannot be used for TLS: it holds no certificate in PEM",
        ),
        (
            "cert.pem",
            "cert.pem",
            "cert.pem: cannot be used for TLS: it holds no private key in PEM",
        ),
        (
            "version-1-cert.pem",
            "key.pem",
            "version-1-cert.pem: cannot be used for TLS: only X.509 certificates of version 3 are supported",
        ),
    ] {
        let tls = TlsFiles { certificate: data(certificate), key: data(key) };
        let options = BindOptions { tls: Some(tls), ..BindOptions::default() };
        let error = Listener::bind(&address, &options).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.starts_with(data("").to_str().unwrap()), "{error}");
    }
}

#[tokio::test]
async fn the_server_chooses_the_cipher() {
    let address = Address::Tls("127.0.0.1:0".to_owned());
    let listener = Listener::bind(&address, &tls_options()).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    serve(listener);
    let mut reversed = default_provider();
    reversed.cipher_suites.reverse();
    let mut chosen = Vec::new();
    for provider in [default_provider(), reversed] {
        let stream = connect_with(provider, "cert.pem", &host, &[]).await.unwrap();
        chosen.push(stream.get_ref().1.negotiated_cipher_suite().unwrap().suite());
    }
    assert_eq!(chosen[0], chosen[1]);
}

#[tokio::test]
async fn requests_over_tls_are_answered() {
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address, &tls_options()).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    serve(listener);
    // A client that never begins its handshake delays no other.
    let _silent = TcpStream::connect(&host).await.unwrap();
    let answer = get(soon(connect_tls(&host)).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("127.0.0.1:"), "{answer}");
}

/// Handshakes that never end are closed for a newcomer, and do not delay the end of the server.
#[tokio::test]
async fn silent_tls_connections_make_room() {
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address, &tls_options()).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let options = ServeOptions {
        connections_max: 2,
        header_timeout: Duration::from_secs(86_400),
        grace_period: Duration::from_secs(86_400),
        ..ServeOptions::default()
    };
    let handler = |_, _| async { Response::new(Body::from("hello")) };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async { drop(stopped.await) };
    let server = Server::new([listener]).with_options(options);
    let served = tokio::spawn(server.serve(handler, shutdown));
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(TcpStream::connect(&host).await.unwrap());
    }
    let answer = get(soon(connect_tls(&host)).await).await;
    assert!(answer.ends_with("hello"), "{answer}");
    silent.push(TcpStream::connect(&host).await.unwrap());
    drop(stop);
    soon(served).await.unwrap();
}

/// TLS buffers responses that its client does not read, so their writes do not wait. The kernel
/// still counts them as unsent, and the connection is closed to make room.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_tls_client_that_does_not_read_is_cut_off() {
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address, &tls_options()).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let write_timeout = Duration::from_millis(500);
    let options = ServeOptions { write_timeout, connections_max: 1, ..ServeOptions::default() };
    // TLS buffers 64 KiB.
    let answered = Arc::new(AtomicUsize::new(0));
    let counted = answered.clone();
    let handler = move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Response::new(Body::from(vec![b'x'; 30_000])) }
    };
    let server = Server::new([listener]).with_options(options);
    tokio::spawn(server.serve(handler, std::future::pending()));
    let mut first = connect_tls(&host).await;
    // More responses than all buffers between server and client hold.
    let requests = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000);
    first.write_all(requests.as_bytes()).await.unwrap();
    first.flush().await.unwrap();
    // Until no further request is answered.
    let mut before = 0;
    soon(async {
        while before == 0 || before != answered.load(Ordering::Relaxed) {
            before = answered.load(Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert!(before < 1_000, "all were answered");
    soon(async {
        loop {
            // A newcomer that finds no room is refused, perhaps within its handshake.
            let Ok(mut next) = connect_trusting("cert.pem", &host).await else { continue };
            if next.write_all(GET.as_bytes()).await.is_err() {
                continue;
            }
            let mut answer = String::new();
            while answer.len() < 12 {
                let Ok(byte) = next.read_u8().await else { break };
                answer.push(char::from(byte));
            }
            if answer == "HTTP/1.1 200" {
                return;
            }
        }
    })
    .await;
    drop(first);
}

#[cfg(unix)]
#[tokio::test]
async fn requests_over_a_unix_socket_are_answered() {
    let path = std::env::temp_dir().join(format!("weir-net-{}.sock", std::process::id()));
    let address = Address::Unix(path.clone());
    let options = BindOptions { socket_mode: Some("0600".parse().unwrap()), ..<_>::default() };
    let listener = Listener::bind(&address, &options).await.unwrap();
    assert!(listener.local_addr().is_err(), "a Unix socket has no port");
    let error = Listener::bind(&address, &options).await.unwrap_err();
    assert!(matches!(error, BindError::InUse(_)), "{error}");
    serve(listener);
    let stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    let answer = get(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("a local client"), "{answer}");
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn handshakes_that_stall_or_are_not_tls_fail() {
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    let mut listener = Listener::bind(&address, &tls_options()).await.unwrap();
    let host = listener.local_addr().unwrap();
    let _silent = TcpStream::connect(host).await.unwrap();
    let stalled = listener.accept().await.unwrap().open(Duration::from_millis(20)).await;
    assert!(matches!(stalled, Err(TlsHandshakeError::TimedOut)), "{stalled:?}");
    let mut plain = TcpStream::connect(host).await.unwrap();
    plain.write_all(GET.as_bytes()).await.unwrap();
    let failed = soon(listener.accept().await.unwrap().open(Duration::from_secs(60))).await;
    assert!(matches!(failed, Err(TlsHandshakeError::Failed(_))), "{failed:?}");
    assert_eq!(
        failed.err().unwrap().to_string(),
        "the TLS handshake failed: the client does not speak TLS"
    );
}

#[tokio::test]
async fn a_refused_connection_reads_the_reason() {
    let address: Address = "127.0.0.1:0".parse().unwrap();
    let mut listener = Listener::bind(&address, &BindOptions::default()).await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    listener.accept().await.unwrap().refuse("too many connections\n");
    assert_eq!(read_all(&mut client).await, "too many connections\n");
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let stream = listener.accept().await.unwrap().open(Duration::from_secs(60)).await.unwrap();
    assert!(matches!(stream, SocketStream::Tcp(_)));
    drop(client);
}

#[tokio::test]
async fn unsuitable_addresses_and_certificates_are_errors() {
    for (text, options) in [
        ("udp://127.0.0.1:0", BindOptions::default()),
        ("tls://127.0.0.1:0", BindOptions::default()),
        ("tls://127.0.0.1:0", {
            let tls = TlsFiles { certificate: data("key.pem"), key: data("key.pem") };
            BindOptions { tls: Some(tls), ..BindOptions::default() }
        }),
    ] {
        let address: Address = text.parse().unwrap();
        let error = Listener::bind(&address, &options).await.unwrap_err();
        assert!(
            matches!(
                error,
                BindError::Unsupported(_) | BindError::NoCertificate(_) | BindError::Tls { .. }
            ),
            "{text}: {error}"
        );
    }
}

#[tokio::test]
async fn plain_http_at_a_tls_address_is_told_to_use_https() {
    let hello = |_, _| async { Response::new(Body::from("hello")) };
    let server = Running::start_tls(ServeOptions::default(), hello).await;
    let mut stream = server.connect().await;
    let text = exchange(&mut stream, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(text.starts_with("HTTP/1.1 400 ") && text.contains("https://"), "{text}");
    assert!(!text.contains("Retry-After"), "{text}");
    server.wait_for_ends("plain_http", 1).await;
    // Other bytes get the alert of TLS.
    let text = exchange(&mut server.connect().await, "\0\0\0\0\0\0").await;
    assert!(!text.contains("HTTP"), "{text}");
    soon(server.stop()).await.unwrap();
}
