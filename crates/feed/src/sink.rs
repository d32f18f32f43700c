//! Sinks: the receivers of the lines.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Mutex;
use weir_ingest::{
    DataSet, FormatChoice, Phase, Pipeline, SourceOptions, SourceProgress, SourceWriter, StopReason,
};

/// Receives the lines of one listener.
pub trait Sink: Send + Sync + 'static {
    /// Accepts complete lines in two adjacent parts, and waits while there is no room. The feed
    /// awaits the future to its end.
    ///
    /// # Errors
    /// If the sink has stopped.
    fn write(&self, parts: [&[u8]; 2]) -> impl Future<Output = Result<(), StopReason>> + Send;

    /// Makes the lines written so far visible. Called every 50 ms.
    ///
    /// # Errors
    /// If the sink has stopped.
    fn flush(&self) -> impl Future<Output = Result<(), StopReason>> + Send {
        async { Ok(()) }
    }

    /// Sets the note about the listener, a sentence with its counts. Called when it changes.
    fn note(&self, _note: Option<String>) {}

    /// Returns a new message for the person at the terminal, if there is one. Called after each
    /// [`Self::flush`].
    fn take_message(&self) -> Option<String> {
        None
    }

    /// Ends the sink. No lines follow, for the given reason.
    fn end(&self, _why: StopReason) {}

    /// Waits until the sink stops on its own.
    fn closed(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// A sink that makes a listener a source of a pipeline. All connections write to one block, so a
/// thousand connections take no more memory than one.
#[derive(Debug)]
pub struct PipelineSink {
    writer: Mutex<SourceWriter>,
    progress: Arc<SourceProgress>,
    data: Arc<DataSet>,
}

impl PipelineSink {
    /// Opens a source with this name.
    pub fn new(pipeline: &Pipeline, name: &str, format: FormatChoice) -> Self {
        // Any program that can reach the listener may have sent the first line.
        let writer = pipeline.open(SourceOptions::new(name, format).watch_drift().keep());
        let progress = writer.progress().clone();
        progress.set_phase(Phase::Listening);
        Self { writer: Mutex::new(writer), progress, data: pipeline.data().clone() }
    }
}

impl Sink for PipelineSink {
    async fn write(&self, parts: [&[u8]; 2]) -> Result<(), StopReason> {
        let mut writer = self.writer.lock().await;
        for part in parts {
            writer.write_all_async(part).await?;
        }
        Ok(())
    }

    async fn flush(&self) -> Result<(), StopReason> {
        let mut writer = self.writer.lock().await;
        if writer.offset() > writer.submitted() {
            writer.flush_async().await?;
        }
        Ok(())
    }

    fn note(&self, note: Option<String>) {
        self.progress.set_note(note);
        self.data.touch();
    }

    fn take_message(&self) -> Option<String> {
        self.progress.take_news().or_else(|| self.progress.take_misfit())
    }

    fn end(&self, why: StopReason) {
        self.progress.set_end(why.into());
        self.data.touch();
    }

    async fn closed(&self) {
        let mut parsed = self.progress.parsed();
        // The sender lives in `self.progress`, so this cannot fail.
        let _ = parsed.wait_for(|_| self.progress.is_cancelled()).await;
    }
}
