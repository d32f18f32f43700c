//! A feed whose sink keeps the lines in memory, and the senders of the tests.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use weir_feed::{
    BindOptions, Feed, FeedAddress, FeedCaptures, FeedCounts, FeedOptions, RunningFeed, Sink,
    TlsFiles,
};
use weir_ingest::StopReason;
use weir_testkit::messages::Message;

/// The time limit of every wait, for the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A sink that keeps lines, and accepts none while it is paused.
#[derive(Debug, Clone)]
pub(crate) struct MemorySink {
    pub(crate) lines: Arc<Mutex<Vec<u8>>>,
    pub(crate) paused: Arc<watch::Sender<bool>>,
}

impl MemorySink {
    pub(crate) fn new() -> Self {
        Self { lines: Arc::default(), paused: Arc::new(watch::Sender::new(false)) }
    }

    pub(crate) fn lines(&self) -> Vec<u8> {
        self.lines.lock().expect("no thread panicked").clone()
    }
}

impl Sink for MemorySink {
    async fn write(&self, parts: [&[u8]; 2]) -> Result<(), StopReason> {
        let mut paused = self.paused.subscribe();
        paused.wait_for(|paused| !paused).await.expect("the sender lives in the sink");
        let mut lines = self.lines.lock().expect("no thread panicked");
        parts.iter().for_each(|part| lines.extend_from_slice(part));
        assert_eq!(lines.last(), Some(&b'\n'), "only whole lines are written");
        Ok(())
    }
}

/// A feed with one listener, on its own threads.
pub(crate) struct TestFeed {
    pub(crate) name: String,
    pub(crate) sink: MemorySink,
    running: Option<RunningFeed<MemorySink>>,
    _runtime: tokio::runtime::Runtime,
}

impl TestFeed {
    pub(crate) fn new(address: &str, options: FeedOptions) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().expect("threads");
        let addresses = [address.parse::<FeedAddress>().expect("an address")];
        let options = FeedOptions {
            bind: BindOptions {
                tls: Some(TlsFiles { certificate: data("cert.pem"), key: data("key.pem") }),
                ..options.bind
            },
            ..options
        };
        let feed = runtime.block_on(Feed::bind(options, &addresses)).expect("a free address");
        let name = feed.names()[0].clone();
        let sink = MemorySink::new();
        weir_testkit::messages::listen();
        let inside = runtime.enter();
        let running = feed.start(|_| sink.clone());
        drop(inside);
        Self { name, sink, running: Some(running), _runtime: runtime }
    }

    pub(crate) fn counts(&self) -> FeedCounts {
        self.running.as_ref().expect("it runs").counts()[0]
    }

    /// The captures that wait to observe a connection.
    pub(crate) fn captures(&self) -> Arc<FeedCaptures> {
        self.running.as_ref().expect("it runs").captures().clone()
    }

    pub(crate) fn pause(&self, paused: bool) {
        self.sink.paused.send_replace(paused);
    }

    /// Host and port.
    pub(crate) fn host(&self) -> &str {
        self.name.rsplit('/').next().expect("a host")
    }

    pub(crate) fn lines(&self) -> Vec<u8> {
        self.sink.lines()
    }

    pub(crate) fn line_count(&self) -> usize {
        let lines = self.sink.lines.lock().expect("no thread panicked");
        lines.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Waits for a condition.
    pub(crate) fn wait(&self, what: &str, is_met: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !is_met(self) {
            let heard = self.heard();
            assert!(start.elapsed() < PATIENCE, "{what}: {:?} {heard:?}", self.counts());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The messages to its operator so far.
    pub(crate) fn heard(&self) -> Vec<Message> {
        weir_testkit::messages::heard(&format!("{}: ", self.name))
    }

    pub(crate) fn wait_for_message(&self, what: &str) {
        self.wait(what, |feed| feed.heard().iter().any(|it| it.sentence.contains(what)));
    }

    /// A stream to the listener.
    pub(crate) fn connect(&self) -> Box<dyn Write + Send> {
        let (scheme, place) = self.name.split_once(':').expect("a scheme");
        match scheme {
            "tcp" => Box::new(std::net::TcpStream::connect(self.host()).expect("it listens")),
            "tls" => Box::new(TlsSender(Some(self.connect_tls()))),
            #[cfg(unix)]
            "unix" => Box::new(std::os::unix::net::UnixStream::connect(place).expect("it listens")),
            other => panic!("{other} {place} is no stream"),
        }
    }

    pub(crate) fn connect_tls(&self) -> StreamOwned<ClientConnection, std::net::TcpStream> {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_file(data("cert.pem")).expect("a certificate");
        roots.add(certificate).expect("a certificate");
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a configuration");
        let stream = std::net::TcpStream::connect(self.host()).expect("it listens");
        StreamOwned::new(connection, stream)
    }
}

impl Drop for TestFeed {
    fn drop(&mut self) {
        // Its tasks end on the runtime, which is dropped after it.
        self.running.take();
    }
}

/// Ends TLS with a close_notify alert.
struct TlsSender(Option<StreamOwned<ClientConnection, std::net::TcpStream>>);

impl Write for TlsSender {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.as_mut().expect("it is there until the end").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.as_mut().expect("it is there until the end").flush()
    }
}

impl Drop for TlsSender {
    fn drop(&mut self) {
        if let Some(mut stream) = self.0.take() {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    }
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../net/tests/data").join(name)
}

/// A path that no other test uses.
pub(crate) fn socket_path() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("weir-feed-{}-{number}.sock", std::process::id()))
}

/// Numbered lines of different lengths.
pub(crate) fn numbered(sender: usize, lines: usize) -> Vec<String> {
    let line = |number: usize| {
        let padding = "x".repeat((number * 7919 + sender * 31) % 300);
        format!("192.0.2.{sender} {number} {padding}")
    };
    (0..lines).map(line).collect()
}

/// Lines as a stream of one framing; the last line of newline framing has no line feed.
pub(crate) fn framed(lines: &[String], framing: &str) -> Vec<u8> {
    match framing {
        "newline" => lines.join("\n").into_bytes(),
        _ => {
            let frame = |line: &String| format!("{} <13>{line}", line.len() + 4);
            lines.iter().map(frame).collect::<String>().into_bytes()
        }
    }
}

/// The lines that a listener should produce from them.
pub(crate) fn expected(lines: &[String], framing: &str) -> Vec<u8> {
    let prefix = if framing == "newline" { "" } else { "<13>" };
    lines.iter().map(|line| format!("{prefix}{line}\n")).collect::<String>().into_bytes()
}
