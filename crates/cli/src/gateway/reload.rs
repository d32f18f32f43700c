//! Reads the configuration again while the gateway runs.

use std::path::Path;
use std::time::Duration;

use weir_gateway::{
    CertificateFiles, Config, ConfigReading, GatewayHandle, ListenAddress, ReservedAddress,
};

use super::config_files::ConfigFiles;
use crate::logging::warn_lines;

/// The pause between two checks of the files.
const INTERVAL: Duration = Duration::from_secs(1);

/// Replaces the configuration of a gateway on SIGHUP, and when its file or a file that it names
/// changes. A configuration with mistakes changes nothing. On SIGUSR1, reopens the access log. This
/// call installs the signal handlers, before the future is first polled.
pub(crate) fn watch(
    files: ConfigFiles,
    config: Config,
    reserved: Vec<ReservedAddress>,
    gateway: GatewayHandle,
) -> impl Future<Output = ()> + Send {
    let (hangups, renames) = (Signal::hangup(), Signal::user1());
    let fixed = FixedSettings::of(&config);
    follow(hangups, renames, files, Running { fixed, config, reserved, gateway })
}

async fn follow(
    mut hangups: Signal,
    mut renames: Signal,
    mut files: ConfigFiles,
    mut running: Running,
) {
    loop {
        let is_requested = tokio::select! {
            () = hangups.next() => true,
            () = renames.next() => {
                running.reopen_access_log();
                continue;
            }
            () = tokio::time::sleep(INTERVAL) => false,
        };
        if files.note_absence() {
            tracing::warn!(
                target: "weir_gateway",
                file = &*files.path.to_string_lossy(),
                "the configuration file has vanished; the gateway goes on with the configuration before",
            );
        }
        if !is_requested && !files.have_changed() {
            continue;
        }
        files.note_states();
        let ConfigReading { config, sources } =
            Config::read_with_sources(&files.path, &running.reserved);
        files.note_sources(sources);
        match config {
            Ok(read) => running.replace(read, &files.path),
            Err(error) => warn_lines(
                Some(&files.path),
                format_args!("{error}\nthe gateway goes on with the configuration before"),
            ),
        }
    }
}

/// The settings that a running gateway does not change.
#[derive(PartialEq)]
struct FixedSettings {
    listen: Vec<ListenAddress>,
    tls: Option<CertificateFiles>,
    threads: Option<usize>,
}

impl FixedSettings {
    fn of(config: &Config) -> Self {
        let Config { listen, tls, threads, .. } = config.clone();
        Self { listen, tls, threads }
    }
}

/// The gateway with the configuration that it uses.
struct Running {
    /// The settings that it was started with.
    fixed: FixedSettings,
    config: Config,
    /// The addresses of the page and of `--admin`.
    reserved: Vec<ReservedAddress>,
    gateway: GatewayHandle,
}

impl Running {
    fn reopen_access_log(&self) {
        if let Err(error) = self.gateway.access_log().reopen() {
            warn_lines(
                access_log_file(&self.config),
                format_args!("{error}\nthe access log goes on with the file before"),
            );
        }
    }

    /// Uses a configuration that was read from this file.
    fn replace(&mut self, read: Config, path: &Path) {
        let file = &*path.to_string_lossy();
        if FixedSettings::of(&read) != self.fixed {
            tracing::warn!(
                target: "weir_gateway",
                file,
                "listen, tls and threads stay as they were until the gateway is started again",
            );
        }
        for warning in &read.warnings {
            tracing::warn!(target: "weir_gateway", file, "{warning}");
        }
        if let Err(error) = self.gateway.access_log().set(read.access_log.as_ref()) {
            warn_lines(
                access_log_file(&read),
                format_args!("{error}\nthe access log stays as it was"),
            );
        }
        self.gateway.replace(&read);
        self.config = read;
        tracing::info!(target: "weir_gateway", file, "the configuration was read again");
    }
}

fn access_log_file(config: &Config) -> Option<&Path> {
    config.access_log.as_ref().map(|log| &*log.file)
}

/// A Unix signal, which can be awaited repeatedly.
#[cfg(unix)]
struct Signal(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signal {
    /// SIGHUP requests that the configuration is read again.
    fn hangup() -> Self {
        Self(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok())
    }

    /// SIGUSR1 requests that the access log, which was renamed, is reopened.
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
