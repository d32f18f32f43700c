//! A program on a real pseudo-terminal, with a person who presses keys and looks at the screen.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::support::Served;

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A pseudo-terminal with a program on it.
pub(crate) struct Terminal {
    pub(crate) child: Served,
    /// The side of the user.
    person: File,
    /// The side of the program, whose mode is checked.
    program: OwnedFd,
    /// The mode before the program was started.
    pub(crate) before: Termios,
    /// All that was written.
    written: Arc<Mutex<Vec<u8>>>,
    /// The numbers of columns and rows, and of the bytes that were written before each change of
    /// them.
    sizes: Vec<(usize, (u16, u16))>,
}

impl Terminal {
    /// Starts a program on a terminal of so many columns and rows.
    pub(crate) fn start(command: &mut Command, size: (u16, u16)) -> Self {
        let terminal = Self::start_frozen(command, size);
        terminal.thaw();
        terminal
    }

    /// Starts a program on a terminal that takes nothing after its buffer is full.
    pub(crate) fn start_frozen(command: &mut Command, size: (u16, u16)) -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&person).expect("it is ours");
        unlockpt(&person).expect("it is ours");
        let name = ptsname(&person, Vec::new()).expect("a name");
        let program = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        let program = program.expect("the other side");
        set_size(&program, size);
        let before = tcgetattr(&program).expect("a mode");
        let side = || program.try_clone().expect("a descriptor");
        // A job of its own, so that a signal to its group does not reach the tests.
        command.stdin(side()).stdout(side()).stderr(side()).process_group(0);
        let child = Served(command.spawn().expect("it starts"));
        let person = File::from(person);
        let written = Arc::default();
        Self { child, person, program, before, written, sizes: vec![(0, size)] }
    }

    /// Takes what the program has written, and goes on to.
    pub(crate) fn thaw(&self) {
        let (mut output, all) =
            (self.person.try_clone().expect("a descriptor"), self.written.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(bytes @ 1..) = output.read(&mut buffer) {
                all.lock().expect("no panic").extend_from_slice(&buffer[..bytes]);
            }
        });
    }

    /// Whether the terminal takes no more.
    pub(crate) fn is_full(&self) -> bool {
        let mut room = [PollFd::new(&self.program, PollFlags::OUT)];
        poll(&mut room, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("it is open") == 0
    }

    pub(crate) fn mode(&self) -> Termios {
        tcgetattr(&self.program).expect("a mode")
    }

    pub(crate) fn written(&self) -> Vec<u8> {
        self.written.lock().expect("no panic").clone()
    }

    /// What a person sees: the rows of the screen, as a terminal shows what was written.
    pub(crate) fn screen(&self) -> String {
        let written = self.written();
        let (_, (columns, rows)) = self.sizes[0];
        // The emulator has no terminal without a character.
        let size = |length: u16| NonZero::new(length).unwrap_or(NonZero::<u16>::MIN);
        let mut parser = vt100::Parser::new(size(rows), size(columns), 0);
        for (index, (from, (columns, rows))) in self.sizes.iter().enumerate() {
            let to = self.sizes.get(index + 1).map_or(written.len(), |(next, _)| *next);
            parser.screen_mut().set_size(size(*rows), size(*columns));
            parser.process(&written[*from..to]);
        }
        parser.screen().contents()
    }

    /// Waits until what was written has something, and returns that.
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, find: impl Fn(&str) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let written = self.written();
            let written = String::from_utf8_lossy(&written);
            if let Some(found) = find(&written) {
                return found;
            }
            assert!(start.elapsed() < TIMEOUT, "{written}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until all of these texts are on the screen, and returns the screen.
    #[track_caller]
    pub(crate) fn wait_for_screen(&self, texts: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if texts.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(start.elapsed() < TIMEOUT, "{texts:?}:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.person.write_all(keys).expect("it is open");
    }

    /// Changes the size, and lets the program know.
    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        set_size(&self.program, size);
        self.sizes.push((self.written().len(), size));
        // The terminal is not that which controls the program, so it sends no signal.
        self.signal(Signal::WINCH);
    }

    /// Lets the program draw until it waits for the terminal, which takes no more.
    #[track_caller]
    pub(crate) fn fill(&mut self) {
        let start = Instant::now();
        let mut full_for = 0;
        for change in 0.. {
            assert!(start.elapsed() < TIMEOUT, "it takes everything");
            // A program draws all when the size changes.
            self.resize((300, 99 + change % 2));
            std::thread::sleep(Duration::from_millis(20));
            full_for = if self.is_full() { full_for + 1 } else { 0 };
            if full_for == 20 {
                return;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child.0), signal).expect("it runs");
    }

    /// Waits until a signal has stopped the program.
    #[track_caller]
    pub(crate) fn wait_until_stopped(&self) {
        let start = Instant::now();
        let pid = Pid::from_child(&self.child.0);
        let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
        loop {
            match waitpid(Some(pid), options).expect("a child") {
                Some((_, status)) if status.stopped() => return,
                Some((_, status)) => panic!("it ended with {status:?}:\n{}", self.screen()),
                None => {
                    assert!(start.elapsed() < TIMEOUT, "it goes on:\n{}", self.screen());
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.0.try_wait().expect("a child") {
                return status;
            }
            let written = self.written();
            let written = String::from_utf8_lossy(&written);
            assert!(start.elapsed() < TIMEOUT, "it goes on: {written}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn set_size(terminal: &OwnedFd, (columns, rows): (u16, u16)) {
    let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a size");
}

/// The parts of a mode that can be compared.
pub(crate) fn flags(mode: &Termios) -> impl PartialEq + std::fmt::Debug + use<> {
    (mode.input_modes, mode.output_modes, mode.control_modes, mode.local_modes)
}
