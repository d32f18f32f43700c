//! The page of a command: the server that listens for it, and what is printed about it.

use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::Notify;
use weir_ingest::{DataSet, Pipeline, Retention, State};
use weir_inside::Inside;
use weir_net::percent_encode;
use weir_observe::thread::{ObservedRuntime, observe_runtime};
#[cfg(unix)]
use weir_server::PassedSockets;
use weir_server::{
    Address, DataSetName, Refusal, Remedies, SelfSignedCertificate, Server, ServerOptions,
    SessionHandle,
};

use super::admin::{Admin, AdminEnd};
use super::listening::{bind, origin};
use super::{browser, memory, shutdown_signal};
use crate::logging;
use crate::options::{FeedWindow, PageArguments, StateArguments, say_default_memory};
use crate::outcome::{Exit, Failure, print, say, warn};
use crate::report::html_page;
use crate::saved;

/// How long to wait for the reading thread after the server has ended.
const SHUTDOWN_WAIT: Duration = Duration::from_millis(200);

/// How long work on answers may take to notice that the server has ended. The process does not wait
/// for what takes longer.
const WORK_END_TIMEOUT: Duration = Duration::from_millis(500);

/// A page whose server listens, but does not serve yet.
pub(crate) struct Page {
    runtime: Runtime,
    server: Server,
    /// The name of the data set that the command shows, if the user gave one.
    name: Option<DataSetName>,
    /// The scheme and the host of the addresses that are printed, or the path of a Unix socket.
    origins: Vec<String>,
    /// The query part with an access token that was made for this server; otherwise empty.
    query: String,
    /// The fragment of the address of a session: empty, or with its `#`.
    fragment: String,
    opens_browser: bool,
    /// The certificate that was made for this server.
    certificate: Option<SelfSignedCertificate>,
    /// How long to wait for the reading thread after the server has ended.
    end_wait: Duration,
    /// Ends the server of the page, as a signal does.
    end: Arc<Notify>,
    /// The server of `--admin`, if that is given.
    admin: Option<Admin>,
    /// Whether the page and that of `--admin` may link to each other: browsers are on this machine,
    /// need no token, and use the addresses that this process listens on.
    links_admin: bool,
    /// The call to make once the addresses of the page are printed, if the page belongs to a
    /// service.
    service_notice: Option<ServiceNotice>,
    /// The sockets that systemd passed. When the page is served, those with a purpose are taken.
    #[cfg(unix)]
    passed: PassedSockets,
    /// The registration of the runtime, which the admin page lists.
    #[expect(dead_code, reason = "it is listed until this is dropped")]
    observed: ObservedRuntime,
}

/// Notifies the process that started a service that the service listens.
type ServiceNotice = Box<dyn FnOnce() -> Result<(), Failure>>;

impl Page {
    /// Listens at the address of the arguments.
    pub(crate) fn open(arguments: &PageArguments) -> Result<Self, Failure> {
        Self::open_beside(arguments, &[])
    }

    /// [`Self::open`] beside addresses that receive lines.
    pub(crate) fn open_beside(
        arguments: &PageArguments,
        lines: &[&Address],
    ) -> Result<Self, Failure> {
        arguments.check(lines)?;
        Self::open_as(arguments, arguments.connections_max()?, false)
    }

    /// [`Self::open`] for this many connections at most.
    pub(crate) fn open_with(
        arguments: &PageArguments,
        connections_max: usize,
    ) -> Result<Self, Failure> {
        arguments.check(&[])?;
        Self::open_as(arguments, connections_max, false)
    }

    /// [`Self::open`] with the paths for measuring uploads.
    pub(crate) fn open_for_bench(arguments: &PageArguments) -> Result<Self, Failure> {
        arguments.check(&[])?;
        Self::open_as(arguments, arguments.connections_max()?, true)
    }

