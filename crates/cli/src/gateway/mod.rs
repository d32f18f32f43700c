//! `weir gateway CONFIG`: a reverse proxy, and the page with its requests.

mod arguments;
mod reload;

use std::time::Duration;

use weir_gateway::{Config, Gateway, Notices};
use weir_ingest::Pipeline;
use weir_server::{BindOptions, CertificateNotices, ServeOptions};

pub(crate) use arguments::GatewayArguments;

use crate::display::safe;
use crate::outcome::{Exit, Failure, say};
use crate::serve::{Page, path_name, shutdown_signal};

/// How long requests in flight may take to end.
const GRACE: Duration = Duration::from_secs(30);

/// Connections of clients at most.
const CONNECTIONS_MAX: usize = 65_536;

/// Runs the command.
pub(crate) fn run(arguments: &GatewayArguments) -> Result<Exit, Failure> {
    let config = Config::read(&arguments.config).map_err(Failure::new)?;
    if arguments.check {
        say(format_args!("{}: the configuration has no mistakes", path_name(&arguments.config)));
        return Ok(Exit::Done);
    }
    let window = arguments.keep.window(&arguments.page.read)?;
    let page = Page::open(&arguments.page)?.with_end_wait(GRACE + Duration::from_secs(1));
    let runtime = page.runtime();
    let options = ServeOptions {
        connections_max: CONNECTIONS_MAX,
        grace_period: GRACE,
        ..ServeOptions::default()
    };
    let bind = BindOptions {
        #[cfg(unix)]
        passed: arguments.page.passed_sockets(),
        certificate_notices: CertificateNotices::new(say),
        ..BindOptions::default()
    };
    let gateway = Gateway::bind_with(&config, options, bind, Notices::new(|it| say(it)));
    let gateway = runtime.block_on(gateway).map_err(Failure::new)?;
    for address in gateway.addresses() {
        say(format_args!("answering at {}", safe(&address.to_string())));
    }
    runtime.spawn(reload::watch(arguments.config.clone(), config, gateway.handle()));
    let _guard = runtime.enter();
    let shutdown = shutdown_signal();
    let tasks = runtime.clone();
    page.serve_feed(window, move |pipeline: &Pipeline| {
        let recorder = gateway.recorder().clone();
        let writer = pipeline.open_records("gateway", recorder.layout());
        tasks.spawn(async move { recorder.run(writer).await });
        tasks.block_on(gateway.serve(shutdown));
        Exit::Done
    })
}
