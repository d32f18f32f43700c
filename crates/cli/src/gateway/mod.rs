//! `weir gateway CONFIG`: a reverse proxy, and the page with its requests.

mod arguments;
mod reload;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod upgrade;

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use weir_gateway::{Config, Gateway, Notices, Shutdown};
use weir_ingest::Pipeline;
use weir_observe::task::{TaskKind, TaskName};
use weir_server::{BindOptions, CertificateNotices, ServeOptions};
#[cfg(target_os = "linux")]
use weir_server::{ListeningSockets, PassedSockets};

pub(crate) use arguments::GatewayArguments;
#[cfg(target_os = "linux")]
use upgrade::Upgrade;

use crate::display::safe;
use crate::logging::{report_certificate, report_gateway};
use crate::outcome::{Exit, Failure, say};
use crate::serve::{Page, path_name, shutdown_signal};

/// Reads the configuration again when a signal asks for it.
static RELOAD: TaskKind = TaskKind::new("configuration");

/// Hands the records of requests to the parsers.
static RECORDS: TaskKind = TaskKind::new("records");

/// How long requests in flight may take to end.
const GRACE: Duration = Duration::from_secs(30);

/// How long they may take if another process answers new ones meanwhile.
const HANDOVER_GRACE: Duration = Duration::from_secs(3_600);

/// Connections of clients at most.
const CONNECTIONS_MAX: usize = 65_536;

/// The connections of clients for which there are descriptors beside those of the page.
fn connections_max(of_page: usize) -> usize {
    let wanted = of_page.saturating_add(2 * CONNECTIONS_MAX);
    share(weir_server::reserve_connections(wanted).connections_max, of_page)
}

/// The part of all connections that clients may have. Each may need a second one, to a backend. Where there
/// are few, the page gets a quarter.
fn share(connections: usize, of_page: usize) -> usize {
    ((connections - of_page.min(connections / 4)) / 2).clamp(1, CONNECTIONS_MAX)
}

/// Runs the command.
pub(crate) fn run(arguments: &GatewayArguments) -> Result<Exit, Failure> {
    let config = Config::read(&arguments.config).map_err(Failure::new)?;
    if arguments.check {
        say(format_args!("{}: the configuration has no mistakes", path_name(&arguments.config)));
        return Ok(Exit::Done);
    }
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
        certificate_notices: CertificateNotices::new(report_certificate),
        ..BindOptions::default()
    };
    let notices = Notices::new(report_gateway);
    let gateway = Gateway::bind_with(&config, options, bind, notices);
    let gateway = runtime.block_on(gateway).map_err(Failure::new)?;
    gateway.recorder().access_log().set(config.access_log.as_ref()).map_err(Failure::new)?;
    if let Some(inside) = page.inside() {
        gateway.handle().measure();
        inside.add(gateway.handle());
    }
    let _guard = runtime.enter();
    let reload = reload::watch(arguments.config.clone(), config, gateway.handle());
    runtime.spawn(RELOAD.observe(TaskName::Unnamed, reload));
    let (shutdown, stop) = (shutdown_signal(), shutdown_signal());
    let shutdown = async {
        shutdown.await;
        Shutdown::Stop
    };
    #[cfg(target_os = "linux")]
    let (shutdown, page) = {
        let (starter, end) = (Starter::new(arguments), page.end());
        (upgrade.or(shutdown, end), page.when_announced(move || starter.listens()))
    };
    // Whoever reads this may send a signal at once, so their handlers are installed.
    for address in gateway.addresses() {
        say(format_args!("answering at {}", safe(&address.to_string())));
    }
    let tasks = runtime.clone();
    page.serve_feed(window, move |pipeline: &Pipeline| {
        let recorder = gateway.recorder().clone();
        let writer = pipeline.open_records("gateway", recorder.layout());
        let write = async move { recorder.run(writer).await };
        tasks.spawn(RECORDS.observe(TaskName::Unnamed, write));
        tasks.block_on(gateway.serve_until(shutdown, stop));
        Exit::Done
    })
}

/// Takes over the sockets of the process before, if that has started this one.
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

/// What waits for the gateway to listen: the process before, or a service manager.
#[cfg(target_os = "linux")]
struct Starter {
    /// The sockets that the process before has handed over.
    inherited: PassedSockets,
    listening: ListeningSockets,
    takes_over: bool,
}

#[cfg(target_os = "linux")]
impl Starter {
    fn new(arguments: &GatewayArguments) -> Self {
        let (inherited, listening) =
            (arguments.page.inherited.clone(), arguments.page.listening.clone());
        Self { inherited, listening, takes_over: arguments.take_over }
    }

    /// Tells it that the gateway listens. After this nothing may fail: the process before accepts no more.
    fn listens(self) -> Result<(), Failure> {
        self.inherited.close_rest();
        if self.takes_over {
            weir_server::say_ready().map_err(|error| {
                Failure::new(format_args!("--take-over: the process before has gone: {error}"))
            })?;
            self.listening.claim_files();
        }
        service::tell("READY=1");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CONNECTIONS_MAX, share};

    #[test]
    fn each_client_has_two_descriptors_beside_those_of_the_page() {
        for (connections, of_page, expected) in [
            (2 * CONNECTIONS_MAX + 1_024, 1_024, CONNECTIONS_MAX),
            (10_000, 1_000, 4_500),
            (768, 1_024, 288),
            (1, 1_024, 1),
            (usize::MAX, 0, CONNECTIONS_MAX),
        ] {
            assert_eq!(share(connections, of_page), expected, "{connections} and {of_page}");
        }
    }
}
