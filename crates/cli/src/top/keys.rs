//! What the keys mean.

use super::controls::Control;
use crate::full_screen::Key;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAction {
    Quit,
    /// Gives the terminal back to the shell until it continues the program.
    Suspend,
    Control(Control),
}

/// Returns what a key does; `None` if it has no meaning.
pub(super) fn action(key: Key) -> Option<KeyAction> {
    Some(match key {
        Key::Character('q' | 'Q') | Key::Control('c') | Key::Escape | Key::Closed => {
            KeyAction::Quit
        }
        Key::Control('z') => KeyAction::Suspend,
        Key::Character('s') => KeyAction::Control(Control::NextSortKey),
        Key::Character('r') => KeyAction::Control(Control::Reverse),
        Key::Character('t') => KeyAction::Control(Control::NextLists),
        Key::Character(' ') => KeyAction::Control(Control::Pause),
        Key::Character('?' | 'h') => KeyAction::Control(Control::Help),
        _ => return None,
    })
}
