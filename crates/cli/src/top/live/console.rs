//! The terminal while the program draws on all of it. Its state before that is restored at each
//! end: when the [`FullScreen`] is dropped, and before the message of a panic.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::sync::{Once, OnceLock};

use weir_sync::Lock;

use super::mode::{Mode, restore, set_raw};

/// Switches to the second screen of the terminal and hides the cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";

/// Shows the cursor and switches back.
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Whether the terminal is taken. It belongs to the process, as the terminal does, so that a panic
/// finds it. Hold the lock until everything is written, so that no thread finds the terminal half
/// taken. Nothing may panic meanwhile, because the hook of a panic waits for the lock.
static IS_TAKEN: Lock<bool> = Lock::new(false);

/// The mode of the terminal before it was taken first, if it was changed. A later one may be that
/// in which a shell edits its command line, if the program was continued in the background.
static FIRST_MODE: OnceLock<Mode> = OnceLock::new();

/// Exists while the program has the whole terminal.
#[derive(Debug)]
pub(super) struct FullScreen {
    has_keys: bool,
}

impl FullScreen {
    /// Takes the terminal. Keys can be read if standard input is a terminal too.
    pub(super) fn enter() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let print = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                leave();
                print(panic);
            }));
        });
        let mut screen = Self { has_keys: false };
        screen.enter_again();
        screen
    }

    /// Takes the terminal again after [`leave`], or after another program has used it.
    pub(super) fn enter_again(&mut self) {
        let mut is_taken = IS_TAKEN.lock();
        let found = if stdin().is_terminal() { set_raw() } else { None };
        self.has_keys = found.is_some();
        if let Some(mode) = found {
            FIRST_MODE.get_or_init(|| mode);
        }
        *is_taken = true;
        write(ENTER);
    }

    /// Whether the terminal passes each key at once.
    pub(super) fn has_keys(&self) -> bool {
        self.has_keys
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the terminal, if it was taken.
pub(super) fn leave() {
    let mut is_taken = IS_TAKEN.lock();
    if !std::mem::take(&mut *is_taken) {
        return;
    }
    write(LEAVE);
    if let Some(mode) = FIRST_MODE.get() {
        restore(mode);
    }
}

/// Writes a sequence. If the terminal is gone, there is nothing to restore.
fn write(sequence: &str) {
    let mut stdout = stdout().lock();
    let _ = stdout.write_all(sequence.as_bytes()).and_then(|()| stdout.flush());
}
