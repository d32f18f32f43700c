//! What a page requests between two files.

use weir_view::UploadRequest;

use crate::file::FileBegin;

/// A request between two files.
pub(super) enum FileRequest {
    Begin(FileBegin),
    /// A file that is sent again for the replay with this id.
    Replay {
        begin: FileBegin,
        replay: String,
    },
    /// Join the file with this id.
    Join(String),
    /// The connection has ended.
    Disconnect,
}

impl FileRequest {
    /// Returns the request of a message; `None` if it belongs to a file that was begun.
    pub(super) fn of(message: UploadRequest) -> Option<Self> {
        match message {
            UploadRequest::Begin {
                file: id,
                name,
                bytes_total,
                continues,
                fingerprint,
                replay,
                format,
            } => {
                let begin = FileBegin { id, name, bytes_total, continues, fingerprint, format };
                Some(match replay {
                    None => Self::Begin(begin),
                    Some(replay) => Self::Replay { begin, replay },
                })
            }
            UploadRequest::Join { file } => Some(Self::Join(file)),
            _ => None,
        }
    }
}
