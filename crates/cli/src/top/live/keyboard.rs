//! The keys that a person presses.

use std::future::pending;
use std::io::{Read, stdin};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::top::keys::{Key, KeyReader};

/// How long the rest of a sequence may take after its Escape. Over a slow connection, both may
/// arrive apart.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);

/// Reads keys from standard input.
#[derive(Debug)]
pub(super) struct Keyboard {
    /// The bytes of the terminal; `None` without one.
    bytes: Option<Receiver<u8>>,
    reader: KeyReader,
}

impl Keyboard {
    /// Begins to read, if there are keys to read.
    pub(super) fn new(has_keys: bool) -> Self {
        let bytes = has_keys.then(|| {
            let (sender, bytes) = channel(64);
            // A read cannot be cancelled, so it has a thread, which ends with the program.
            std::thread::spawn(move || read_to_end(&sender));
            bytes
        });
        Self { bytes, reader: KeyReader::default() }
    }

    /// Returns the next key. The end of the terminal is a key too, the one that quits.
    pub(super) async fn next(&mut self) -> Key {
        let Some(bytes) = &mut self.bytes else { return pending().await };
        loop {
            let byte = match self.reader.has_escape() {
                true => tokio::time::timeout(ESCAPE_WAIT, bytes.recv()).await,
                false => Ok(bytes.recv().await),
            };
            // Either nothing follows the Escape, or the terminal is gone.
            let Ok(Some(byte)) = byte else { return Key::Quit };
            if let Some(key) = self.reader.read(byte) {
                return key;
            }
        }
    }
}

fn read_to_end(sender: &Sender<u8>) {
    for byte in stdin().lock().bytes() {
        let Ok(byte) = byte else { return };
        if sender.blocking_send(byte).is_err() {
            return;
        }
    }
}
