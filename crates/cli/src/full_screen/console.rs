//! The terminal while the program draws on all of it. Its state before that is restored at each
//! end: when the [`FullScreen`] is dropped, and before the message of a panic.

use std::io::{Write, stdout};
use std::sync::{Once, OnceLock};

use weir_sync::Lock;

use super::held::write_held;
use super::input;
use super::mode::{self, Mode, restore, set_raw};
use super::rescue::end_after_signals;
use super::signals::{stop_group, stop_process};

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
pub(crate) struct FullScreen {
    has_keys: bool,
}

impl FullScreen {
    /// Takes the terminal. Keys can be read if the process has a terminal to read from.
    pub(crate) fn enter() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let print = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                leave();
                print(panic);
            }));
            end_after_signals();
        });
        let mut screen = Self { has_keys: false };
        screen.enter_again();
        screen
    }

    /// Takes the terminal again after [`leave`], or after another program has used it.
    pub(crate) fn enter_again(&mut self) {
        let mut is_taken = IS_TAKEN.lock();
        let found = input::terminal().and_then(set_raw);
        self.has_keys = found.is_some();
        if let Some(mode) = found {
            FIRST_MODE.get_or_init(|| mode);
        }
        *is_taken = true;
        write(ENTER);
    }

    /// Asks the programs of this job to stop, as Ctrl-Z does on a terminal that edits lines.
    pub(crate) fn ask_to_stop(&self) {
        stop_group();
    }

    /// Gives the terminal back, stops, and takes the terminal again when the program is continued.
    pub(crate) fn stop(&mut self) {
        leave();
        stop_process();
        self.enter_again();
    }

    /// Whether the terminal passes each key at once.
    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the terminal, if it was taken.
fn leave() {
    let mut is_taken = IS_TAKEN.lock();
    if !std::mem::take(&mut *is_taken) {
        return;
    }
    write(LEAVE);
    if let Some((terminal, mode)) = input::terminal().zip(FIRST_MODE.get()) {
        restore(terminal, mode);
    }
    write_held();
}

/// Drops what the terminal has not taken, if it takes no more, and restores its mode. That wakes a
/// thread that waits to write. Takes no lock, because such a thread may hold it.
#[cfg(unix)]
pub(super) fn drop_unread() {
    mode::drop_output_if_full(stdout());
    if let Some((terminal, mode)) = input::terminal().zip(FIRST_MODE.get()) {
        mode::restore_without_wait(terminal, mode);
    }
}

/// Restores the terminal as far as that needs neither a lock nor a wait.
#[cfg(unix)]
pub(super) fn leave_without_wait() {
    mode::write_without_wait(stdout(), LEAVE);
    drop_unread();
}

/// Calls a function if the program draws on the terminal, which it goes on to do meanwhile. Returns
/// whether it does.
pub(super) fn if_taken(then: impl FnOnce()) -> bool {
    let is_taken = IS_TAKEN.lock();
    if *is_taken {
        then();
    }
    *is_taken
}

/// Writes a sequence. If the terminal is gone, there is nothing to restore.
fn write(sequence: &str) {
    let mut stdout = stdout().lock();
    let _ = stdout.write_all(sequence.as_bytes()).and_then(|()| stdout.flush());
}
