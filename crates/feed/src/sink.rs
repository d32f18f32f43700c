//! The receivers of lines.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Mutex;
use weir_ingest::{
    FormatChoice, Phase, Pipeline, SourceOptions, SourceProgress, SourceWriter, StopReason,
};

/// Receives the lines of one listener.
pub trait Sink: Send + Sync + 'static {
    /// Takes whole lines in two adjacent parts, and waits while there is no room. The future is
    /// always awaited to its end.
    ///
    /// # Errors
    /// If the sink takes no more lines.
    fn write(&self, parts: [&[u8]; 2]) -> impl Future<Output = Result<(), StopReason>> + Send;

    /// Makes the lines taken so far visible. Called every 50 ms.
    ///
    /// # Errors
    /// If the sink takes no more lines.
    fn flush(&self) -> impl Future<Output = Result<(), StopReason>> + Send {
        async { Ok(()) }
    }

    /// Sets the note about the listener, a sentence with its counts. Called when it changes.
    fn note(&self, _note: Option<String>) {}

    /// Returns a message to report to the person at the terminal, once. Called after each
    /// [`Self::flush`].
    fn take_message(&self) -> Option<String> {
        None
    }

    /// Ends the sink: no more lines come, for this reason.
    fn end(&self, _why: StopReason) {}

    /// Waits until the sink wants no more lines.
    fn closed(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// Makes a listener a source of a pipeline. All connections write to one block, so that a
/// thousand of them take no more memory than one.
#[derive(Debug)]
pub struct PipelineSink {
    writer: Mutex<SourceWriter>,
    progress: Arc<SourceProgress>,
    touch: Touch,
}

/// Notifies the readers of the data set that the state of a source has changed.
#[derive(Debug)]
struct Touch(Arc<weir_ingest::DataSet>);

impl PipelineSink {
    /// Opens a source of this name.
    pub fn new(pipeline: &Pipeline, name: &str, format: FormatChoice) -> Self {
        // Any program that can reach the listener may have sent the first line.
        let writer = pipeline.open(SourceOptions::new(name, format).watch_drift());
        let progress = writer.progress().clone();
        progress.set_phase(Phase::Listening);
        Self { writer: Mutex::new(writer), progress, touch: Touch(pipeline.data().clone()) }
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
        self.touch.0.touch();
    }

    fn take_message(&self) -> Option<String> {
        self.progress.take_news()
    }

    fn end(&self, why: StopReason) {
        self.progress.set_end(why.into());
        self.touch.0.touch();
    }

    async fn closed(&self) {
        let mut parsed = self.progress.parsed();
        // The sender lives in `self.progress`, so this cannot fail.
        let _ = parsed.wait_for(|_| self.progress.is_cancelled()).await;
    }
}
