//! Replaces the program while it runs: on SIGUSR2 a new process takes over the listening sockets.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
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
        let program = match std::env::args_os().next().map(PathBuf::from) {
            // A link in it may lead to another version by then.
            Some(path) if path.is_absolute() => path,
            _ => std::env::current_exe()?,
        };
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let flag = OsString::from("--take-over");
        // Behind the name of the command, where no `--` has come yet.
        if !arguments.contains(&flag) {
            arguments.insert(1.min(arguments.len()), flag);
        }
        Ok(Self { program, arguments, sockets })
    }

    /// How the gateway ends: by a new process, or by `stop`. A new process also ends the server of the page, by
    /// `end`. The handler of the signal is installed by this call, and not only when the future is polled.
    pub(super) fn or(
        self,
        stop: impl Future<Output = Shutdown>,
        end: Arc<Notify>,
    ) -> impl Future<Output = Shutdown> {
        let signals = signal(SignalKind::user_defined2());
        async move {
            // Without a handler, the signal ends the process by default.
            let Ok(mut signals) = signals else { return stop.await };
            let mut stop = pin!(stop);
            loop {
                tokio::select! {
                    _ = signals.recv() => {}
                    shutdown = &mut stop => return shutdown,
                }
                // What stops this process now waits until it is known who has the sockets.
                if self.is_taken_over().await {
                    end.notify_one();
                    return Shutdown::HandOver { grace_period: HANDOVER_GRACE };
                }
            }
        }
    }

    /// Whether a new process has taken over. If it fails, this one goes on.
    async fn is_taken_over(&self) -> bool {
        let upgrade = self.clone();
        let started = tokio::task::spawn_blocking(move || upgrade.start()).await;
        match started.unwrap_or_else(|error| Err(error.into())) {
            Ok(process) => {
                say(format_args!("process {process} has taken over; this one ends"));
                true
            }
            Err(error) => {
                say(format_args!(
                    "{}: the new process did not take over, so this one goes on: {error}",
                    self.program.display()
                ));
                false
            }
        }
    }

    /// Starts a process, and waits until it listens. Returns its number.
    fn start(&self) -> io::Result<u32> {
        // A signal may stop this process meanwhile.
        let sockets = self.sockets.hold();
        let (handover, other) = Handover::pair()?;
        let mut child =
            Command::new(&self.program).args(&self.arguments).stdin(Stdio::from(other)).spawn()?;
        self.sockets.leave_files();
        let sent = handover.send(&sockets);
        if let Err(error) = sent.and_then(|()| handover.wait_until_ready(START_TIMEOUT)) {
            // It may have ended by itself.
            let _ = child.kill();
            child.wait()?;
            self.sockets.claim_files();
            return Err(error);
        }
        service::tell(&format!("MAINPID={}", child.id()));
        Ok(child.id())
    }
}
