//! What a person reads of each refusal.

use std::fmt;

use super::{Refusal, TokenOrigin};

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guard(error) => error.fmt(formatter),
            Self::NoToken(TokenOrigin::File) => formatter.write_str(
                "this server requires its access token: append `?token=TOKEN` to the \
                 address, with the token of the server's token file, or send the token as \
                 `Authorization: Bearer TOKEN`",
            ),
            Self::NoToken(TokenOrigin::Random) => formatter.write_str(
                "this server requires its access token: open the link that it printed \
                 when it started, or send the token as `Authorization: Bearer TOKEN`",
            ),
            Self::NotFound => formatter.write_str("this address does not exist"),
            Self::MethodNotAllowed(methods) => {
                write!(formatter, "this address does not support the method; use {methods}")
            }
            Self::NotAcceptable(types) => write!(
                formatter,
                "the `Accept` field of the request excludes {types}; name one of them there, or \
                 leave the field out"
            ),
            Self::RangeNotSatisfiable(bytes) => write!(
                formatter,
                "the export has {bytes} bytes, and the range begins after them; ask for bytes \
                 before the end"
            ),
            Self::NoLines(why) => write!(
                formatter,
                "the lines cannot be exported: {why}. Write them with `weir export --to lines` \
                 from the log, or, if a page sent the log, with the page; the other formats need \
                 no lines"
            ),
            Self::NotAgain(why) => formatter.write_str(why),
            Self::Handshake(error) => error.fmt(formatter),
            Self::UnknownSession => formatter.write_str(
                "the session does not exist; it was ended, or was not used for a while. Open the \
                 log again",
            ),
            Self::UnknownSource => formatter.write_str(
                "the session has no such source; it was removed, or the number is wrong",
            ),
            Self::ServedSession => formatter.write_str(
                "this data set is what the program was started for, and ends with it; stop the program \
                 to free its memory",
            ),
            Self::SessionDisplaced(limit) => write!(
                formatter,
                "this data set was dropped to make room for a newer one: the limit of {limit} \
                 data sets or that of their memory was reached, and no page showed this one. Open \
                 the log again"
            ),
            Self::TooManySessions(limit) => write!(
                formatter,
                "{limit} data sets are open in pages or still being read, which is the limit; \
                 close one of the pages and try again"
            ),
            Self::NoRandomness => {
                formatter.write_str("the system has no random numbers; try again later")
            }
            Self::BadQuery(why) | Self::BadRule(why) | Self::BadRequest(why) => {
                formatter.write_str(why)
            }
            Self::BadCondition(invalid) => write!(formatter, "{invalid}"),
            Self::TooSlow(seconds) => write!(
                formatter,
                "the answer took longer than {seconds} s; ask for less, for instance with fewer \
                 or simpler regular expressions"
            ),
            Self::Busy => formatter.write_str(
                "unread answers of other clients take up too much memory; try again later",
            ),
            Self::ClientGone => formatter.write_str(
                "the client closed its side of the connection before the answer was ready; keep \
                 it open until the answer arrives",
            ),
            Self::TooManyFiles(limit) => write!(
                formatter,
                "the limit of {limit} files in a session is reached; concatenate files, or open \
                 another session"
            ),
            Self::NoFile => formatter.write_str("bytes arrived before a `begin` named their file"),
            Self::FileBusy => formatter
                .write_str("another connection is still sending this file; try again later"),
            Self::NotBegun => formatter
                .write_str("no connection is sending this file; begin it before you join it"),
            Self::TooManyConnections(limit) => write!(
                formatter,
                "the limit of {limit} connections for one file is reached; wait until one of them \
                 has ended"
            ),
            Self::Interrupted => formatter.write_str(
                "a connection that sent blocks of this file was lost; begin the file again, and \
                 resume at the offset in `ready`",
            ),
            Self::FileChanged => formatter.write_str(
                "the file has changed since its upload began; choose the file again",
            ),
            Self::UnknownReplay => formatter.write_str(
                "no question of this session waits for the lines of this file: it was answered or \
                 replaced, or its page has gone; try the rule again",
            ),
            Self::FileOver(why) => {
                write!(formatter, "the upload of this file has already ended: {why}")
            }
            Self::WrongLength { received, expected } => write!(
                formatter,
                "{received} bytes arrived instead of {expected}: the file was changed while it \
                 was read; the lines read before are kept"
            ),
            Self::WindowExceeded => {
                formatter.write_str("more unacknowledged bytes arrived than the window allows")
            }
            Self::Stalled(seconds) => {
                write!(formatter, "no byte arrived for {seconds} s; the lines read before are kept")
            }
            Self::SlowUpload(how) => write!(formatter, "{how}; the lines read before are kept"),
            Self::Abandoned(seconds) => write!(
                formatter,
                "the connection was lost, and the upload was not resumed within {seconds} s; the \
                 lines read before are kept"
            ),
            Self::Broken(at) => {
                write!(formatter, "the connection broke at byte {at}; the lines before it are kept")
            }
            Self::MemoryFull(bytes) => write!(
                formatter,
                "the memory limit of {} MiB is reached; the lines read before are kept; start \
                 the server with a higher limit",
                bytes >> 20
            ),
            Self::TotalMemoryFull(bytes) => write!(
                formatter,
                "the memory limit of {} MiB for all data sets together is reached; the lines read \
                 before are kept; close the page of another data set and try again, or start the \
                 server with a higher limit",
                bytes >> 20
            ),
            Self::Damaged(damage) => damage.fmt(formatter),
            Self::UnsupportedPacking(why) => write!(formatter, "the file {why}"),
            Self::Incomplete(what) => write!(formatter, "not everything was read: {what}"),
            Self::SessionEnded => formatter.write_str("the session has ended"),
            Self::Stopping => formatter.write_str(
                "the server is being stopped, and its data sets end with it; send the log again from \
                 its beginning, to another server or to this one when it is back",
            ),
            Self::Internal(cause) => {
                write!(formatter, "the server failed: {cause}; please report this defect")
            }
        }
    }
}
