//! A running server, and clients for the tests.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use weir_demo::Traffic;
use weir_ingest::TotalMemory;
use weir_net::websocket::client::{
    ClientOptions, ClientReceiver, ClientSender, ConnectError, Message, connect, encode_binary,
};
use weir_server::{Server, ServerHandle, ServerOptions, SessionHandle};
use weir_testkit::oracle::{Layout, Oracle};
use weir_view::{UploadReply, UploadRequest, View};

/// The number of rows of the top lists in reports.
pub(crate) const ROWS: usize = 25;

/// Longer than any step takes, so that a test that hangs fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    /// The memory of all sessions together.
    pub(crate) memory: TotalMemory,
    pub(crate) handle: ServerHandle,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl TestServer {
    pub(crate) async fn start(options: ServerOptions) -> Self {
        Self::start_pinned(options).await.0
    }

    /// Starts a server with a pinned session.
    pub(crate) async fn start_pinned(options: ServerOptions) -> (Self, SessionHandle) {
        // Tests move the clock forward, which must not end the work on an answer.
        let answer_time_max = Duration::from_secs(86_400);
        Self::start_timed(ServerOptions { answer_time_max, ..options }).await
    }

    /// Starts a server whose answers end after the time in the options.
    pub(crate) async fn start_timed(options: ServerOptions) -> (Self, SessionHandle) {
        let server = Server::bind(options).await.expect("a free port");
        let session = server.new_session(true).expect("a session");
        (Self::serving(server), session)
    }

    /// Lets a server answer.
    pub(crate) fn serving(server: Server) -> Self {
        let address = server.local_addr().expect("an address");
        let (memory, handle) = (server.total_memory(), server.handle());
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self { address, memory, handle, stop, task }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).expect("the server runs");
        within(self.task).await.expect("the server ends without a panic");
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Response {
        let host = self.address.to_string();
        let mut all = vec![("Host", host.as_str())];
        all.extend(fields);
        self.request_as(method, path, &all, b"").await
    }

    /// Uploads a log as `curl -T` does.
    pub(crate) async fn put(&self, name: &str, body: &[u8]) -> Response {
        let (host, length) = (self.address.to_string(), body.len().to_string());
        let fields = [("Host", host.as_str()), ("Content-Length", length.as_str())];
        self.request_as("PUT", &format!("/{name}"), &fields, body).await
    }

    /// Sends one request on a new connection, with exactly these header fields.
    pub(crate) async fn request_as(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let mut stream = TcpStream::connect(self.address).await.expect("the server listens");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in fields {
            head += &format!("{name}: {value}\r\n");
        }
        // One write, so that a pause of this thread does not look like a stalled body.
        let request = [head.as_bytes(), b"\r\n", body].concat();
        stream.write_all(&request).await.expect("the server reads");
        read_response(&mut stream).await
    }

    pub(crate) async fn create_session(&self) -> String {
        let created = self.request("POST", "/api/sessions", &[]).await;
        assert_eq!(created.status, 201);
        created.json()["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) async fn report(&self, id: &str) -> Value {
        let path = format!("/api/sessions/{id}/report?top={ROWS}");
        self.request("GET", &path, &[]).await.json()
    }

    pub(crate) async fn upload(&self, id: &str) -> Uploader {
        self.try_upload(id, ClientOptions::default()).await.expect("the server accepts")
    }

    pub(crate) async fn try_upload(
        &self,
        id: &str,
        options: ClientOptions,
    ) -> Result<Uploader, ConnectError> {
        self.try_upload_to(id, "upload", options).await
    }

    /// As [`Self::try_upload`], at another address of the session.
    pub(crate) async fn try_upload_to(
        &self,
        id: &str,
        address: &str,
        options: ClientOptions,
    ) -> Result<Uploader, ConnectError> {
        let path = format!("/api/sessions/{id}/{address}");
        let (sender, receiver) = connect(self.address, &path, options).await?;
        Ok(Uploader { sender, receiver, sent: 0, acked: 0, window: 0 })
    }

    pub(crate) async fn live(&self, id: &str) -> Live {
        self.try_live(id).await.expect("the server accepts")
    }

    pub(crate) async fn try_live(&self, id: &str) -> Result<Live, ConnectError> {
        let path = format!("/api/sessions/{id}/live");
        let (sender, receiver) = connect(self.address, &path, ClientOptions::default()).await?;
        Ok(Live { sender, receiver })
    }
}

/// Waits for a step of a test, but not longer than [`PATIENCE`].
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("no step takes this long")
}

