//! A running gateway, with the rows of its records.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use weir_core::{Record, RecordKind, RowReader};
use weir_gateway::{Config, Gateway, GatewayHandle};
use weir_ingest::{DataSet, Pipeline, PipelineOptions, Retention};
use weir_net::ServeOptions;
use weir_net::socket::BindOptions;

/// The longest wait of a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    pub(crate) handle: GatewayHandle,
    pipeline: Pipeline,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

/// The named fields of one request.
pub(crate) type Row = BTreeMap<String, String>;

impl Gate {
    /// Starts a gateway with this configuration, to which an address is added.
    pub(crate) async fn start(config: &str) -> Self {
        Self::start_at("127.0.0.1:0", config).await
    }

    /// Like [`Self::start`], but on this address of the configuration.
    pub(crate) async fn start_at(listen: &str, config: &str) -> Self {
        Self::start_on(1, listen, config).await
    }

    /// Like [`Self::start_at`], but with this number of threads for connections.
    pub(crate) async fn start_on(threads: usize, listen: &str, config: &str) -> Self {
        let config = parse_at(listen, config);
        weir_testkit::messages::listen();
        let options = ServeOptions { connection_threads: threads, ..ServeOptions::default() };
        let bind = BindOptions::default();
        let gateway = Gateway::bind_with(&config, options, bind).await;
        let gateway = gateway.expect("a free port");
        let address = gateway.addresses().next().expect("an address").to_string();
        let address = address.rsplit("://").next().expect("an address").parse();
        let address = address.expect("an IP address");
        let options = PipelineOptions::new(1, Retention::Segments);
        let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
        let pipeline = Pipeline::start(&options, data);
        let recorder = gateway.recorder().clone();
        recorder.access_log().set(config.access_log.as_ref()).expect("a file that can be opened");
        let writer = pipeline.open_records("gateway", recorder.layout());
        tokio::spawn(async move { recorder.run(writer).await });
        let handle = gateway.handle();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(gateway.serve(async {
            // A dropped sender stops it too.
            let _ = stopped.await;
        }));
        Self { address, handle, pipeline, stop, serving }
    }

    /// Replaces its configuration.
    pub(crate) fn reload(&self, config: &str) {
        self.handle.replace(&parse(config));
    }

    /// Stops the gateway, and waits for the requests in flight.
    pub(crate) async fn stop(self) {
        self.stop.send(()).expect("it runs");
        tokio::time::timeout(PATIENCE, self.serving).await.expect("it ends").expect("no panic");
    }

    /// Sends bytes on a new connection, and reads until the gateway closes it.
    pub(crate) async fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("it accepts");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        // A reset ends the connection too.
        let _ = tokio::time::timeout(PATIENCE, read).await.expect("the connection ends");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a simple request, and returns the whole answer.
    pub(crate) async fn get(&self, path: &str) -> String {
        self.exchange(&format!("GET {path} HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n"))
            .await
    }

    /// Sends a request with a token, and returns the whole answer.
    pub(crate) async fn get_as(&self, token: &str, path: &str) -> String {
        self.exchange(&request_as(token, path)).await
    }

    /// Like [`Self::get_as`], but sends a notification as soon as the answer ends with `part`. If
    /// the backend waits for it, the gateway cannot receive the rest together with this part.
    pub(crate) async fn get_in_parts(
        &self,
        token: &str,
        path: &str,
        (part, arrived): (&[u8], &Notify),
    ) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("it accepts");
        stream.write_all(request_as(token, path).as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        let read = async {
            while !answer.ends_with(part)
                && let Ok(byte) = stream.read_u8().await
            {
                answer.push(byte);
            }
            arrived.notify_one();
            // A reset ends the connection too.
            let _ = stream.read_to_end(&mut answer).await;
        };
        tokio::time::timeout(PATIENCE, read).await.expect("the connection ends");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Waits until there are at least this many records, and returns them.
    pub(crate) async fn rows(&self, count: usize) -> Vec<Row> {
        let data = self.pipeline.data();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let snapshot = loop {
            let snapshot = data.snapshot();
            let rows: usize = snapshot.segments.iter().map(|it| it.segment.rows()).sum();
            if rows >= count {
                break snapshot;
            }
            assert!(tokio::time::Instant::now() < deadline, "{rows} of {count} records came");
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let values = data.values();
        let reader = RowReader::new(&snapshot.formats, &values, RecordKind::Request);
        let (mut rows, mut record) = (Vec::new(), Record::new());
        for entry in snapshot.segments.iter() {
            for row in 0..entry.segment.rows() {
                assert!(reader.read(&entry.segment, row, &values, &mut record), "no value is lost");
                let fields = reader.fields().accessors().into_iter().filter_map(|(name, field)| {
                    let value = field.value(&record)?;
                    Some((name, String::from_utf8_lossy(&value).into_owned()))
                });
                rows.push(fields.collect());
            }
        }
        rows
    }
}

/// Returns a request with a token.
fn request_as(token: &str, path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: gate\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )
}

/// Reads a configuration, to which an address is added. Its paths start at the folder of the test
/// data.
fn parse(config: &str) -> Config {
    parse_at("127.0.0.1:0", config)
}

fn parse_at(listen: &str, config: &str) -> Config {
    let text = format!("listen = [\"{listen}\"]\n{config}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    Config::parse(&text, &folder).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Returns the body of an answer.
pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// Returns the status of an answer.
pub(crate) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}