    fn open_as(
        arguments: &PageArguments,
        connections_max: usize,
        bench: bool,
    ) -> Result<Self, Failure> {
        memory::prepare_heaps();
        let log = logging::install(&arguments.log.log, arguments.log.log_as.into())?;
        // Checked here, so that the message names the option.
        arguments.read.zone()?;
        let pipeline = arguments.read.pipeline_options(Retention::Segments)?;
        let options = ServerOptions {
            return_memory: memory::return_free_pages,
            memory_bytes_max: pipeline.memory_bytes_max,
            total_memory_bytes_max: arguments.total_memory_bytes_max()?,
            jobs: pipeline.jobs,
            format: arguments.read.format_choice()?,
            derived: Some(Arc::new(arguments.read.page_fields()?)),
            zone: arguments.read.tz.clone(),
            grace: arguments.keep_session,
            remedies: remedies(),
            html_report: Some(html_page),
            public_url: arguments.public_url.clone(),
            bind: arguments.bind_options()?,
            token: arguments.token()?,
            allows_insecure_http: arguments.insecure_http,
            connections_max,
            bench,
            ..ServerOptions::default()
        };
        let (certificate, wanted) = (options.bind.self_signed.clone(), options.connections_max);
        let runtime = new_runtime();
        let runtime = runtime.map_err(|error| {
            Failure::new(format_args!("the server's threads cannot be started: {error}"))
        })?;
        let requested = arguments.listen.iter().map(|listen| listen.0.clone()).collect();
        let observed = observe_runtime("page", runtime.handle());
        let (server, new_token) = runtime.block_on(bind(requested, options))?;
        let budget = server.connection_budget();
        if let Some(open_files_max) = budget.open_files_max {
            say(format_args!(
                "the page can have at most {} connections at a time, not {wanted}: the limit of open files is \
                 {open_files_max}; `ulimit -n` raises it",
                budget.connections_max
            ));
        }
        let admin = runtime.block_on(Admin::bind(arguments, server.handle(), log))?;
        let origins = match &arguments.public_url {
            Some(url) => vec![url.to_string()],
            None => server.addresses().map(origin).collect(),
        };
        let is_of_this_machine =
            server.local_addr().is_ok_and(|address| address.ip().is_loopback());
        let links_admin =
            is_of_this_machine && arguments.public_url.is_none() && server.token().is_none();
        // Every user of the machine can read the arguments of the browser's program, so they must
        // not contain a token.
        let opens_browser = !arguments.no_open && new_token.is_none();
        let query = new_token.map(|token| token.query()).unwrap_or_default();
        let fragment = String::new();
        Ok(Self {
            runtime,
            server,
            name: arguments.name.clone(),
            origins,
            query,
            fragment,
            opens_browser,
            certificate,
            end_wait: SHUTDOWN_WAIT,
            end: Arc::default(),
            admin,
            links_admin,
            service_notice: None,
            #[cfg(unix)]
            passed: arguments.passed_sockets(),
            observed,
        })
    }

    /// Prevents opening a browser, because one that was opened for another process already shows
    /// the page.
    #[cfg(target_os = "linux")]
    pub(crate) fn without_browser(self) -> Self {
        Self { opens_browser: false, ..self }
    }

    /// Shows the effect of a rule on the traffic in the rules panel.
    pub(crate) fn with_rule(mut self, rule: &str) -> Self {
        self.fragment = format!("#rule={}", percent_encode(rule));
        self
    }

    /// Sets how long to wait for the reading thread after the server has ended.
    pub(crate) fn with_end_wait(self, end_wait: Duration) -> Self {
        Self { end_wait, ..self }
    }

    /// Sets a call to make once the addresses of the page are printed, when nothing can fail any
    /// more. The page then belongs to a service, which continues even if its standard output is not
    /// read.
    #[cfg(target_os = "linux")]
    pub(crate) fn when_announced(
        self,
        service_notice: impl FnOnce() -> Result<(), Failure> + 'static,
    ) -> Self {
        Self { service_notice: Some(Box::new(service_notice)), ..self }
    }

    /// Returns a handle that ends the server of the page, as a signal does.
    #[cfg(target_os = "linux")]
    pub(crate) fn end(&self) -> Arc<Notify> {
        self.end.clone()
    }

    /// The runtime of the server, for other tasks.
    pub(crate) fn runtime(&self) -> Handle {
        self.runtime.handle().clone()
    }

    /// Returns the parts of the program that `--admin` shows, if that is given.
    pub(crate) fn inside(&self) -> Option<Inside> {
        self.admin.as_ref().map(|admin| admin.inside.clone())
    }

