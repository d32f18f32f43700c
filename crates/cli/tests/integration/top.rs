//! `weir top` on a real pseudo-terminal: keys, signals, and a change of the size.

use rustix::process::Signal;
use rustix::termios::LocalModes;

use crate::metrics::Watched;
use crate::pseudo_terminal::{Terminal, flags};
use crate::support::{Folder, generated, text, weir};

/// The last output of the program: it shows the cursor and restores the first screen.
const LEFT: &str = "\x1b[?25h\x1b[?1049l";

fn start(admin: &str, term: &str) -> Terminal {
    Terminal::start(weir(["top", "--admin", admin]).env("TERM", term), (80, 24))
}

/// Waits for something on the screen since it was last drawn, and returns that.
#[track_caller]
fn wait_for(terminal: &Terminal, is_there: impl Fn(&str) -> bool) -> String {
    terminal.wait_for(|written| {
        let screen = written.rsplit("\x1b[H").next().unwrap_or_default();
        is_there(screen).then(|| screen.to_owned())
    })
}

#[track_caller]
fn wait_for_text(terminal: &Terminal, text: &str) -> String {
    wait_for(terminal, |screen| screen.contains(text))
}

fn watched(folder: &Folder) -> Watched {
    let log = folder.file("a.log", &generated(64 << 10));
    Watched::start_with(&[text(&log)], &[])
}

#[test]
fn keys_and_sizes_change_the_screen() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let mut terminal = start(&watched.admin, "xterm");
    let screen = wait_for_text(&terminal, "s sort: busy");
    assert_eq!(screen.lines().count(), 24, "{screen}");
    let raw = terminal.mode().local_modes;
    assert!(!raw.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{raw:?}");
    terminal.press(b"\x1b[Bs");
    wait_for_text(&terminal, "scheduled ↓");
    terminal.press(b"r");
    wait_for_text(&terminal, "scheduled ↑");
    terminal.press(b"t");
    let screen = wait_for_text(&terminal, "show: tasks");
    assert!(!screen.contains("on a processor"), "{screen}");
    terminal.press(b"h");
    wait_for_text(&terminal, "Ctrl-C quit.");
    terminal.resize((60, 12));
    terminal.signal(Signal::WINCH);
    wait_for(&terminal, |screen| screen.lines().count() == 12 && screen.ends_with("h help\x1b[0m"));
    terminal.press(b" ");
    wait_for_text(&terminal, "Paused.");
    terminal.press(b" q");
    assert!(terminal.end().success());
}

#[test]
fn the_terminal_is_restored_at_each_end() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let keys = [&b"q"[..], b"\x1b", b"\x03"].map(Ok);
    for end in keys.into_iter().chain([Signal::TERM, Signal::INT, Signal::HUP].map(Err)) {
        let mut terminal = start(&watched.admin, "xterm");
        let before = flags(&terminal.before);
        wait_for_text(&terminal, "q quit");
        assert_ne!(flags(&terminal.mode()), before);
        match end {
            Ok(keys) => terminal.press(keys),
            Err(signal) => terminal.signal(signal),
        }
        let status = terminal.end();
        assert!(status.success(), "{end:?}: {status}");
        assert_eq!(flags(&terminal.mode()), before, "{end:?}");
        wait_for(&terminal, |screen| screen.ends_with(LEFT));
    }
}

#[test]
fn a_signal_ends_it_while_the_terminal_takes_nothing() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let mut command = weir(["top", "--admin", &watched.admin]);
    let mut terminal = Terminal::start_frozen(command.env("TERM", "xterm"), (300, 100));
    terminal.fill();
    terminal.signal(Signal::TERM);
    assert!(terminal.end().success());
    assert_eq!(flags(&terminal.mode()), flags(&terminal.before));
    terminal.thaw();
    terminal.wait_for(|written| written.contains(LEFT).then_some(()));
}

#[test]
fn numbers_stay_if_the_program_stops_answering() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let mut terminal = start(&watched.admin, "xterm");
    wait_for_text(&terminal, "source");
    drop(watched);
    let screen = wait_for(&terminal, |screen| {
        screen.contains("trying again: ") && screen.ends_with("h help\x1b[0m")
    });
    let lost = screen.lines().filter(|line| line.contains("No new numbers for")).count();
    assert_eq!(lost, 1, "{screen}");
    assert!(screen.contains("stage") && screen.contains("thread"), "{screen}");
    terminal.press(b"q");
    assert!(terminal.end().success());
    assert_eq!(flags(&terminal.mode()), flags(&terminal.before));
}

#[test]
fn a_terminal_that_cannot_draw_gets_a_text() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let mut terminal = start(&watched.admin, "dumb");
    assert!(terminal.end().success());
    let text = wait_for_text(&terminal, "on a processor");
    assert!(text.contains("stage") && !text.contains('\x1b'), "{text}");
}
