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

/// Starts the new process.
#[derive(Debug, Clone)]
pub(super) struct Upgrade {
    program: PathBuf,
    arguments: Vec<OsString>,
    sockets: ListeningSockets,
}

impl Upgrade {
    /// Takes the path and the arguments of this program. Call it at the start: once the file has
    /// been replaced, the system no longer reports its path.
    pub(super) fn new(sockets: ListeningSockets) -> io::Result<Self> {
        let program = match std::env::args_os().next().map(PathBuf::from) {
            // The path is not resolved, because a link in it may lead to a newer version by then.
            Some(path) if path.is_absolute() => path,
            _ => std::env::current_exe()?,
        };
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let flag = OsString::from("--take-over");
        // Inserted after the name of the command, before any `--`.
        if !arguments.contains(&flag) {
            arguments.insert(1.min(arguments.len()), flag);
        }
        Ok(Self { program, arguments, sockets })
    }

    /// Resolves when the gateway has to end: because a new process has taken over, or because of
    /// `stop`. A new process also ends the server of the page, by `end`. This call installs the
    /// signal handler, before the future is first polled.
    pub(super) fn or_stop(
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
                // `stop` is not polled until it is known which process has the sockets.
                if self.hand_over().await {
                    end.notify_one();
                    return Shutdown::Handover { grace_period: HANDOVER_GRACE };
                }
            }
        }
    }

    /// Starts a new process and returns whether it has taken over. If it fails, this process
    /// continues.
    async fn hand_over(&self) -> bool {
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
            // The new process may have ended by itself.
            let _ = child.kill();
            child.wait()?;
            self.sockets.claim_files();
            return Err(error);
        }
        service::notify(&format!("MAINPID={}", child.id()));
        Ok(child.id())
    }
}