/// Moves the clock forward, so that timeouts of the server expire at once. The runtime of the test
/// must have one thread.
pub(crate) async fn skip(duration: Duration) {
    // Tasks that are ready run first, so that their timeouts have begun.
    tokio::time::sleep(Duration::from_millis(2)).await;
    tokio::time::pause();
    tokio::time::advance(duration).await;
    tokio::time::resume();
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("JSON: {}", self.text()))
    }
}

/// Reads to the end of the connection, and skips a `100 Continue` before the response.
pub(crate) async fn read_response(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    within(stream.read_to_end(&mut bytes)).await.expect("a response");
    loop {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").expect("a head");
        let body = bytes.split_off(end + 4);
        let head = String::from_utf8(bytes).expect("a head");
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        if status != 100 {
            return Response { status, head, body };
        }
        bytes = body;
    }
}

/// Sends files as the page does.
pub(crate) struct Uploader {
    pub(crate) sender: ClientSender,
    pub(crate) receiver: ClientReceiver,
    pub(crate) sent: u64,
    pub(crate) acked: u64,
    pub(crate) window: u64,
}

impl Uploader {
    pub(crate) async fn request(&mut self, request: &UploadRequest) {
        let text = serde_json::to_string(request).expect("JSON");
        self.sender.send_text(&text).await.expect("the server reads");
    }

    /// Sends `begin`.
    pub(crate) async fn request_begin(&mut self, file: &str, bytes_total: usize) {
        self.request_begin_of(file, Some(bytes_total as u64), None).await;
    }

    /// Sends `begin`, for a growing file if `bytes_total` is `None`.
    pub(crate) async fn request_begin_of(
        &mut self,
        file: &str,
        bytes_total: Option<u64>,
        continues: Option<&str>,
    ) {
        let (file, name) = (file.to_owned(), format!("{file}.log"));
        let continues = continues.map(str::to_owned);
        let begin = UploadRequest::Begin {
            file,
            name,
            bytes_total,
            continues,
            fingerprint: None,
            replay: None,
            format: None,
        };
        self.request(&begin).await;
    }

    /// Sends `begin` for a file that is sent again for a replay.
    pub(crate) async fn request_begin_again(&mut self, file: &str, bytes: usize, replay: &str) {
        self.request(&UploadRequest::Begin {
            file: file.to_owned(),
            name: format!("{file}.log"),
            bytes_total: Some(bytes as u64),
            continues: None,
            fingerprint: None,
            replay: Some(replay.to_owned()),
            format: None,
        })
        .await;
    }

    /// Begins or resumes a file, and returns the offset to send from.
    pub(crate) async fn begin(&mut self, file: &str, bytes_total: usize) -> usize {
        // On a busy machine, the server may take long to read the rest of a lost connection.
        let ready = async {
            loop {
                self.request_begin(file, bytes_total).await;
                if let Some(offset) = self.ready_unless_busy().await {
                    return offset;
                }
            }
        };
        within(ready).await
    }

    /// Waits for `ready`, and returns the offset to send from.
    pub(crate) async fn ready(&mut self) -> usize {
        self.ready_unless_busy().await.expect("no other connection sends the file")
    }

    /// As [`Self::ready`]; `None` if another connection sends the file.
    async fn ready_unless_busy(&mut self) -> Option<usize> {
        loop {
            match self.reply().await {
                UploadReply::Ready { offset, window_bytes, .. } => {
                    (self.sent, self.acked, self.window) = (offset, offset, window_bytes);
                    return Some(offset as usize);
                }
                UploadReply::Error { error } if error.name == "file_busy" => return None,
                // A late acknowledgement of the previous file.
                UploadReply::Ack { .. } => {}
                other => panic!("ready was expected, not {other:?}"),
            }
        }
    }

    /// Sends bytes in messages of this size, within the window.
    pub(crate) async fn send(&mut self, bytes: &[u8], message_bytes: usize) {
        let batch_bytes = message_bytes.max(64 << 10);
        for batch in bytes.chunks(batch_bytes) {
            while self.sent + batch.len() as u64 - self.acked > self.window {
                match self.reply().await {
                    UploadReply::Ack { offset, .. } => self.acked = offset,
                    other => panic!("an ack was expected, not {other:?}"),
                }
            }
            let mut frames = Vec::with_capacity(batch.len() + 1_000);
            for message in batch.chunks(message_bytes) {
                frames.extend_from_slice(&encode_binary(message, 131_000));
            }
            self.sender.send_raw(&frames).await.expect("the server reads");
            self.sent += batch.len() as u64;
        }
    }

    pub(crate) async fn reply(&mut self) -> UploadReply {
        match within(self.receiver.next()).await {
            Ok(Some(Message::Text(text))) => serde_json::from_str(&text).expect("a reply"),
            other => panic!("a reply was expected, not {other:?}"),
        }
    }

