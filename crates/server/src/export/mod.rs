//! The rows of a session as a file, sent while it is written.
//!
//! While the session is at rest, the bytes of an export depend on its question alone. It has a tag then,
//! and a part of it can be asked for: the rows are computed again, and the bytes before the part are
//! dropped.

mod file_name;
mod sending;
mod tag;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hyper::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderValue,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use weir_core::Snapshot;
use weir_ingest::{DataSet, SourceSnapshot};
use weir_net::{Body, ByteRange, Requested, set_content_range, set_unsatisfied_range};
use weir_observe::task::{TaskKind, TaskName};
use weir_query::{ExportFormat, RowExport, settled};
use weir_view::{Now, Query};

use crate::answer::checked;
use crate::refusal::Refusal;
use crate::response;
use crate::session::{Access, Session};
use crate::turns::{Effort, Turn};
use file_name::file_name;

/// Sends an export.
static EXPORT: TaskKind = TaskKind::new("export");

/// The bytes that wait for a client before an export pauses.
const QUEUE_BYTES_MAX: usize = 64 << 10;

/// The range of a whole export, whose length is not known before its end.
const WHOLE: Range<u64> = 0..u64::MAX;

/// Answers a GET or HEAD request for the rows that a query selects. The file is written while it is sent.
///
/// # Errors
/// Fails if the query is not valid for this data, or the session has ended.
pub(crate) async fn respond<B>(
    session: &Arc<Session>,
    data: Arc<DataSet>,
    (query, format): (Query, ExportFormat),
    request: &Request<B>,
) -> Result<Response<Body>, Refusal> {
    tokio::select! {
        response = respond_in_session(session, data, (query, format), request) => response,
        () = session.ended() => Err(session.end_refusal()),
    }
}

async fn respond_in_session<B>(
    session: &Arc<Session>,
    data: Arc<DataSet>,
    (query, format): (Query, ExportFormat),
    request: &Request<B>,
) -> Result<Response<Body>, Refusal> {
    let is_head = *request.method() == Method::HEAD;
    // HEAD computes no rows. Before the snapshot, which would hold memory meanwhile.
    let turn = if is_head { None } else { Some(session.turns().export_turn().await) };
    let (effort, owner) = (Effort::of(query.expressions()), session.clone());
    let begin = move || Export::begin(owner, data, query, format);
    let export = Arc::new(session.turns().check(effort, begin).await??);
    let requested = match &export.tag {
        Some(tag) => Requested::of(request, tag, None),
        None => Requested::Whole,
    };
    match (requested, turn) {
        (Requested::Other, _) => Ok(response::empty(StatusCode::PRECONDITION_FAILED)),
        (Requested::NotModified, _) => Ok(export.not_modified()),
        (Requested::Range(range), Some(turn)) => export.part(effort, range, turn).await,
        (Requested::Whole, Some(turn)) => export.whole(effort, turn).await,
        (_, None) => export.head(),
    }
}

/// An export that was asked for, with all that its bytes depend on.
struct Export {
    session: Arc<Session>,
    data: Arc<DataSet>,
    snapshot: Snapshot<SourceSnapshot>,
    /// Its times are RFC 3339.
    query: Query,
    format: ExportFormat,
    file: String,
    /// Stands for the bytes; `None` if another request may get others.
    tag: Option<HeaderValue>,
}

impl Export {
    /// Checks a query, which may take long.
    fn begin(
        session: Arc<Session>,
        data: Arc<DataSet>,
        query: Query,
        format: ExportFormat,
    ) -> Result<Self, Refusal> {
        let (snapshot, now) = (data.snapshot(), Now::read());
        let first = snapshot.sources.first().map_or("", |source| source.name.as_str());
        let file = file_name(first, &query.conditions, format);
        let checked = checked(query, &data, &now)?;
        let query = settled(&checked, &*data, &now)?;
        // A client that resumes should not get rows of another week.
        let is_of_now = query != settled(&checked, &*data, &now.much_later())?;
        let tag = tag::tag(&session, &data, &snapshot, &query, format).filter(|_| !is_of_now);
        Ok(Self { session, data, snapshot, query, format, file, tag })
    }

