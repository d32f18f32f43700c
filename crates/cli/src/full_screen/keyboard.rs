//! The keys that a person presses.

use std::fs::File;
use std::future::pending;
use std::io::{ErrorKind, Read};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::input;
use super::key::{Key, KeyReader};
use super::mode::is_there;

/// How long the rest of a sequence may take after its Escape. Over a slow connection, both may
/// arrive apart.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);

/// The pause after a read without a key, so that a terminal that has an end again and again costs
/// no processor.
const PAUSE: Duration = Duration::from_millis(10);

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

/// Reads until the terminal is gone.
fn read_to_end(mut terminal: &File, sender: &Sender<u8>) {
    let mut buffer = [0; 64];
    loop {
        let length = match terminal.read(&mut buffer) {
            // While the program is stopped, the terminal edits lines, and Ctrl-D is an end.
            Ok(0) if is_there(terminal) => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Ok(length @ 1..) => length,
            // On some systems, a stop breaks off a read.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
        };
        for byte in &buffer[..length] {
            if sender.blocking_send(*byte).is_err() {
                return;
            }
        }
    }
}
