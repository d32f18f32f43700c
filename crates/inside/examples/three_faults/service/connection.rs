//! A connection of a client.

use std::collections::VecDeque;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_observe::mark;

use super::Service;

/// The size of the read buffer.
const READ_BYTES: usize = 16 << 10;
/// The size of the read buffer with the fault `socket`.
const FEW_BYTES: usize = 4;

/// The most bytes of a line. A client that sends more is disconnected.
const LINE_BYTES_MAX: usize = 4 << 10;

/// The number of requests of a connection that are kept for the log.
const RECENT_MAX: usize = 60;

pub(super) struct Connection {
    service: Service,
    socket: TcpStream,
    /// The received part of the next line.
    line: Vec<u8>,
    recent: VecDeque<String>,
}

impl Connection {
    pub(super) fn new(service: Service, socket: TcpStream) -> Self {
        Self { service, socket, line: Vec::new(), recent: VecDeque::new() }
    }

    /// Answers requests until the client closes the connection or it fails.
    pub(super) async fn serve(mut self) {
        let bytes = if self.service.faults.socket { FEW_BYTES } else { READ_BYTES };
        let mut buffer = vec![0; bytes];
        while let Ok(connection) = self.serve_once(&mut buffer).await {
            self = connection;
        }
    }

    async fn serve_once(mut self, buffer: &mut [u8]) -> io::Result<Self> {
        if self.service.faults.socket {
            self.socket = register_anew(self.socket)?;
        }
        let read = mark!("read").poll_with(self.socket.read(buffer)).await?;
        if read == 0 || self.line.len() > LINE_BYTES_MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut answers = String::new();
        for byte in &buffer[..read] {
            match byte {
                b'\n' => {
                    let line = String::from_utf8_lossy(&self.line).into_owned();
                    self.line.clear();
                    answers += &self.answer(line);
                }
                byte => self.line.push(*byte),
            }
        }
        self.socket.write_all(answers.as_bytes()).await?;
        Ok(self)
    }

    /// Returns the answer to a request, which is `USER PATH`.
    fn answer(&mut self, request: String) -> String {
        let _call = mark!("answer").enter();
        let user = request.split(' ').next().unwrap_or_default();
        let session = self.service.sessions.get(user);
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(request);
        self.service.log.log_requests(&self.recent);
        format!("session {session}\n")
    }
}

/// Deregisters the socket from the reactor, and registers it again.
#[inline(never)]
fn register_anew(socket: TcpStream) -> io::Result<TcpStream> {
    let _call = mark!("register_anew").enter();
    TcpStream::from_std(socket.into_std()?)
}
