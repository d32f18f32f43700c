//! `weir FILE...`: the page, with the files or with nothing in it yet.

mod browser;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use weir_ingest::{Input, Keep, Pipeline};
use weir_server::{Options, Refusal, Server, SessionHandle};

use crate::arguments::{PageArguments, ServeArguments};
use crate::options::Feed;
use crate::outcome::{Exit, Failure, print, say};
use crate::sources::{self, Complaint};
use crate::terminal::{Progress, safe};

/// The port where none is asked for, if it is free: the same one every day, so that the
/// browser remembers.
const PORT: u16 = 7878;

/// How long the reading may take to notice that all is over.
const LAST_WORD: Duration = Duration::from_millis(200);

/// Runs the command.
pub(crate) fn run(arguments: &ServeArguments) -> Result<Exit, Failure> {
    let inputs = sources::inputs(&arguments.files)?;
    let format = arguments.page.read.format_choice()?;
    let (inputs, unfound) = sources::found(&inputs, &format);
    let unreadable = unreadable(&inputs);
    let is_lost = unreadable.len() == inputs.len() && !arguments.follow;
    if !arguments.files.is_empty() && is_lost {
        unfound.iter().chain(&unreadable).for_each(say);
        return Ok(Exit::Failed);
    }
    let threads = arguments.page.read.threads();
    let feed = arguments.keep.feed(&arguments.page.read)?;
    if arguments.keep.keep.is_some() && !arguments.follow {
        return Err(Failure::new("--keep: is for what goes on being written; give --follow, too"));
    }
    let page = Page::open(&arguments.page)?;
    if inputs.is_empty() {
        return page.serve_at("/");
    }
    if arguments.follow {
        return page.serve_feed(feed, move |pipeline| {
            let mut complaints = unfound;
            complaints.extend(sources::follow_all(pipeline, &inputs, &format, threads));
            complaints.iter().for_each(say);
            if complaints.is_empty() { Exit::Done } else { Exit::Failed }
        });
    }
    page.serve(move |pipeline| {
        let bytes_total = sources::bytes_total(&inputs);
        let progress = Progress::of_reading(pipeline.data().clone(), bytes_total);
        let mut complaints = unfound;
        complaints.extend(sources::read_all(pipeline, &inputs, &format, threads));
        progress.end();
        complaints.iter().for_each(say);
        if complaints.is_empty() { Exit::Done } else { Exit::Failed }
    })
}

