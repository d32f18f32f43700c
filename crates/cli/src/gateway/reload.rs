//! Reads the configuration again while the gateway runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use weir_gateway::{Config, GatewayHandle};

use crate::outcome::say;
use crate::serve::path_name;

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Replaces the configuration of a gateway on SIGHUP, and when its file has changed. A configuration with
/// mistakes changes nothing.
pub(crate) async fn watch(path: PathBuf, mut config: Config, gateway: GatewayHandle) {
    let mut hangups = Hangups::new();
    let mut seen = stamp(&path);
    loop {
        let is_asked = tokio::select! {
            () = hangups.next() => true,
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
                if read.listen != config.listen || read.tls != config.tls {
                    say("listen and tls stay as they were until the gateway is started again");
                }
                gateway.replace(&read);
                config = read;
                say(format_args!("{}: the configuration was read again", path_name(&path)));
            }
            Err(error) => {
                say(format_args!("{error}\nthe gateway goes on with the configuration before"));
            }
        }
    }
}

/// What changes when a file is written or replaced.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// The signals SIGHUP.
#[cfg(unix)]
struct Hangups(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Hangups {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self(signal(SignalKind::hangup()).ok())
    }

    async fn next(&mut self) {
        match &mut self.0 {
            Some(signal) => _ = signal.recv().await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Hangups;

#[cfg(not(unix))]
impl Hangups {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}
