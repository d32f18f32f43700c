//! `weir top` on a real pseudo-terminal: keys, signals, and a change of the size.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::metrics::Watched;
use crate::support::{Folder, Served, generated, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The last output of the program: it shows the cursor and restores the first screen.
const LEFT: &str = "\x1b[?25h\x1b[?1049l";

/// A pseudo-terminal with `weir top` on it.
struct Terminal {
    top: Served,
    /// The side of the user.
    person: File,
    /// The side of the program, whose mode is checked.
    program: OwnedFd,
    /// The mode before the program was started.
    before: Termios,
    /// All that was written.
    written: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(admin: &str, term: &str) -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&person).expect("it is ours");
        unlockpt(&person).expect("it is ours");
        let name = ptsname(&person, Vec::new()).expect("a name");
        let program = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        let program = program.expect("the other side");
        resize(&program, 80, 24);
        let before = tcgetattr(&program).expect("a mode");
        let side = || program.try_clone().expect("a descriptor");
        let mut command = weir(["top", "--admin", admin]);
        command.env("TERM", term).stdin(side()).stdout(side()).stderr(side());
        let top = Served(command.spawn().expect("it starts"));
        let person = File::from(person);
        let written = Arc::new(Mutex::new(Vec::new()));
        let (mut output, all) = (person.try_clone().expect("a descriptor"), written.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(bytes @ 1..) = output.read(&mut buffer) {
                all.lock().expect("no panic").extend_from_slice(&buffer[..bytes]);
            }
        });
        Self { top, person, program, before, written }
    }

    fn mode(&self) -> Termios {
        tcgetattr(&self.program).expect("a mode")
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().expect("no panic")).into_owned()
    }

    /// Waits for something on the screen, and returns the screen.
    #[track_caller]
    fn wait_for(&self, is_there: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let written = self.written();
            let screen = written.rsplit("\x1b[H").next().unwrap_or_default();
            if is_there(screen) {
                return screen.to_owned();
            }
            assert!(start.elapsed() < TIMEOUT, "{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    fn wait_for_text(&self, text: &str) -> String {
        self.wait_for(|screen| screen.contains(text))
    }

    fn press(&mut self, keys: &[u8]) {
        self.person.write_all(keys).expect("it is open");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.top.0), signal).expect("it runs");
    }

    #[track_caller]
    fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.top.0.try_wait().expect("a child") {
                return status;
            }
            assert!(start.elapsed() < TIMEOUT, "it goes on: {}", self.written());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn resize(terminal: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a size");
}

/// The parts of a mode that can be compared.
fn flags(mode: &Termios) -> impl PartialEq + std::fmt::Debug + use<> {
    (mode.input_modes, mode.output_modes, mode.control_modes, mode.local_modes)
}

fn watched(folder: &Folder) -> Watched {
    let log = folder.file("a.log", &generated(64 << 10));
    Watched::start_with(&[text(&log)], &[])
}

#[test]
fn keys_and_sizes_change_the_screen() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let mut terminal = Terminal::start(&watched.admin, "xterm");
    let screen = terminal.wait_for_text("s sort: busy");
    assert_eq!(screen.lines().count(), 24, "{screen}");
    let raw = terminal.mode().local_modes;
    assert!(!raw.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{raw:?}");
    terminal.press(b"\x1b[Bs");
    terminal.wait_for_text("scheduled ↓");
    terminal.press(b"r");
    terminal.wait_for_text("scheduled ↑");
    terminal.press(b"t");
    let screen = terminal.wait_for_text("show: tasks");
    assert!(!screen.contains("on a processor"), "{screen}");
    terminal.press(b"h");
    terminal.wait_for_text("Ctrl-C quit.");
    resize(&terminal.program, 60, 12);
    terminal.signal(Signal::WINCH);
    terminal.wait_for(|screen| screen.lines().count() == 12 && screen.ends_with("h help\x1b[0m"));
    terminal.press(b" ");
    terminal.wait_for_text("Paused.");
    terminal.press(b" q");
    assert!(terminal.end().success());
}

#[test]
fn the_terminal_is_restored_at_each_end() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let keys = [&b"q"[..], b"\x1b", b"\x03"].map(Ok);
    for end in keys.into_iter().chain([Signal::TERM, Signal::INT, Signal::HUP].map(Err)) {
        let mut terminal = Terminal::start(&watched.admin, "xterm");
        let before = flags(&terminal.before);
        terminal.wait_for_text("q quit");
        assert_ne!(flags(&terminal.mode()), before);
        match end {
            Ok(keys) => terminal.press(keys),
            Err(signal) => terminal.signal(signal),
        }
        let status = terminal.end();
        assert!(status.success(), "{end:?}: {status}");
        assert_eq!(flags(&terminal.mode()), before, "{end:?}");
        terminal.wait_for(|screen| screen.ends_with(LEFT));
    }
}

#[test]
fn numbers_stay_if_the_program_stops_answering() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let mut terminal = Terminal::start(&watched.admin, "xterm");
    terminal.wait_for_text("source");
    drop(watched);
    let screen = terminal
        .wait_for(|screen| screen.contains("trying again: ") && screen.ends_with("h help\x1b[0m"));
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
    let mut terminal = Terminal::start(&watched.admin, "dumb");
    assert!(terminal.end().success());
    let text = terminal.wait_for_text("on a processor");
    assert!(text.contains("stage") && !text.contains('\x1b'), "{text}");
}
