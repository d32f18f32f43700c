//! `weir gateway CONFIG`: a reverse proxy, and the page with its requests.

mod arguments;
mod config_files;
mod reload;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod upgrade;

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use weir_gateway::{Config, ConfigReading, Gateway, ReservedAddress, Shutdown};
use weir_ingest::Pipeline;
use weir_observe::task::{TaskKind, TaskName};
use weir_server::{BindOptions, ServeOptions};
#[cfg(target_os = "linux")]
use weir_server::{ListeningSockets, PassedSockets};

pub(crate) use arguments::GatewayArguments;
use config_files::ConfigFiles;
#[cfg(target_os = "linux")]
use upgrade::Upgrade;

use crate::display::safe;
use crate::options::{PageArguments, StateArguments, default_address};
use crate::outcome::{Exit, Failure, say};
use crate::serve::{Page, path_name, shutdown_signal};

/// The task that reads the configuration again when a signal requests it.
static RELOAD: TaskKind = TaskKind::new("configuration");

/// The task that passes the records of requests to the parsers.
static RECORDS: TaskKind = TaskKind::new("records");

/// How long requests in flight may take to end at shutdown.
const GRACE: Duration = Duration::from_secs(30);

/// How long they may take if another process already answers new requests.
const HANDOVER_GRACE: Duration = Duration::from_secs(3_600);

/// The most connections of clients.
const CONNECTIONS_MAX: usize = 65_536;

/// Returns the number of client connections for which there are file descriptors besides those of
/// the page.
fn connections_max(of_page: usize) -> usize {
    let wanted = of_page.saturating_add(2 * CONNECTIONS_MAX);
    client_connections(weir_server::reserve_connections(wanted).connections_max, of_page)
}

/// Returns how many of all connections clients may have. Each client may need a second connection,
/// to a backend. If connections are few, the page gets a quarter.
fn client_connections(connections: usize, of_page: usize) -> usize {
    ((connections - of_page.min(connections / 4)) / 2).clamp(1, CONNECTIONS_MAX)
}

/// Runs the command.
pub(crate) fn run(arguments: &GatewayArguments) -> Result<Exit, Failure> {
    let reserved = reserved_addresses(&arguments.page);
    let ConfigReading { config, sources } = Config::read_with_sources(&arguments.config, &reserved);
    let config = config.map_err(Failure::new)?;
    for warning in &config.warnings {
        say(format_args!("{}: {}", path_name(&arguments.config), safe(&warning.to_string())));
    }
    if arguments.check {
        say(format_args!("{}: the configuration has no mistakes", path_name(&arguments.config)));
        return Ok(Exit::Done);
    }
    // Notes the states of the files at once, because they may change before the gateway serves.
    let files = ConfigFiles::new(arguments.config.clone(), sources);
    #[cfg(target_os = "linux")]
    let upgrade = take_over(arguments)?;
    let window = arguments.keep.window(&arguments.page.read)?;
    let page = Page::open(&arguments.page)?.with_end_wait(HANDOVER_GRACE + GRACE);
    #[cfg(target_os = "linux")]
    let page = if arguments.take_over { page.without_browser() } else { page };
    let runtime = page.runtime();
    let threads = config.threads.or_else(|| available_parallelism().ok().map(NonZero::get));
    let options = ServeOptions {
        connections_max: connections_max(arguments.page.connections_max()?),
        connection_threads: threads.unwrap_or(1),
        grace_period: GRACE,
        ..ServeOptions::default()
    };
    let bind = BindOptions {
        #[cfg(unix)]
        passed: arguments.page.passed_sockets(),
        #[cfg(target_os = "linux")]
        purpose: "gateway",
        #[cfg(target_os = "linux")]
        inherited: arguments.page.inherited.clone(),
        #[cfg(target_os = "linux")]
        listening: arguments.page.listening.clone(),
        ..BindOptions::default()
    };
    let gateway = Gateway::bind_with(&config, options, bind);
    let gateway = runtime.block_on(gateway).map_err(Failure::new)?;
    gateway.recorder().access_log().set(config.access_log.as_ref()).map_err(Failure::new)?;
    if let Some(inside) = page.inside() {
        gateway.handle().measure();
        inside.add(gateway.handle());
    }
    let _guard = runtime.enter();
    let reload = reload::watch(files, config, reserved, gateway.handle());
    runtime.spawn(RELOAD.observe(TaskName::Unnamed, reload));
    let (shutdown, stop) = (shutdown_signal(), shutdown_signal());
    let shutdown = async {
        shutdown.await;
        Shutdown::Stop
    };
    #[cfg(target_os = "linux")]
    let (shutdown, page) = {
        let (notifier, end) = (ReadyNotifier::new(arguments), page.end());
        (upgrade.or_stop(shutdown, end), page.when_announced(move || notifier.notify()))
    };
    // A reader of the address may send a signal at once, so the signal handlers are already
    // installed.
    for address in gateway.addresses() {
        say(format_args!("answering at {}", safe(&address.to_string())));
    }
    let tasks = runtime.clone();
    page.serve_feed(window, &StateArguments::default(), move |pipeline: &Pipeline| {
        let recorder = gateway.recorder().clone();
        let writer = pipeline.open_records("gateway", recorder.layout());
        let write = async move { recorder.run(writer).await };
        tasks.spawn(RECORDS.observe(TaskName::Unnamed, write));
        tasks.block_on(gateway.serve_until(shutdown, stop));
        Exit::Done
    })
}

