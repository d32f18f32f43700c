//! The clients: each sends the requests of some of the users, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::issuer::{Issuer, name_of, tenant_of};
use crate::judge::{Loss, Report};

/// The number of connections.
pub(crate) const CONNECTIONS: usize = 50;

/// Every third request has a body.
const BODY_EVERY: usize = 3;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What all clients share.
pub(crate) struct Shared {
    pub(crate) issuer: Issuer,
    gateway: String,
    users: usize,
    pub(crate) requests: usize,
    /// The number of the next request.
    pub(crate) next: AtomicUsize,
}

impl Shared {
    pub(crate) fn new(issuer: Issuer, gateway: String, users: usize, requests: usize) -> Self {
        Self { issuer, gateway, users, requests, next: AtomicUsize::new(0) }
    }
}

pub(crate) struct Client {
    number: usize,
    shared: Arc<Shared>,
    exchange: Option<Exchange>,
    report: Report,
}

impl Client {
    pub(crate) fn new(number: usize, shared: Arc<Shared>) -> Self {
        Self { number, shared, exchange: None, report: Report::default() }
    }

    /// Sends requests until all have been sent.
    pub(crate) async fn run(mut self) -> Report {
        let own = self.shared.users.saturating_sub(self.number).div_ceil(CONNECTIONS);
        for turn in 0.. {
            let request = self.shared.next.fetch_add(1, Ordering::Relaxed);
            if request >= self.shared.requests || own == 0 {
                break;
            }
            self.ask(request, self.number + CONNECTIONS * (turn % own)).await;
        }
        self.report
    }

    /// Sends one request of a user, and judges its answer.
    async fn ask(&mut self, number: usize, user: usize) {
        let tokens = self.shared.issuer.tokens();
        let (path, name) = (format!("/{number}"), name_of(user));
        let has_body = number.is_multiple_of(BODY_EVERY);
        let body = if has_body { format!("body {number} of {name}") } else { String::new() };
        let request = Request { path: &path, token: &tokens[user], body: &body };
        let tenant = tenant_of(user);
        let started = Instant::now();
        let answered = tokio::time::timeout(TIMEOUT, self.send(&request)).await;
        let answered = answered.unwrap_or_else(|_| Err("no answer in time".into()));
        let expected = format!("{tenant} {name} {path} {body}");
        match answered {
            Ok(answer) if answer.status == 200 && answer.body == expected => {
                self.report.answered += 1;
            }
            Ok(Answer { status: 401, body }) if has_body && body.starts_with(tenant) => {
                // It names the time for which the backend keeps sessions, and the session.
                let epoch = body.split(':').next().unwrap_or_default().to_owned();
                *self.report.forgotten.entry((user, epoch)).or_default() += 1;
            }
            Ok(Answer { status: 502..=504, body }) => self.lose(tenant, started, body),
            Ok(Answer { status, body }) => {
                self.report.wrong.push(format!("{name}, {path}: {status} {body}"));
            }
            Err(why) => {
                self.exchange = None;
                self.lose(tenant, started, why.to_string());
            }
        }
    }

    fn lose(&mut self, tenant: &'static str, started: Instant, why: String) {
        self.report.lost.push(Loss { tenant, times: [started, Instant::now()], why });
    }

    async fn send(&mut self, request: &Request<'_>) -> crate::Outcome<Answer> {
        let exchange = match &mut self.exchange {
            Some(exchange) => exchange,
            none => {
                let stream = TcpStream::connect(&self.shared.gateway).await?;
                stream.set_nodelay(true)?;
                none.insert(Exchange::new(stream))
            }
        };
        let answer = exchange.send(request).await?;
        if exchange.is_last {
            self.exchange = None;
        }
        Ok(answer)
    }
}

pub(crate) struct Request<'a> {
    pub(crate) path: &'a str,
    pub(crate) token: &'a str,
    /// Without one it is a GET.
    pub(crate) body: &'a str,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// A connection on which one request follows the other.
pub(crate) struct Exchange {
    stream: TcpStream,
    received: Vec<u8>,
    /// Whether the server closes the connection after the last answer.
    is_last: bool,
}

impl Exchange {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, received: Vec::new(), is_last: false }
    }

    /// Sends a request, and reads an answer whose length its head states.
    pub(crate) async fn send(&mut self, request: &Request<'_>) -> crate::Outcome<Answer> {
        let Request { path, token, body } = *request;
        let (method, length) = match body.len() {
            0 => ("GET", String::new()),
            bytes => ("POST", format!("Content-Length: {bytes}\r\n")),
        };
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: api.example\r\nAuthorization: Bearer {token}\r\n\
             {length}\r\n{body}"
        );
        self.stream.write_all(text.as_bytes()).await?;
        let head_bytes = loop {
            let end = self.received.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            match end {
                Some(at) => break at + 4,
                None => self.receive().await?,
            }
        };
        let head = String::from_utf8(self.received[..head_bytes].to_vec())?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).ok_or("an answer without a status")?.parse()?;
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let length = field("content-length: ").ok_or("an answer without a length")?;
        let end = head_bytes + length.trim().parse::<usize>()?;
        while self.received.len() < end {
            self.receive().await?;
        }
        self.is_last = field("connection: ").is_some_and(|value| value.contains("close"));
        let body = String::from_utf8(self.received[head_bytes..end].to_vec())?;
        self.received.drain(..end);
        Ok(Answer { status, body })
    }

    async fn receive(&mut self) -> crate::Outcome {
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err("the connection was closed before the end of the answer".into()),
            _ => Ok(()),
        }
    }
}
