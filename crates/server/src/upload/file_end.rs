//! Ends files from outside their transfers, and says why a receiver has ended one.

use std::sync::Arc;
use std::time::Duration;

use weir_ingest::{SourceEnd, SourceError, StopReason};

use crate::file::{ReceiveError, UploadedFile};
use crate::refusal::Refusal;
use crate::session::Session;

/// Returns the refusal for an error of a receiver.
pub(super) fn refusal_of(error: &ReceiveError, session: &Session) -> Refusal {
    match error {
        ReceiveError::Stopped(StopReason::Cancelled) => session.end_refusal(),
        ReceiveError::Stopped(StopReason::MemoryFull) => session.memory_refusal(),
        ReceiveError::Damaged(damage) => Refusal::Damaged(damage.clone()),
        ReceiveError::Refused(why) => Refusal::UnsupportedPacking(why.clone()),
    }
}

/// Cancels a file of the session, whether or not a connection owns it.
pub(super) fn cancel(session: &Session, id: &str) {
    if let Some(file) = session.files().iter().find(|file| file.id() == id) {
        file.cancel();
        session.touch();
    }
}

/// Ends a file whose connection was lost, unless another connection resumes it in time.
pub(super) async fn abandon(session: Arc<Session>, file: Arc<UploadedFile>, grace: Duration) {
    let lost = file.interruption_count();
    tokio::select! {
        () = tokio::time::sleep(grace) => {}
        () = session.ended() => return,
    }
    if file.is_interrupted() && file.interruption_count() == lost {
        let refusal = Refusal::Abandoned(grace.as_secs());
        file.end_unless_owned(SourceEnd::Failed(SourceError::Transfer(refusal.to_string())));
        session.touch();
    }
}
