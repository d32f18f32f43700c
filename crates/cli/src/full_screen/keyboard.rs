//! The keys that a person presses.

use std::fs::File;
use std::future::pending;
use std::io::{ErrorKind, Read};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::input;
use super::key::{Key, KeyReader};

/// How long the rest of a sequence may take after its Escape. Over a slow connection, both may
/// arrive apart.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);

/// Reads keys from the terminal.
#[derive(Debug)]
pub(crate) struct Keyboard {
    /// The bytes of the terminal; `None` without one.
    bytes: Option<Receiver<u8>>,
    reader: KeyReader,
}

impl Keyboard {
    /// Begins to read, if there are keys to read.
    pub(crate) fn new(has_keys: bool) -> Self {
        let terminal = input::terminal().filter(|_| has_keys);
        let bytes = terminal.map(|terminal| {
            let (sender, bytes) = channel(64);
            // A read cannot be cancelled, so it has a thread, which ends with the program.
            std::thread::spawn(move || read_to_end(terminal, &sender));
            bytes
        });
        Self { bytes, reader: KeyReader::default() }
    }

    /// Returns the next key. The end of the terminal is a key too.
    pub(crate) async fn next(&mut self) -> Key {
        let Some(bytes) = &mut self.bytes else { return pending().await };
        loop {
            let byte = match self.reader.has_escape() {
                true => tokio::time::timeout(ESCAPE_WAIT, bytes.recv()).await,
                false => Ok(bytes.recv().await),
            };
            let Ok(byte) = byte else {
                self.reader.end_escape();
                return Key::Escape;
            };
            let Some(byte) = byte else { return Key::Closed };
            if let Some(key) = self.reader.read(byte) {
                return key;
            }
        }
    }
}

fn read_to_end(mut terminal: &File, sender: &Sender<u8>) {
    let mut buffer = [0; 64];
    loop {
        let length = match terminal.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            // A stop can break a read off, depending on the system.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        for byte in &buffer[..length] {
            if sender.blocking_send(*byte).is_err() {
                return;
            }
        }
    }
}
