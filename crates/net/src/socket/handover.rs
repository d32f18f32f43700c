//! Listening sockets that one process hands over to the next one of the same program.
//!
//! Both processes have the same sockets then, and so the same queues of connections: whoever calls accept(2)
//! gets the next one, and none is lost when the first process closes its copies. Sockets with `SO_REUSEPORT`
//! have a queue each, and closing one of them resets the connections that wait in it
//! (<https://lwn.net/Articles/853637/>), so that is not done here.
//!
//! The sockets travel over a pair of Unix sockets (`SCM_RIGHTS`, unix(7)), one in each message, whose text is
//! what it is for and the address as it was asked for. The next process answers when it listens.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg,
    socketpair,
};

use super::listener::Socket;
use super::passed::PassedSockets;
use super::unix::SocketFile;

/// The message after the last socket. No name of a socket is like it.
const END: &[u8] = b"end";

/// What the next process says when it listens.
const READY: &[u8] = b"ready";

/// The longest name in a message, which may have a path.
const NAME_BYTES_MAX: usize = 4_096;

/// How long one process waits for a message of the other one.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// All listening sockets of a process. Copies share the list.
#[derive(Clone, Debug, Default)]
pub struct ListeningSockets(Arc<Mutex<Vec<Entry>>>);

/// Listening sockets that are held open, by their names.
#[derive(Debug)]
pub struct OpenSockets(Vec<(String, Arc<Socket>)>);

/// A socket, as long as it listens.
#[derive(Debug)]
struct Entry {
    /// What it is for, and the address as it was asked for.
    name: String,
    socket: Weak<Socket>,
}

impl ListeningSockets {
    /// Adds a socket.
    pub(super) fn add(&self, name: String, socket: &Arc<Socket>) {
        self.lock().push(Entry { name, socket: Arc::downgrade(socket) });
    }

    /// The sockets that listen now. They stay open until this is dropped, also if a signal stops the process.
    pub fn hold(&self) -> OpenSockets {
        OpenSockets(self.open())
    }

    /// Leaves the files of Unix sockets where they are when the sockets are closed: they belong to the next
    /// process.
    pub fn leave_files(&self) {
        for (_, socket) in self.open() {
            socket.file().into_iter().for_each(SocketFile::leave);
        }
    }

    /// Removes the files of Unix sockets when the sockets are closed, also those of the process before: this
    /// process listens in its place, or goes on because no next one does.
    pub fn claim_files(&self) {
        for (_, socket) in self.open() {
            socket.file().into_iter().for_each(SocketFile::claim);
        }
    }

    /// Those that are open. They stay so until the list is dropped.
    fn open(&self) -> Vec<(String, Arc<Socket>)> {
        let entries = self.lock();
        let open = entries.iter().filter_map(|it| Some((it.name.clone(), it.socket.upgrade()?)));
        open.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a connection between a process and the next one.
#[derive(Debug)]
pub struct Handover(OwnedFd);

impl Handover {
    /// Both ends of a connection: this process's, and the one that becomes the standard input of the next.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (own, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        set_socket_timeout(&own, Timeout::Send, Some(MESSAGE_TIMEOUT))?;
        Ok((Self(own), other))
    }

    /// Sends the sockets that listen.
    ///
    /// # Errors
    /// If the next process has gone, or does not read.
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

    /// Waits until the next process listens.
    ///
    /// # Errors
    /// If it has gone, or takes longer than `timeout`.
    pub fn wait_until_ready(&self, timeout: Duration) -> io::Result<()> {
        set_socket_timeout(&self.0, Timeout::Recv, Some(timeout))?;
        let mut answer = [0; READY.len()];
        // A signal interrupts a call that has a timeout, whatever its handler asks for (signal(7)).
        let (_, length) = retry_on_intr(|| recv(&self.0, &mut answer, RecvFlags::empty()))?;
        match length {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Receives sockets from the process before, over the standard input, and adds them to `sockets`.
///
/// # Errors
/// If the standard input is none that [`Handover::pair`] has made, or that process has gone.
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

/// Tells the process before that this one listens in its place.
///
/// # Errors
/// If it has gone.
pub fn say_ready() -> io::Result<()> {
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
