//! Reads tables that have appeared, while the logs beside them are followed.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::Scope;

use weir_core::FormatChoice;

use crate::error::Fault;
use crate::source::input::Input;
use crate::source::read::read_inputs;
use crate::writer::Intake;

/// Reads one table after the other, on a thread that begins with the first of them.
pub(super) struct TableReader<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    intake: &'env dyn Intake,
    format: &'env FormatChoice,
    report: &'env (dyn Fn(Vec<Fault>) + Sync),
    paths: Option<Sender<PathBuf>>,
}

impl<'scope, 'env> TableReader<'scope, 'env> {
    /// A reader that has nothing to read yet. Passes errors and notes to `report`.
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        intake: &'env dyn Intake,
        format: &'env FormatChoice,
        report: &'env (dyn Fn(Vec<Fault>) + Sync),
    ) -> Self {
        Self { scope, intake, format, report, paths: None }
    }

    /// Lets these tables be read after those before.
    pub(super) fn read(&mut self, paths: Vec<PathBuf>) {
        for path in paths {
            let sender = self.paths.take().unwrap_or_else(|| self.begin());
            // The thread ends after this reader.
            let _ = sender.send(path);
            self.paths = Some(sender);
        }
    }

    fn begin(&self) -> Sender<PathBuf> {
        let (sender, paths) = channel::<PathBuf>();
        let Self { intake, format, report, .. } = *self;
        self.scope.spawn(move || {
            for path in paths {
                let faults = read_inputs(intake, &[Input::File(path.into())], format, 1);
                if !faults.is_empty() {
                    report(faults);
                }
            }
        });
        sender
    }
}
