//! Where lines go.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Mutex;
use weir_ingest::{Course, FormatChoice, Pipeline, SourceProgress, SourceWriter, StopReason};

/// Takes the lines of one listener.
pub trait Sink: Send + Sync + 'static {
    /// Takes whole lines, these parts one behind the other with nothing between them, and waits
    /// while there is no room. The future is awaited to its end.
    ///
    /// # Errors
    /// Where no more is taken.
    fn write(&self, parts: [&[u8]; 2]) -> impl Future<Output = Result<(), StopReason>> + Send;

    /// Hands on what was taken, so that it is seen. Called every few hundredths of a second.
    ///
    /// # Errors
    /// Where no more is taken.
    fn flush(&self) -> impl Future<Output = Result<(), StopReason>> + Send {
        async { Ok(()) }
    }

    /// What is odd about the listener, each time that changes.
    fn note(&self, _note: Option<String>) {}

    /// What a person should hear at once: a sentence, once. Asked for after each
    /// [`Self::flush`].
    fn news(&self) -> Option<String> {
        None
    }

    /// No more comes, for this reason.
    fn end(&self, _why: StopReason) {}

    /// Waits until nobody wants lines any more.
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

/// What tells those who look at the data set that a source's state has changed.
#[derive(Debug)]
struct Touch(Arc<weir_ingest::DataSet>);

impl PipelineSink {
    /// Opens a source of this name.
    pub fn new(pipeline: &Pipeline, name: &str, format: FormatChoice) -> Self {
        let mut writer = pipeline.source(name, None, format);
        // Whoever reaches the listener may have sent the first line.
        writer.watch_format();
        let progress = writer.progress().clone();
        progress.set_course(Course::Listening);
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
        if writer.offset() > writer.handed_on() {
            writer.hand_on_async().await?;
        }
        Ok(())
    }

    fn note(&self, note: Option<String>) {
        self.progress.set_note(note);
        self.touch.0.touch();
    }

    fn news(&self) -> Option<String> {
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