    /// Waits until the bytes before this offset are acknowledged.
    pub(crate) async fn wait_for_ack(&mut self, offset: usize) {
        while self.acked < offset as u64 {
            match self.reply().await {
                UploadReply::Ack { offset, .. } => self.acked = offset,
                other => panic!("an ack was expected, not {other:?}"),
            }
        }
    }

    pub(crate) async fn end(&mut self, file: &str) {
        self.request(&UploadRequest::End { file: file.to_owned() }).await;
    }

    /// Returns the first reply that is not an acknowledgement. Acknowledged offsets must increase.
    pub(crate) async fn reply_after_acks(&mut self) -> UploadReply {
        loop {
            match self.reply().await {
                UploadReply::Ack { offset, .. } => {
                    assert!(offset > self.acked && offset <= self.sent, "{offset}");
                    self.acked = offset;
                }
                other => return other,
            }
        }
    }

    /// Ends the file and waits until it is parsed.
    pub(crate) async fn finish(&mut self, file: &str) {
        self.end(file).await;
        let offset = self.sent;
        let done = UploadReply::Done { file: file.to_owned(), offset };
        assert_eq!(self.reply_after_acks().await, done);
    }

    /// Sends a whole file.
    pub(crate) async fn send_file(&mut self, file: &str, bytes: &[u8], message_bytes: usize) {
        assert_eq!(self.begin(file, bytes.len()).await, 0);
        self.send(bytes, message_bytes).await;
        self.finish(file).await;
    }

    /// Waits for an error, and returns its name.
    pub(crate) async fn error(&mut self) -> String {
        match self.reply_after_acks().await {
            UploadReply::Error { error } => error.name,
            other => panic!("an error was expected, not {other:?}"),
        }
    }

    /// Waits until the server closes the connection, and returns the code.
    pub(crate) async fn close_code(&mut self) -> u16 {
        close(&mut self.receiver).await.0
    }
}

/// Skips messages up to the close frame, and returns its code and its reason.
pub(crate) async fn close(receiver: &mut ClientReceiver) -> (u16, String) {
    loop {
        match within(receiver.next()).await.expect("a message") {
            Some(Message::Close(frame)) => {
                return (frame.code.expect("a code").get(), frame.reason);
            }
            Some(_) => {}
            None => panic!("a close frame was expected"),
        }
    }
}

/// A live view of a session.
pub(crate) struct Live {
    pub(crate) sender: ClientSender,
    pub(crate) receiver: ClientReceiver,
}

impl Live {
    pub(crate) async fn ask(&mut self, query: Value) {
        let text = serde_json::json!({ "type": "query", "query": query }).to_string();
        self.sender.send_text(&text).await.expect("the server reads");
    }

    /// Waits for the next message.
    pub(crate) async fn message(&mut self) -> Value {
        match within(self.receiver.next()).await {
            Ok(Some(Message::Text(text))) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("a message was expected, not {other:?}"),
        }
    }

    pub(crate) async fn view(&mut self) -> View {
        let mut message = self.message().await;
        assert_eq!(message["type"], "view", "{message}");
        serde_json::from_value(message["view"].take()).expect("a view")
    }

    /// Skips views up to the first that satisfies the condition.
    pub(crate) async fn view_where(&mut self, mut condition: impl FnMut(&View) -> bool) -> View {
        loop {
            let view = self.view().await;
            if condition(&view) {
                return view;
            }
        }
    }
}

/// Returns a log of about this many bytes, with dirty lines. The same size returns the same log.
pub(crate) fn log(bytes: u64) -> Vec<u8> {
    let options = weir_demo::TrafficOptions { seed: 7, bytes: Some(bytes), ..Default::default() };
    let mut traffic = Traffic::new(options).with_dirt_every(50);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

/// Expressions that take long to compile, which cannot be interrupted.
pub(crate) fn long_expressions() -> Vec<String> {
    (0..32).map(|number| format!("(?i)(?:[a-z0-9/ .;()_-]{{0,20}}){{99}}q{number}z")).collect()
}

pub(crate) fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Compares a report with the oracle's numbers for the log.
pub(crate) fn compare(log: &[u8], report: &Value) {
    let step_s = report["histogram"]["step_s"].as_u64().unwrap_or(1);
    let expected = Oracle::read(Layout::Combined, log).to_json(ROWS, step_s, 0);
    for (key, expected) in expected.as_object().expect("an object") {
        let mut actual = report[key].clone();
        for extra in ["zone", "groups"] {
            if let Some(object) = actual.as_object_mut() {
                object.remove(extra);
            }
        }
        assert_eq!(&actual, expected, "{key}");
    }
}
