//! A connection of HTTP/2 over TLS, to a whole server.

mod script;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hyper::{Method, Response};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use weir_net::socket::{Address, BindOptions, Listener, SelfSignedCertificate};
use weir_net::{Body, RequestBody, Server};

use script::{ACK, DATA, END_STREAM, GREETING, HEADERS, LAST_PING, PING, SETTINGS, Script};

/// How long the server may take to answer or to end the connection. A fuzzer has a limit of its own.
const DEADLINE: Duration = Duration::from_secs(60);

/// The longest frame that a client accepts unless its settings allow more (RFC 9113 section 4.2).
const FRAME_BYTES_MAX: usize = 16_384;

/// A server that runs as long as the process.
struct Running {
    runtime: Runtime,
    address: SocketAddr,
    connector: TlsConnector,
}

static RUNNING: LazyLock<Running> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    keep_broken_pipes_harmless(&runtime);
    let certificate = SelfSignedCertificate::new(["localhost".to_owned()]).expect("a certificate");
    let connector = connector(CertificateDer::from(certificate.der().to_vec()));
    let options = BindOptions { self_signed: Some(certificate), ..BindOptions::default() };
    let address = Address::Tls("127.0.0.1:0".to_owned());
    let listener = runtime.block_on(Listener::bind(&address, &options)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(Server::new([listener]).serve(
        |request, _client| async {
            let is_get = request.method() == Method::GET;
            if is_get {
                return Response::new(Body::from(GREETING));
            }
            let (mut body, mut bytes) = (RequestBody::of(request).1, 0);
            while let Some(Ok(part)) = body.next().await {
                bytes += part.len();
            }
            Response::new(Body::from(bytes.to_string()))
        },
        std::future::pending(),
    ));
    Running { runtime, address, connector }
});

/// Handles the signal of a write to a closed connection (SIGPIPE). Rust's `main` ignores it, but
/// libFuzzer's `main` lets it end the process.
#[cfg(unix)]
fn keep_broken_pipes_harmless(runtime: &Runtime) {
    let _in_runtime = runtime.enter();
    let signal = signal(SignalKind::pipe());
    // The handler stays installed.
    drop(signal.expect("a handler"));
}

#[cfg(not(unix))]
fn keep_broken_pipes_harmless(_runtime: &Runtime) {}

/// A TLS client that trusts this certificate, and offers only HTTP/2.
fn connector(certificate: CertificateDer<'_>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("versions of TLS");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// Frames of a client. Those within the rules are answered, whatever the pieces in which they come;
/// after any other frame the server answers the last `PING` or ends the connection.
pub(crate) fn http2(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let script = Script::new(rest);
    let piece_bytes = usize::from(*first) * 16 + 1;
    let spoken = RUNNING
        .runtime
        .block_on(async { tokio::time::timeout(DEADLINE, speak(&script, piece_bytes)).await });
    let heard = spoken.expect("the server neither answers nor ends the connection");
    assert!(heard.is_well_formed, "frames of the server");
    assert!(heard.streams_max <= script.streams_max, "no stream {}", heard.streams_max);
    if script.is_legal {
        assert_eq!(heard.answers, script.answers, "pieces of {piece_bytes} bytes");
        assert_eq!(heard.pings, script.pings, "pieces of {piece_bytes} bytes");
    }
}

/// The frames that the server has sent, in summary.
#[derive(Default)]
struct Heard {
    is_well_formed: bool,
    /// The highest stream with an answer.
    streams_max: u32,
    /// The bodies of answers that have come to their end, by stream.
    answers: BTreeMap<u32, String>,
    pings: usize,
    has_answered_last: bool,
}

impl Heard {
    fn is_complete(&self, script: &Script) -> bool {
        let has_all = self.answers.len() == script.answers.len() && self.pings == script.pings;
        self.has_answered_last && (has_all || !script.is_legal)
    }
}

/// Sends a script, and reads from the server until all is answered or the connection ends.
async fn speak(script: &Script, piece_bytes: usize) -> Heard {
    let stream = TcpStream::connect(RUNNING.address).await.expect("the server listens");
    stream.set_nodelay(true).expect("an option of TCP");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = RUNNING.connector.connect(name, stream).await.expect("a handshake");
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut heard = Heard { is_well_formed: true, ..Heard::default() };
    let hear = hear(&mut reader, script, &mut heard);
    // Sending fails after the server has ended the connection; `hear` checks whether it may.
    let ((), _sent) = tokio::join!(hear, send(&mut writer, &script.frames, piece_bytes));
    heard
}

async fn send(
    writer: &mut (impl AsyncWrite + Unpin),
    frames: &[u8],
    piece_bytes: usize,
) -> std::io::Result<()> {
    for piece in frames.chunks(piece_bytes) {
        writer.write_all(piece).await?;
        writer.flush().await?;
    }
    Ok(())
}

async fn hear(reader: &mut (impl AsyncRead + Unpin), script: &Script, heard: &mut Heard) {
    let (mut is_first, mut bodies) = (true, BTreeMap::<u32, Vec<u8>>::new());
    while !heard.is_complete(script) {
        let mut head = [0; 9];
        if reader.read_exact(&mut head).await.is_err() {
            return;
        }
        let [high, middle, low, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        heard.is_well_formed &= payload.len() <= FRAME_BYTES_MAX;
        heard.is_well_formed &= !is_first || (kind == SETTINGS && flags & ACK == 0);
        is_first = false;
        if reader.read_exact(&mut payload).await.is_err() {
            return;
        }
        let stream = u32::from_be_bytes(stream);
        match kind {
            PING if payload == LAST_PING => heard.has_answered_last = true,
            PING => heard.pings += 1,
            HEADERS => heard.streams_max = heard.streams_max.max(stream),
            DATA => bodies.entry(stream).or_default().extend(payload),
            _ => {}
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            let body = bodies.remove(&stream).unwrap_or_default();
            heard.answers.insert(stream, String::from_utf8_lossy(&body).into_owned());
        }
    }
}