/// The files that cannot be opened, found before anything is served.
fn unreadable(inputs: &[Input]) -> Vec<Complaint> {
    let complaint = |input: &Input| {
        let Input::File(path) = input else { return None };
        // To open a FIFO takes until somebody writes to it.
        let opened = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => File::open(path).map(|_| ()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        let sentence = sources::cannot_open(path, &opened.err()?);
        Some(Complaint { name: input.name(), sentence })
    };
    inputs.iter().filter_map(complaint).collect()
}

/// The page, listening and not yet served.
pub(crate) struct Page {
    runtime: Runtime,
    server: Server,
    opens_browser: bool,
}

impl Page {
    /// Listens where the arguments say.
    pub(crate) fn open(arguments: &PageArguments) -> Result<Self, Failure> {
        Self::open_as(arguments, false)
    }

    /// As [`Self::open`], with the addresses for measuring uploads.
    pub(crate) fn open_for_bench(arguments: &PageArguments) -> Result<Self, Failure> {
        Self::open_as(arguments, true)
    }

    fn open_as(arguments: &PageArguments, bench: bool) -> Result<Self, Failure> {
        // Checked here, so that the sentence names the option.
        arguments.read.zone()?;
        let pipeline = arguments.read.pipeline_options(Keep::Segments)?;
        let options = Options {
            memory_bytes_max: pipeline.memory_bytes_max,
            jobs: pipeline.jobs,
            format: arguments.read.format_choice()?,
            zone: arguments.read.tz.clone(),
            bench,
            ..Options::default()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Failure::new(format_args!("the server's threads cannot be started: {error}"))
        })?;
        let server = runtime.block_on(bind(arguments.listen, options))?;
        Ok(Self { runtime, server, opens_browser: !arguments.no_open })
    }

    /// The threads that serve, for what else is to run on them.
    pub(crate) fn runtime(&self) -> Handle {
        self.runtime.handle().clone()
    }

    /// Serves a page with nothing in it, at that path, until it is told to end.
    pub(crate) fn serve_at(self, path: &str) -> Result<Exit, Failure> {
        let told_to_end = self.told_to_end();
        self.announce(path)?;
        self.runtime.block_on(self.server.serve(told_to_end));
        Ok(Exit::Done)
    }

    /// Serves the page of a session that `fill` fills on a thread of its own, until it is
    /// told to end. What was not filled by then is given up.
    pub(crate) fn serve(
        self,
        fill: impl FnOnce(&Pipeline) -> Exit + Send + 'static,
    ) -> Result<Exit, Failure> {
        let session = self.server.new_session(true);
        self.serve_session(session, fill)
    }

    /// The same for what goes on being written: its oldest leaves the page.
    pub(crate) fn serve_feed(
        self,
        feed: Feed,
        fill: impl FnOnce(&Pipeline) -> Exit + Send + 'static,
    ) -> Result<Exit, Failure> {
        let session = self.server.new_feed(feed.keep, feed.memory_bytes_max);
        self.serve_session(session, fill)
    }

    fn serve_session(
        self,
        session: Result<SessionHandle, Refusal>,
        fill: impl FnOnce(&Pipeline) -> Exit + Send + 'static,
    ) -> Result<Exit, Failure> {
        let session = session
            .map_err(|refusal| Failure::new(format_args!("no session can be made: {refusal}")))?;
        let told_to_end = self.told_to_end();
        self.announce(&session.path())?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(filled(&session, fill)));
        self.runtime.block_on(self.server.serve(told_to_end));
        // Cancelled sources end at once; a read from a pipe that brings nothing ends with us.
        Ok(receiver.recv_timeout(LAST_WORD).unwrap_or(Exit::Done))
    }

    /// Listens for signals before anybody can know that there is something to end.
    fn told_to_end(&self) -> impl Future<Output = ()> + use<> {
        let _inside = self.runtime.enter();
        told_to_end()
    }

    /// Says where the page is, and opens it.
    fn announce(&self, path: &str) -> Result<(), Failure> {
        let url = format!("http://{}{path}", reachable(self.server.local_addr()));
        print(&format!("{url}\n"))?;
        if io::stderr().is_terminal() {
            eprintln!("Ctrl-C ends it.");
        }
        if self.opens_browser {
            browser::open(&url);
        }
        Ok(())
    }
}

fn filled(session: &SessionHandle, fill: impl FnOnce(&Pipeline) -> Exit) -> Exit {
    let pipeline: Option<Arc<Pipeline>> = session.pipeline();
    pipeline.map_or(Exit::Done, |pipeline| fill(&pipeline))
}

/// Listens where it was asked, or at the usual port, or where that is taken at a free one.
async fn bind(asked: Option<SocketAddr>, options: Options) -> Result<Server, Failure> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let address = asked.unwrap_or(usual);
    let bound = Server::bind(Options { address, ..options.clone() }).await;
    let bound = match bound {
        Err(error) if error.is_address_in_use() && asked.is_none() => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            Server::bind(Options { address, ..options }).await
        }
        bound => bound,
    };
    bound.map_err(|error| Failure::new(format_args!("--listen: {error}")))
}

/// An address that a browser on this machine can go to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Resolves on Ctrl-C, and on SIGTERM where there is such a thing. From this call on, not
/// only from when it is awaited, these end the server and not the process.
#[cfg(unix)]
fn told_to_end() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    // A signal that cannot be had ends the process as the system has it.
    async fn next(signal: io::Result<Signal>) {
        match signal {
            Ok(mut signal) => _ = signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    }
    async {
        tokio::select! {
            () = next(interrupt) => {}
            () = next(terminate) => {}
        }
    }
}

/// Resolves on Ctrl-C.
#[cfg(not(unix))]
async fn told_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A path as it is shown in a sentence.
pub(crate) fn shown(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "standard output".to_owned(),
        false => safe(&path.to_string_lossy()),
    }
}