/// The addresses of the page and of `--admin`, at which the gateway cannot listen.
fn reserved_addresses(arguments: &PageArguments) -> Vec<ReservedAddress> {
    let page: Vec<_> = match &arguments.listen[..] {
        [] => vec![(default_address(), "the page without --listen")],
        listen => listen.iter().map(|listen| (listen.0.clone(), "the page (--listen)")).collect(),
    };
    let admin = arguments.admin.admin.as_ref();
    let admin = admin.map(|admin| (admin.socket_address().clone(), "--admin"));
    let reserved = page.into_iter().chain(admin);
    reserved.map(|(address, purpose)| ReservedAddress { address, purpose }).collect()
}

/// Takes over the sockets of the previous process, if that has started this one.
#[cfg(target_os = "linux")]
fn take_over(arguments: &GatewayArguments) -> Result<Upgrade, Failure> {
    if arguments.take_over {
        weir_server::take_over(&arguments.page.inherited).map_err(|error| {
            Failure::new(format_args!(
                "--take-over: there is no process whose sockets could be taken over ({error}); send SIGUSR2 to \
                 the one that runs"
            ))
        })?;
    }
    let upgrade = Upgrade::new(arguments.page.listening.clone());
    upgrade
        .map_err(|error| Failure::new(format_args!("the path of this program is unknown: {error}")))
}

/// Notifies the previous process or a service manager, which wait for the gateway to listen.
#[cfg(target_os = "linux")]
struct ReadyNotifier {
    /// The sockets that the previous process has handed over.
    inherited: PassedSockets,
    listening: ListeningSockets,
    takes_over: bool,
}

#[cfg(target_os = "linux")]
impl ReadyNotifier {
    fn new(arguments: &GatewayArguments) -> Self {
        let (inherited, listening) =
            (arguments.page.inherited.clone(), arguments.page.listening.clone());
        Self { inherited, listening, takes_over: arguments.take_over }
    }

    /// Notifies them that the gateway listens. After this nothing may fail, because the previous
    /// process accepts no more connections.
    fn notify(self) -> Result<(), Failure> {
        self.inherited.close_rest();
        if self.takes_over {
            weir_server::report_ready().map_err(|error| {
                Failure::new(format_args!("--take-over: the process before has gone: {error}"))
            })?;
            self.listening.claim_files();
        }
        service::notify("READY=1");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CONNECTIONS_MAX, client_connections};

    #[test]
    fn each_client_has_two_descriptors_beside_those_of_the_page() {
        for (connections, of_page, expected) in [
            (2 * CONNECTIONS_MAX + 1_024, 1_024, CONNECTIONS_MAX),
            (10_000, 1_000, 4_500),
            (768, 1_024, 288),
            (1, 1_024, 1),
            (usize::MAX, 0, CONNECTIONS_MAX),
        ] {
            assert_eq!(
                client_connections(connections, of_page),
                expected,
                "{connections} and {of_page}"
            );
        }
    }
}