    /// Begins to make its bytes.
    async fn rows(self: &Arc<Self>, effort: Effort) -> Result<RowExport<DataSet>, Refusal> {
        let export = self.clone();
        let begin = move || {
            let sources = export.snapshot.sources.iter();
            let names: HashMap<u32, String> =
                sources.map(|source| (source.number, source.name.clone())).collect();
            let name_of = move |number| names.get(&number).cloned().unwrap_or_default();
            let (data, query, jobs) =
                (export.data.clone(), export.query.clone(), export.session.jobs());
            let rows = RowExport::new(data, &export.snapshot, query, export.format, name_of)?;
            Ok::<_, Refusal>(rows.with_jobs(jobs))
        };
        self.session.turns().check(effort, begin).await?
    }

    /// Its length in bytes, if it was made before.
    fn known_length(&self) -> Option<u64> {
        self.session.export_lengths().get(self.tag.as_ref()?)
    }

    /// Keeps its length in bytes.
    fn keep_length(&self, bytes: u64) {
        if let Some(tag) = &self.tag {
            self.session.export_lengths().insert(tag.clone(), bytes);
        }
    }

    /// The response to HEAD.
    fn head(&self) -> Result<Response<Body>, Refusal> {
        // The body is not sent; without its end, a length is not claimed.
        let (_, body) = Body::channel(QUEUE_BYTES_MAX);
        self.response(StatusCode::OK, body, self.known_length())
    }

    fn not_modified(&self) -> Response<Body> {
        let mut response = response::empty(StatusCode::NOT_MODIFIED);
        self.set_validators(response.headers_mut());
        response
    }

    /// The response with all bytes.
    async fn whole(
        self: &Arc<Self>,
        effort: Effort,
        turn: Turn,
    ) -> Result<Response<Body>, Refusal> {
        let body = self.send(self.rows(effort).await?, WHOLE, turn);
        self.response(StatusCode::OK, body, self.known_length())
    }

    /// The response with a range of the bytes. Their number has to be known before, so they are made
    /// twice if they were never made before.
    async fn part(
        self: &Arc<Self>,
        effort: Effort,
        range: ByteRange,
        turn: Turn,
    ) -> Result<Response<Body>, Refusal> {
        let total = match self.known_length() {
            Some(total) => total,
            None => {
                let total = sending::length(self.rows(effort).await?).await?;
                self.keep_length(total);
                total
            }
        };
        let Some(range) = range.within(total) else {
            let mut response = response::empty(StatusCode::RANGE_NOT_SATISFIABLE);
            self.set_validators(response.headers_mut());
            set_unsatisfied_range(response.headers_mut(), total);
            return Ok(response);
        };
        let body = self.send(self.rows(effort).await?, range.clone(), turn);
        let bytes = range.end - range.start;
        let mut response = self.response(StatusCode::PARTIAL_CONTENT, body, Some(bytes))?;
        set_content_range(response.headers_mut(), &range, total);
        Ok(response)
    }

    /// Sends a range of the bytes in a task of its own, which holds the turn and the session.
    fn send(self: &Arc<Self>, rows: RowExport<DataSet>, range: Range<u64>, turn: Turn) -> Body {
        let (sender, body) = Body::channel(QUEUE_BYTES_MAX);
        let (export, user) = (self.clone(), self.session.enter(Access::View));
        tokio::spawn(EXPORT.observe(TaskName::Unnamed, async move {
            let total = tokio::select! {
                total = sending::send(rows, range, sender) => total,
                () = export.session.ended() => None,
            };
            if let Some(total) = total {
                export.keep_length(total);
            }
            drop((turn, user));
        }));
        body
    }

    fn response(
        &self,
        status: StatusCode,
        body: Body,
        bytes: Option<u64>,
    ) -> Result<Response<Body>, Refusal> {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(self.format.media_type()));
        let disposition = format!("attachment; filename=\"{}\"", self.file);
        let disposition = HeaderValue::from_str(&disposition).map_err(Refusal::internal)?;
        fields.insert(CONTENT_DISPOSITION, disposition);
        if let Some(bytes) = bytes {
            fields.insert(CONTENT_LENGTH, bytes.into());
        }
        self.set_validators(fields);
        Ok(response)
    }

    fn set_validators(&self, fields: &mut HeaderMap) {
        let unit = if self.tag.is_some() { "bytes" } else { "none" };
        fields.insert(ACCEPT_RANGES, HeaderValue::from_static(unit));
        if let Some(tag) = &self.tag {
            fields.insert(ETAG, tag.clone());
        }
    }
}
