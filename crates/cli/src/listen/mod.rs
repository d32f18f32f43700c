//! `weir listen ADDRESS...`: the page with the lines that servers send.

mod arguments;

use weir_feed::{BindError, Feed, PipelineSink};
use weir_ingest::{Pipeline, StopReason};
use weir_inside::FeedPart;

pub(crate) use arguments::ListenArguments;

use crate::display::safe;
use crate::outcome::{Exit, Failure, say};
use crate::serve::Page;

/// Runs the command.
pub(crate) fn run(arguments: &ListenArguments) -> Result<Exit, Failure> {
    let options = arguments.feed_options()?;
    let format = arguments.page.read.format_choice()?;
    let window = arguments.keep.window(&arguments.page.read)?;
    let lines: Vec<_> = arguments.addresses.iter().map(|address| &address.socket).collect();
    let page = Page::open_beside(&arguments.page, &lines)?;
    // The page and the listeners each limit their own connections, so there must be file
    // descriptors for both.
    let of_page = arguments.page.connections_max()?;
    weir_server::reserve_connections(of_page.saturating_add(options.connections_max));
    let runtime = page.runtime();
    let feed = runtime.block_on(Feed::bind(options, &arguments.addresses));
    let feed = feed.map_err(|error| bind_failure(&error))?;
    for name in feed.names() {
        say(format_args!("listening at {}", safe(&name)));
    }
    let inside = page.inside();
    page.serve_feed(window, &arguments.state, move |pipeline: &Pipeline| {
        let _guard = runtime.enter();
        let sink = |name: &str| PipelineSink::new(pipeline, name, format.clone());
        let running = feed.start(sink);
        if let Some(inside) = inside {
            let captures = running.captures().clone();
            inside.add(FeedPart::new(running.counts_reader(), captures));
        }
        let mut exit = Exit::Done;
        for (name, reason) in runtime.block_on(running.ended()) {
            if reason == StopReason::MemoryFull {
                tracing::error!(
                    listener = name,
                    "{name}: the memory limit is reached; the lines read before are kept; --memory raises the limit"
                );
                exit = Exit::Failed;
            }
        }
        exit
    })
}

/// Returns the failure of a feed that cannot listen.
fn bind_failure(error: &BindError) -> Failure {
    match error {
        BindError::NoCertificate(_) => {
            Failure::new(format_args!("{error}; name them with --tls-cert and --tls-key"))
        }
        _ => Failure::new(error),
    }
}
