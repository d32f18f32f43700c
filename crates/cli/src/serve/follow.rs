//! `weir --follow`: the page with logs that grow, and with those that appear in folders.

use weir_ingest::Input;

use super::{Page, ServeArguments};
use crate::follow::{FILES_MAX, Followed};
use crate::messages::say_all;
use crate::outcome::{Exit, Failure, say};
use crate::sources;

/// Runs the command.
pub(super) fn run(arguments: &ServeArguments, named: Vec<Input>) -> Result<Exit, Failure> {
    let format = arguments.page.read.format_choice()?;
    let window = arguments.keep.window(&arguments.page.read)?;
    let descriptors = Descriptors::divide(arguments.page.connections_max()?);
    let mut followed = Followed::find(named, descriptors.files_max, window.memory_bytes_max);
    let (inputs, mut complaints) =
        sources::find_beside(&followed.inputs, &format, arguments.state.state.as_deref());
    followed.note_told(&complaints);
    let threads = arguments.page.read.threads();
    let page = Page::open_with(&arguments.page, descriptors.connections_max)?;
    page.serve_feed(window, &arguments.state, move |pipeline| {
        say_all(&complaints);
        let late = followed.read(pipeline, &inputs, &format, threads);
        say_all(&late);
        complaints.extend(late);
        if complaints.is_empty() { Exit::Done } else { Exit::Failed }
    })
}

/// The division of the descriptors that the limit of open files allows.
struct Descriptors {
    connections_max: usize,
    files_max: usize,
}

impl Descriptors {
    /// Divides them between this many connections and the files. Each gets half if they do not
    /// suffice, so that the page always answers.
    fn divide(connections_max: usize) -> Self {
        let all = weir_server::reserve_connections(connections_max + FILES_MAX).connections_max;
        let of_page = connections_max.min(all / 2).max(1);
        let files_max = (all - of_page).max(1);
        if of_page < connections_max {
            say(format_args!(
                "the page can have at most {of_page} connections at a time, not {connections_max}, and at most \
                 {files_max} files are followed: the limit of open files is low; `ulimit -n` raises it"
            ));
        }
        Self { connections_max: of_page, files_max }
    }
}
