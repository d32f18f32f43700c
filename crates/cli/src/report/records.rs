//! Where the records of a report come from: logs, or a data set that was saved.

use std::sync::Arc;

use weir_core::{Fold, Format, Zone};
use weir_ingest::{
    DataSet, Fault, FormatChoice, Input, Pipeline, PipelineOptions, Retention, read_inputs,
};

use super::ReportArguments;
use crate::display::safe;
use crate::outcome::Failure;
use crate::sources::{self, Complaint};
use crate::terminal::Progress;
use crate::{saved, zone};

/// The records of a report.
pub(crate) enum Records {
    /// Those of logs, which are read.
    Logs(Vec<Input>),
    /// Those of a data set that was saved.
    Saved(Arc<DataSet>),
}

impl Records {
    /// Finds the logs, or opens the data set. Also returns complaints about files that are left out.
    ///
    /// # Errors
    /// If a data set cannot be read, or is beside other files.
    pub(crate) fn find(
        arguments: &ReportArguments,
        inputs: &[Input],
    ) -> Result<(Self, Vec<Complaint>), Failure> {
        let format = arguments.read.format_choice()?;
        if let Some(path) = saved::among(inputs)? {
            if arguments.anonymize.is_on() {
                return Err(Failure::new(format_args!(
                    "--anonymize: {} is a saved data set, which has its addresses already; make it with \
                     weir save --anonymize",
                    safe(&path.to_string_lossy())
                )));
            }
            let options = arguments.read.pipeline_options(Retention::Segments)?;
            return Ok((Self::Saved(saved::open(&path, options.memory_bytes_max)?), Vec::new()));
        }
        let (inputs, complaints) = sources::find(inputs, &format);
        Ok((Self::Logs(inputs), complaints))
    }

    /// Checks that a saved data set has the derived fields that a question names.
    ///
    /// # Errors
    /// If it lacks one.
    pub(super) fn check_derived(&self, format: &FormatChoice) -> Result<(), Failure> {
        let (Self::Saved(data), Some(options)) = (self, format.line_options()) else {
            return Ok(());
        };
        let values = data.values();
        let has = |name: &str| values.schema().text_column_by_name(name).is_some();
        match options.derived.iter().find(|field| !has(field.name())) {
            Some(field) => Err(Failure::new(format_args!(
                "the saved data set has no field `{name}`; a field that follows from others is \
                 derived when lines are read: save them with weir save --fields {name}",
                name = field.name()
            ))),
            None => Ok(()),
        }
    }

    /// The formats of the lines. Those of a saved data set are stored without their derived fields.
    pub(super) fn formats(
        &self,
        formats: &[Arc<Format>],
        choice: &FormatChoice,
    ) -> Vec<Arc<Format>> {
        let of_saved = choice.line_options().filter(|_| matches!(self, Self::Saved(_)));
        let with = |format: &Arc<Format>| match &of_saved {
            Some(options) => Arc::new(format.with_line_options(options)),
            None => format.clone(),
        };
        formats.iter().map(with).collect()
    }

    /// Whether all logs can be read again.
    pub(super) fn are_files(&self) -> bool {
        match self {
            Self::Logs(inputs) => inputs.iter().all(Input::is_file),
            Self::Saved(_) => true,
        }
    }

    /// The zone of the first record. Bytes read from standard input are kept, so that they can be
    /// read again.
    pub(super) fn zone(&mut self, format: &FormatChoice) -> Zone {
        match self {
            Self::Logs(inputs) => zone::of_log(inputs, format),
            Self::Saved(data) => saved::zone(data),
        }
    }

    /// The data set whose values the records have: an empty one that they are read into, or the one
    /// that was saved. It has these columns.
    pub(super) fn data_set(&self, options: &PipelineOptions, columns: &[String]) -> Arc<DataSet> {
        match self {
            Self::Logs(_) => DataSet::new(options.retention, options.memory_bytes_max, columns),
            Self::Saved(data) => {
                data.add_columns(columns);
                data.clone()
            }
        }
    }

    /// Folds all records. Also returns what went wrong with the logs.
    pub(super) fn fold<F: Fold + Clone + Send + Sync + 'static>(
        &self,
        options: &PipelineOptions,
        data: &Arc<DataSet>,
        format: &FormatChoice,
        fold: F,
    ) -> Result<(F, Vec<Fault>), Failure> {
        let inputs = match self {
            Self::Logs(inputs) => inputs,
            Self::Saved(data) => return Ok((saved::fold(data, options.jobs, &fold)?, Vec::new())),
        };
        let (pipeline, answer) = Pipeline::start_with(options, data.clone(), fold);
        let progress = Progress::of_reading(data.clone(), sources::bytes_total(inputs));
        let faults = read_inputs(&pipeline, inputs, format, options.jobs);
        pipeline.finish();
        progress.end();
        Ok((answer.merged().ok_or_else(no_threads)?, faults))
    }
}

fn no_threads() -> Failure {
    Failure::new("the parser threads could not be started; try fewer with -j 1")
}
