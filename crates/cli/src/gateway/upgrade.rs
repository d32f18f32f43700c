//! Replaces the program while it runs: on SIGUSR2 a new process takes over the listening sockets.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use weir_gateway::Shutdown;
use weir_server::{Handover, ListeningSockets};

use super::{HANDOVER_GRACE, service};
use crate::outcome::say;

/// How long the new process may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// What starts the new process.
#[derive(Debug, Clone)]
pub(super) struct Upgrade {
    program: PathBuf,
    arguments: Vec<OsString>,
    sockets: ListeningSockets,
}

impl Upgrade {
    /// The program at the place of this one, with the same arguments. Call it at the start: when the file has
    /// been replaced, the system does not tell its path any more.
    pub(super) fn new(sockets: ListeningSockets) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let flag = OsString::from("--take-over");
        // Behind the name of the command, where no `--` has come yet.
        if !arguments.contains(&flag) {
            arguments.insert(1.min(arguments.len()), flag);
        }
        Ok(Self { program, arguments, sockets })
    }

    /// How the gateway ends: by a new process, or by `stop`. The handler of the signal is installed by this
    /// call, and not only when the future is polled.
    pub(super) fn or(self, stop: impl Future<Output = Shutdown>) -> impl Future<Output = Shutdown> {
        let signals = signal(SignalKind::user_defined2());
        async {
            tokio::select! {
                biased;
                () = self.taken_over(signals) => {
                    Shutdown::HandOver { grace_period: HANDOVER_GRACE }
                }
                shutdown = stop => shutdown,
            }
        }
    }

    /// Resolves when a new process has taken over. If one fails, this one goes on.
    async fn taken_over(self, signals: io::Result<Signal>) {
        // Without a handler, the signal ends the process by default.
        let Ok(mut signals) = signals else { return std::future::pending().await };
        loop {
            signals.recv().await;
            let upgrade = self.clone();
            let started = tokio::task::spawn_blocking(move || upgrade.start()).await;
            match started.unwrap_or_else(|error| Err(error.into())) {
                Ok(process) => {
                    say(format_args!("process {process} has taken over; this one ends"));
                    return end_page();
                }
                Err(error) => say(format_args!(
                    "{}: the new process did not take over, so this one goes on: {error}",
                    self.program.display()
                )),
            }
        }
    }

    /// Starts a process, and waits until it listens. Returns its number.
    fn start(&self) -> io::Result<u32> {
        let (handover, other) = Handover::pair()?;
        let mut child =
            Command::new(&self.program).args(&self.arguments).stdin(Stdio::from(other)).spawn()?;
        let sent = handover.send(&self.sockets);
        if let Err(error) = sent.and_then(|()| handover.wait_until_ready(START_TIMEOUT)) {
            // It may have ended by itself.
            let _ = child.kill();
            child.wait()?;
            return Err(error);
        }
        self.sockets.leave_files();
        service::tell(&format!("MAINPID={}", child.id()));
        Ok(child.id())
    }
}

/// Ends the server of the page as SIGTERM does.
fn end_page() {
    use rustix::process::{getpid, kill_process};
    // A process may always signal itself.
    let _ = kill_process(getpid(), rustix::process::Signal::TERM);
}
