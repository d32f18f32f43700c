//! Clients that ask as fast as they are answered.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Clients, each with a connection, and the users that they take turns with.
const CLIENTS: usize = 2;
const USERS: usize = 8;

/// Clients that ask until this is dropped.
#[derive(Debug)]
pub(crate) struct Clients {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that has ended with a panic has ended.
            let _ = thread.join();
        }
    }
}

/// Starts clients of the service at an address, on threads of their own.
pub(crate) fn start(address: SocketAddr) -> io::Result<Clients> {
    let (ends, mut threads) = (Arc::new(AtomicBool::new(false)), Vec::new());
    for number in 0..CLIENTS {
        let (socket, ends) = (TcpStream::connect(address)?, ends.clone());
        let thread = thread::Builder::new().name(format!("client-{number}"));
        threads.push(thread.spawn(move || {
            // An error is the end of the service.
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
