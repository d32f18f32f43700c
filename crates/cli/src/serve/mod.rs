//! `weir FILE...`: serves the page, with the files or without any.

mod admin;
mod arguments;
mod browser;
mod follow;
mod listening;
mod memory;
mod metrics_field;
mod page;

use std::fs::File;
use std::path::Path;

use weir_ingest::Input;

pub(crate) use self::arguments::ServeArguments;
pub(crate) use self::page::Page;
use crate::display::safe;
use crate::messages::say_all;
use crate::outcome::{Exit, Failure};
use crate::saved;
use crate::sources::{self, Complaint};
use crate::terminal::Progress;
use crate::unmatched::without_records;

/// Runs the command.
pub(crate) fn run(arguments: &ServeArguments) -> Result<Exit, Failure> {
    let inputs = sources::inputs(&arguments.files)?;
    if let Some(path) = saved::among(&inputs)? {
        if arguments.follow {
            return Err(Failure::new(format_args!(
                "--follow: {} is a saved data set, which does not grow; leave out --follow",
                path_name(&path)
            )));
        }
        return Page::open(&arguments.page)?.serve_saved(&path);
    }
    if arguments.follow {
        return follow::run(arguments, inputs);
    }
    if arguments.keep.keep.is_some() {
        return Err(Failure::new("--keep: only a live feed has a window; add --follow"));
    }
    if arguments.state.state.is_some() {
        return Err(Failure::new(
            "--state: only a live feed is kept; add --follow, or save logs with weir save FILE.weir LOG",
        ));
    }
    let format = arguments.page.read.format_choice()?;
    let (inputs, mut complaints) = sources::find(&inputs, &format);
    let unreadable = unreadable(&inputs);
    if !arguments.files.is_empty() && unreadable.len() == inputs.len() {
        say_all(complaints.iter().chain(&unreadable));
        return Ok(Exit::Failed);
    }
    let threads = arguments.page.read.threads();
    let page = Page::open(&arguments.page)?;
    if inputs.is_empty() {
        return page.serve_at("/");
    }
    let runtime = page.runtime();
    page.serve(move |pipeline| {
        let (data, bytes_total) = (pipeline.data(), sources::bytes_total(&inputs));
        let progress = Progress::of_reading(data.clone(), bytes_total);
        complaints.extend(sources::read_all(pipeline, &inputs, &format, threads));
        runtime.block_on(data.wait_for_ends());
        progress.end();
        say_all(complaints.iter().chain(&without_records(&data.snapshot().sources)));
        if complaints.is_empty() { Exit::Done } else { Exit::Failed }
    })
}

/// Returns complaints about files that cannot be opened, before the page is served.
fn unreadable(inputs: &[Input]) -> Vec<Complaint> {
    let complaint = |input: &Input| {
        let Input::File(path) = input else { return None };
        // Opening a FIFO would block until a process writes to it.
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

/// Resolves on Ctrl-C and on SIGTERM. This call installs the signal handlers, before the future is
/// first polled.
#[cfg(unix)]
pub(crate) fn shutdown_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    // If a handler cannot be installed, the signal ends the process by default.
    async fn next(signal: std::io::Result<Signal>) {
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
pub(crate) async fn shutdown_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The name of a path in messages.
pub(crate) fn path_name(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "standard output".to_owned(),
        false => safe(&path.to_string_lossy()),
    }
}
