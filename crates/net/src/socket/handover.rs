//! The handover of listening sockets from one process to its successor of the same program.
//!
//! Both processes then share the sockets and their queues of connections. The process that calls
//! accept(2) first gets the next connection, and none is lost when the first process closes its
//! copies. This module does not use `SO_REUSEPORT`: such sockets have separate queues, and closing
//! one resets the connections that wait in its queue (<https://lwn.net/Articles/853637/>).
//!
//! The sockets travel over a pair of Unix sockets (`SCM_RIGHTS`, unix(7)), one in each message. The
//! text of the message is the purpose of the socket and the address as it was requested. The
//! successor answers when it listens.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg,
    socketpair,
};
use weir_sync::Lock;

use super::listener::Socket;
use super::passed::PassedSockets;
use super::unix::SocketFile;

/// The message after the last socket. It cannot be the name of a socket.
const END: &[u8] = b"end";

/// The message by which the successor reports that it listens.
const READY: &[u8] = b"ready";

/// The maximum length of a name, which may contain a path.
const NAME_BYTES_MAX: usize = 4_096;

/// The time for which one process waits for a message of the other.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// All listening sockets of a process. Copies share the list.
#[derive(Clone, Debug, Default)]
pub struct ListeningSockets(Arc<Lock<Vec<Entry>>>);

/// Listening sockets with their names. They stay open until this is dropped.
#[derive(Debug)]
pub struct OpenSockets(Vec<(String, Arc<Socket>)>);

/// An entry of the list. It does not keep its socket open.
#[derive(Debug)]
struct Entry {
    /// The purpose of the socket, and the address as it was requested.
    name: String,
    socket: Weak<Socket>,
}

impl ListeningSockets {
    /// Adds a socket.
    pub(super) fn add(&self, name: String, socket: &Arc<Socket>) {
        self.0.lock().push(Entry { name, socket: Arc::downgrade(socket) });
    }

    /// Returns the sockets that listen now. They stay open until the result is dropped, even if the
    /// server is told to stop meanwhile.
    pub fn hold(&self) -> OpenSockets {
        OpenSockets(self.open())
    }

    /// Keeps the files of Unix sockets when the sockets are closed, because they belong to the
    /// successor.
    pub fn leave_files(&self) {
        for (_, socket) in self.open() {
            socket.file().into_iter().for_each(SocketFile::leave);
        }
    }

    /// Removes the files of Unix sockets when the sockets are closed, including the files of the
    /// predecessor. For a process that has taken over, or that continues because its successor
    /// failed.
    pub fn claim_files(&self) {
        for (_, socket) in self.open() {
            socket.file().into_iter().for_each(SocketFile::claim);
        }
    }

    /// Returns the sockets that are open. They stay open until the list is dropped.
    fn open(&self) -> Vec<(String, Arc<Socket>)> {
        let entries = self.0.lock();
        let open = entries.iter().filter_map(|it| Some((it.name.clone(), it.socket.upgrade()?)));
        open.collect()
    }
}

/// A process's end of the connection to its successor.
#[derive(Debug)]
pub struct Handover(OwnedFd);

impl Handover {
    /// Creates a connection. Returns this process's end, and the end that becomes the standard
    /// input of the successor.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (own, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        set_socket_timeout(&own, Timeout::Send, Some(MESSAGE_TIMEOUT))?;
        Ok((Self(own), other))
    }

    /// Sends the listening sockets.
    ///
    /// # Errors
    /// If the successor has ended, or does not read.
    pub fn send(&self, sockets: &OpenSockets) -> io::Result<()> {
        for (name, socket) in &sockets.0 {
            self.send_one(name.as_bytes(), socket.as_fd())?;
        }
        retry_on_intr(|| send(&self.0, END, SendFlags::NOSIGNAL))?;
        Ok(())
    }

    fn send_one(&self, name: &[u8], socket: BorrowedFd<'_>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let sockets = [socket];
        if !ancillary.push(SendAncillaryMessage::ScmRights(&sockets)) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let text = [IoSlice::new(name)];
        retry_on_intr(|| sendmsg(&self.0, &text, &mut ancillary, SendFlags::NOSIGNAL))?;
        Ok(())
    }

    /// Waits until the successor listens.
    ///
    /// # Errors
    /// If the successor has ended, or takes longer than `timeout`.
    pub fn wait_until_ready(&self, timeout: Duration) -> io::Result<()> {
        set_socket_timeout(&self.0, Timeout::Recv, Some(timeout))?;
        let mut answer = [0; READY.len()];
        // A signal interrupts a call with a timeout even if its handler has SA_RESTART (signal(7)).
        let (_, length) = retry_on_intr(|| recv(&self.0, &mut answer, RecvFlags::empty()))?;
        match length {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Receives sockets from the predecessor, over the standard input, and adds them to `sockets`.
///
/// # Errors
/// If the standard input was not created by [`Handover::pair`], or if the predecessor has ended.
pub fn take_over(sockets: &PassedSockets) -> io::Result<()> {
    let stdin = io::stdin();
    set_socket_timeout(&stdin, Timeout::Recv, Some(MESSAGE_TIMEOUT))?;
    let mut name = [0; NAME_BYTES_MAX];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut text = [IoSliceMut::new(&mut name)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = retry_on_intr(|| recvmsg(&stdin, &mut text, &mut ancillary, flags))?;
        let text = name.get(..received.bytes).unwrap_or_default();
        match ancillary.drain().find_map(first_descriptor) {
            Some(socket) => sockets.add(String::from_utf8_lossy(text).into_owned(), socket)?,
            None if text == END => return Ok(()),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Reports to the predecessor that this process listens in its place.
///
/// # Errors
/// If the predecessor has ended.
pub fn report_ready() -> io::Result<()> {
    retry_on_intr(|| send(io::stdin(), READY, SendFlags::NOSIGNAL))?;
    Ok(())
}

fn first_descriptor(message: RecvAncillaryMessage<'_>) -> Option<OwnedFd> {
    match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::ListeningSockets;
    use crate::socket::{Address, BindOptions, Listener, PassedSockets};

    #[tokio::test]
    async fn sockets_of_one_address_are_told_apart_by_their_purposes() {
        let address: Address = "127.0.0.1:0".parse().unwrap();
        let listening = ListeningSockets::default();
        let first = |purpose| {
            let listening = listening.clone();
            BindOptions { purpose, listening, ..BindOptions::default() }
        };
        let page = Listener::bind(&address, &first("page")).await.unwrap();
        let gateway = Listener::bind(&address, &first("gateway")).await.unwrap();
        drop(page);
        let inherited = PassedSockets::default();
        for (name, socket) in &listening.hold().0 {
            let copy = socket.as_fd().try_clone_to_owned().unwrap();
            inherited.add(name.clone(), copy).unwrap();
        }
        let next = |purpose| {
            let inherited = inherited.clone();
            BindOptions { purpose, inherited, ..BindOptions::default() }
        };
        let new_page = Listener::bind(&address, &next("page")).await.unwrap();
        assert_ne!(new_page.address(), gateway.address());
        let next_gateway = Listener::bind(&address, &next("gateway")).await.unwrap();
        assert_eq!(next_gateway.address(), gateway.address());
    }
}
