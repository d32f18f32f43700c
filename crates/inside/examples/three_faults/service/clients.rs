//! Clients that send requests without pauses.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The number of clients, each with its own connection.
const CLIENTS: usize = 2;
/// The number of users, for which each client sends requests in turn.
const USERS: usize = 8;

/// Running clients, which stop when this is dropped.
#[derive(Debug)]
pub(crate) struct Clients {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic of the client is ignored, because it has ended all the same.
            let _ = thread.join();
        }
    }
}

/// Starts the clients of a service, each on its own thread.
pub(crate) fn start(address: SocketAddr) -> io::Result<Clients> {
    let (ends, mut threads) = (Arc::new(AtomicBool::new(false)), Vec::new());
    for number in 0..CLIENTS {
        let (socket, ends) = (TcpStream::connect(address)?, ends.clone());
        let thread = thread::Builder::new().name(format!("client-{number}"));
        threads.push(thread.spawn(move || {
            // An error means that the service has ended.
            let _ = ask(socket, &ends);
        })?);
    }
    Ok(Clients { ends, threads })
}

fn ask(socket: TcpStream, ends: &AtomicBool) -> io::Result<()> {
    let mut answers = BufReader::new(socket.try_clone()?);
    let (mut socket, mut answer) = (socket, String::new());
    for number in 0_u64.. {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        let user = number % USERS as u64;
        let request = format!("user-{user} /reports/of/a/year/by/month/{number}\n");
        socket.write_all(request.as_bytes())?;
        answer.clear();
        if answers.read_line(&mut answer)? == 0 {
            break;
        }
    }
    Ok(())
}
