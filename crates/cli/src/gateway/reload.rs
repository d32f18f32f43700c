//! Reads the configuration again while the gateway runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use weir_gateway::{Config, GatewayHandle};

use crate::logging::warn_lines;

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Replaces the configuration of a gateway on SIGHUP, and when its file has changed. A configuration with
/// mistakes changes nothing. On SIGUSR1, opens the access log anew. The handlers of the signals are installed
/// by this call, and not only when the future is polled.
pub(crate) fn watch(
    path: PathBuf,
    config: Config,
    gateway: GatewayHandle,
) -> impl Future<Output = ()> + Send {
    let signals = (Signal::hangup(), Signal::user1());
    // Whoever has seen the gateway start may change the file before the future is polled.
    let seen = stamp(&path);
    follow(signals, (path, seen), config, gateway)
}

async fn follow(
    (mut hangups, mut renames): (Signal, Signal),
    (path, mut seen): (PathBuf, Option<Stamp>),
    mut config: Config,
    gateway: GatewayHandle,
) {
    loop {
        let is_asked = tokio::select! {
            () = hangups.next() => true,
            () = renames.next() => {
                if let Err(error) = gateway.access_log().reopen() {
                    warn_lines(
                        access_log_file(&config),
                        format_args!("{error}\nthe access log goes on with the file before"),
                    );
                }
                continue;
            }
            () = tokio::time::sleep(INTERVAL) => false,
        };
        let now = stamp(&path);
        // A file that is being replaced is not there for a moment.
        if !is_asked && (now == seen || now.is_none()) {
            continue;
        }
        seen = now;
        match Config::read(&path) {
            Ok(read) => {
                let is_same = |read: &Config| {
                    (&read.listen, &read.tls, read.threads)
                        == (&config.listen, &config.tls, config.threads)
                };
                if !is_same(&read) {
                    tracing::warn!(
                        file = &*path.to_string_lossy(),
                        "listen, tls and threads stay as they were until the gateway is started again",
                    );
                }
                if let Err(error) = gateway.access_log().set(read.access_log.as_ref()) {
                    warn_lines(
                        access_log_file(&read),
                        format_args!("{error}\nthe access log stays as it was"),
                    );
                }
                gateway.replace(&read);
                config = read;
                let file = &*path.to_string_lossy();
                tracing::info!(file, "the configuration was read again");
            }
            Err(error) => {
                warn_lines(
                    Some(&path),
                    format_args!("{error}\nthe gateway goes on with the configuration before"),
                );
            }
        }
    }
}

fn access_log_file(config: &Config) -> Option<&Path> {
    config.access_log.as_ref().map(|log| &*log.file)
}

/// What changes when a file is written or replaced: its time, and its length.
type Stamp = (SystemTime, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// A signal of Unix, each time it comes.
#[cfg(unix)]
struct Signal(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signal {
    /// SIGHUP: the configuration is read again.
    fn hangup() -> Self {
        Self(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok())
    }

    /// SIGUSR1: the access log was renamed, and is opened anew.
    fn user1() -> Self {
        Self(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::user_defined1()).ok())
    }

    async fn next(&mut self) {
        match &mut self.0 {
            Some(signal) => _ = signal.recv().await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Signal;

#[cfg(not(unix))]
impl Signal {
    fn hangup() -> Self {
        Self
    }

    fn user1() -> Self {
        Self
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}
