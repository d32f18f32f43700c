//! What is watched: logs, which a thread reads into a data set, or a data set that was saved.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use weir_ingest::{DataSet, Input, Pipeline, PipelineOptions, Retention};

use super::WatchArguments;
use crate::follow::{FILES_MAX, Followed};
use crate::messages::say_all;
use crate::options::FeedWindow;
use crate::outcome::Failure;
use crate::sources::{self, Complaint};
use crate::unmatched::without_records;
use crate::{report, saved};

/// What is watched.
pub(super) enum Log {
    Inputs { inputs: Vec<Input>, followed: Option<Followed>, complaints: Vec<Complaint> },
    Saved(PathBuf),
}

impl Log {
    /// Finds the files.
    ///
    /// # Errors
    /// If they cannot be watched together, or no input is left.
    pub(super) fn find(arguments: &WatchArguments, files: &[PathBuf]) -> Result<Self, Failure> {
        let inputs = sources::inputs(files)?;
        if let Some(path) = saved::among(&inputs)? {
            return match arguments.follow {
                true => Err(Failure::new(
                    "--follow: a saved data set does not grow; leave out --follow",
                )),
                false => Ok(Self::Saved(path)),
            };
        }
        if arguments.keep.keep.is_some() && !arguments.follow {
            return Err(Failure::new("--keep: only a live feed has a window; add --follow"));
        }
        let mut followed = match arguments.follow {
            true => {
                let files_max = weir_server::reserve_connections(FILES_MAX).connections_max;
                let window = arguments.keep.window(&arguments.read)?;
                Some(Followed::find(inputs.clone(), files_max, window.memory_bytes_max))
            }
            false => None,
        };
        let named = followed.as_ref().map_or(&inputs, |followed| &followed.inputs);
        let (inputs, complaints) = sources::find(named, &arguments.read.format_choice()?);
        if let Some(followed) = &mut followed {
            followed.note_told(&complaints);
        }
        let is_missing = |input: &Input| match input {
            Input::File(path) => std::fs::metadata(path).err(),
            Input::Stdin(_) => None,
        };
        // Nothing could ever be on the screen.
        if !arguments.follow && inputs.iter().all(|input| is_missing(input).is_some()) {
            say_all(&complaints);
            let first = inputs.iter().find_map(|input| match input {
                Input::File(path) => {
                    let sentence = sources::cannot_open(path, &is_missing(input)?);
                    Some(Complaint { name: input.name(), sentence }.to_string())
                }
                Input::Stdin(_) => None,
            });
            let message = first.unwrap_or_else(|| "there is no log to watch".to_owned());
            return Err(Failure::new(message));
        }
        Ok(Self::Inputs { inputs, followed, complaints })
    }

    /// Begins to read, or opens the data set. Returns it, and the number of threads that it may
    /// use.
    ///
    /// # Errors
    /// If an option is not valid, the data set cannot be opened, or there is no thread to read with.
    pub(super) fn begin(
        self,
        arguments: &WatchArguments,
    ) -> Result<(Arc<DataSet>, usize), Failure> {
        let mut options = arguments.read.pipeline_options(Retention::Segments)?;
        let jobs = options.jobs;
        let (inputs, followed, complaints) = match self {
            Self::Saved(path) => return Ok((saved::open(&path, options.memory_bytes_max)?, jobs)),
            Self::Inputs { inputs, followed, complaints } => (inputs, followed, complaints),
        };
        if arguments.follow || inputs.iter().any(sources::is_stdin) {
            let FeedWindow { retention, memory_bytes_max, .. } =
                arguments.keep.window(&arguments.read)?;
            options = PipelineOptions { retention, memory_bytes_max, ..options };
        }
        let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
        let (filled, format) = (data.clone(), arguments.read.format_choice()?);
        let read = move || {
            let pipeline = Pipeline::start(&options, filled.clone());
            say_all(&complaints);
            say_all(&match followed {
                Some(followed) => followed.read(&pipeline, &inputs, &format, jobs),
                None => sources::read_all(&pipeline, &inputs, &format, jobs),
            });
            pipeline.finish();
            // Changes nothing but the version, so that the last answer says that all was read.
            filled.touch();
            let sources = filled.snapshot().sources;
            say_all(report::truncated(&sources).iter().chain(&without_records(&sources)));
        };
        let thread = thread::Builder::new().name("sources".to_owned()).spawn(read);
        thread.map_err(|error| {
            Failure::new(format_args!("the thread that reads cannot be started: {error}"))
        })?;
        Ok((data, jobs))
    }
}