    /// Serves an empty page at `path` until a signal ends it.
    ///
    /// # Errors
    /// Also if the user gave a name, because there is nothing to give it to.
    pub(crate) fn serve_at(mut self, path: &str) -> Result<Exit, Failure> {
        if let Some(name) = &self.name {
            return Err(Failure::new(format_args!(
                "--name: {name} is the name of what the command shows, and it shows no log; name the \
                 logs too, or leave out --name"
            )));
        }
        let shutdown = self.shutdown_signal();
        let _admin = self.begin_admin(path);
        self.announce(path)?;
        self.runtime.block_on(self.server.serve(shutdown));
        self.runtime.shutdown_timeout(WORK_END_TIMEOUT);
        Ok(Exit::Done)
    }

    /// Serves the page of a session until a signal ends it. Meanwhile `fill` reads into the session
    /// on a separate thread, which is abandoned if it has not finished by then.
    pub(crate) fn serve(
        self,
        fill: impl FnOnce(&Pipeline) -> Exit + Send + 'static,
    ) -> Result<Exit, Failure> {
        let session = self.server.new_served(&self.served_name());
        self.serve_session(session, fill)
    }

    /// Serves the page of a data set that was saved, until a signal ends it.
    ///
    /// # Errors
    /// Also if the data set cannot be read; then no address was printed.
    pub(crate) fn serve_saved(self, path: &Path) -> Result<Exit, Failure> {
        let session = self.server.new_served(&self.served_name());
        if let Some(pipeline) = session.as_ref().ok().and_then(SessionHandle::pipeline) {
            saved::load(path, pipeline.data())?;
        }
        self.serve_session(session, |_| Exit::Done)
    }

    /// [`Self::serve`] for a live feed, of which a window is kept, also in the folder of a state.
    ///
    /// # Errors
    /// Also if the folder cannot be used; then no address was printed.
    pub(crate) fn serve_feed(
        self,
        window: FeedWindow,
        state: &StateArguments,
        fill: impl FnOnce(&Pipeline) -> Exit + Send + 'static,
    ) -> Result<Exit, Failure> {
        if window.has_default_memory {
            say_default_memory();
        }
        let name = self.served_name();
        let session = self.server.new_feed(&name, window.retention, window.memory_bytes_max);
        let data = session.as_ref().ok().and_then(SessionHandle::pipeline);
        let data = data.map(|pipeline| pipeline.data().clone());
        // Dropped last: what is read until the end is kept.
        let _state = match state.state.as_deref().zip(data) {
            Some((folder, data)) => Some(open_state(folder, data)?),
            None => None,
        };
        self.serve_session(session, fill)
    }

    fn served_name(&self) -> DataSetName {
        self.name.clone().unwrap_or_default()
    }

    fn serve_session(
        mut self,
        session: Result<SessionHandle, Refusal>,
        fill: impl FnOnce(&Pipeline) -> Exit + Send + 'static,
    ) -> Result<Exit, Failure> {
        let session = session
            .map_err(|refusal| Failure::new(format_args!("no session can be made: {refusal}")))?;
        if let (Some(admin), Some(pipeline)) = (&self.admin, session.pipeline()) {
            admin.count_requests(pipeline.data(), &self.runtime);
        }
        let shutdown = self.shutdown_signal();
        // The short address is enough for a data set without a name of its own.
        let path = self.name.as_ref().map_or_else(|| "/".to_owned(), |_| session.path());
        let admin = self.begin_admin(&path);
        let printed = self.announce(&path);
        match self.service_notice.take() {
            Some(service_notice) => service_notice()?,
            None => printed?,
        }
        let (sender, receiver) = mpsc::channel();
        let filling = move || sender.send(fill_session(&session, fill));
        thread::Builder::new().name("sources".to_owned()).spawn(filling).map_err(|error| {
            Failure::new(format_args!("the thread that reads cannot be started: {error}"))
        })?;
        self.runtime.block_on(self.server.serve(shutdown));
        drop(admin);
        // Cancelled sources end at once. A read that blocks on a pipe ends with this process.
        let exit = receiver.recv_timeout(self.end_wait).unwrap_or(Exit::Done);
        self.runtime.shutdown_timeout(WORK_END_TIMEOUT);
        Ok(exit)
    }

    /// Answers at the address of `--admin`, if there is one, until the returned value is dropped.
    /// Its pages and the page at `path` link to each other, unless a token or a proxy is in between.
    fn begin_admin(&mut self, path: &str) -> Option<AdminEnd> {
        let mut admin = self.admin.take()?;
        let origin = self.origins.iter().find(|origin| origin.starts_with("http"));
        if let Some(origin) = origin.filter(|_| self.links_admin) {
            admin = admin.link(&self.server.handle(), format!("{origin}{path}"));
        }
        let (serving, end) = admin.serve();
        self.runtime.spawn(serving);
        Some(end)
    }

    /// Installs the signal handlers. Called before the address is printed, so that a signal from
    /// a reader of the address ends the server cleanly.
    fn shutdown_signal(&self) -> impl Future<Output = ()> + use<> {
        let _guard = self.runtime.enter();
        let (signal, end) = (shutdown_signal(), self.end.clone());
        async move {
            tokio::select! {
                () = signal => {}
                () = end.notified() => {}
            }
        }
    }

    /// Prints the addresses of the page, and opens the first in a browser.
    fn announce(&self, path: &str) -> Result<(), Failure> {
        let url = |origin: &String| match origin.starts_with("unix:") {
            true => origin.clone(),
            false => format!("{origin}{path}{}{}", self.query, self.fragment),
        };
        let urls: Vec<String> = self.origins.iter().map(url).collect();
        #[cfg(unix)]
        self.passed.names().iter().for_each(|name| warn_unused(name));
        if let Some(certificate) = &self.certificate {
            let fingerprint = certificate.fingerprint();
            say(format_args!("SHA-256 fingerprint of the certificate: {fingerprint}"));
        }
        print(&(urls.join("\n") + "\n"))?;
        if io::stderr().is_terminal() {
            eprintln!("Ctrl-C ends it.");
        }
        if let Some(url) = urls.iter().find(|url| url.starts_with("http"))
            && self.opens_browser
        {
            browser::open(url);
        }
        Ok(())
    }
}

/// Fills a data set with what a folder has, and keeps it there.
fn open_state(folder: &Path, data: Arc<DataSet>) -> Result<State, Failure> {
    let opened = State::open(folder, data, warn);
    let (state, notes) = opened.map_err(|error| Failure::new(format_args!("--state: {error}")))?;
    notes.iter().for_each(|note| warn(format_args!("--state: {note}")));
    Ok(state)
}

/// Starts the runtime of the page and of everything that waits beside it. Threads of blocking
/// calls, such as answers to questions, start after those of the tasks and have another name.
fn new_runtime() -> io::Result<tokio::runtime::Runtime> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let started = AtomicUsize::new(0);
    let name = move || match started.fetch_add(1, Ordering::Relaxed) {
        index if index < workers => format!("page-{index}"),
        index => format!("page-work-{}", index - workers),
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.thread_name_fn(name).enable_all().build()
}

/// Returns what the user of this command can do about the limits of a report.
fn remedies() -> Remedies {
    Remedies {
        unknown_format: "`weir formats FILE` shows why; start Weir with --format and the log \
                         format from the web server's configuration."
            .to_owned(),
        memory_limit: "Start Weir with a larger --memory.".to_owned(),
        lines_gone: "In a terminal, `weir rules --rule RULE LOG` replays the rule over the files."
            .to_owned(),
    }
}

fn fill_session(session: &SessionHandle, fill: impl FnOnce(&Pipeline) -> Exit) -> Exit {
    let pipeline: Option<Arc<Pipeline>> = session.pipeline();
    pipeline.map_or(Exit::Done, |pipeline| fill(&pipeline))
}

/// Warns of a socket that systemd passed and that nothing uses.
#[cfg(unix)]
fn warn_unused(name: &str) {
    warn(format_args!(
        "systemd:{name}: systemd has passed this socket, but it is not used, and its clients wait in \
         vain; add --listen systemd:{name}, or remove it from the socket units of the service"
    ));
}
