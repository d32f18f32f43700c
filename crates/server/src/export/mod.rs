//! Sends the rows of a session as a file while it is written.
//!
//! If the session is at rest, the bytes of an export depend only on its query. Such an export has
//! an entity tag, and a client can ask for a range: the rows are computed again, and the bytes
//! before the range are dropped.

mod file_name;
mod line_export;
mod sending;
mod tag;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hyper::header::{ACCEPT_RANGES, CONTENT_LENGTH, ETAG, HeaderValue, VARY};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use weir_core::Snapshot;
use weir_ingest::{DataSet, SourceSnapshot};
use weir_net::{
    Body, ByteRange, Client, RequestedContent, set_content_range, set_unsatisfied_range,
};
use weir_observe::task::{TaskKind, TaskName};
use weir_query::{LinePlaces, Now, ParsedQuery, RowExport, WrittenQuery, log_zone};
use weir_view::Query;

use crate::answer;
use crate::export_form::Form;
use crate::refusal::Refusal;
use crate::response;
use crate::session::{Access, Session};
use crate::turns::{Effort, ExportTurn, SESSION_PLACES_MAX, StopOnDrop, Viewer};
use file_name::file_name;
use line_export::LineExport;
use sending::{Destination, PartSource};

/// Sends an export.
static EXPORT: TaskKind = TaskKind::new("export");

/// The number of bytes queued for a client at which an export pauses.
const QUEUE_BYTES_MAX: usize = 64 << 10;

/// A batch of a table may take about 1/n of the memory limit, so that the batches of all exports that a
/// session may begin take an eighth of it. The size of the batches depends on nothing else, because a
/// client that asks for a range expects the same bytes.
const BATCH_SHARE: usize = 8 * SESSION_PLACES_MAX;

/// About the bytes of a row of an access log in a batch of Arrow. One of Parquet takes fewer.
const ROW_BYTES: usize = 170;

/// The range of a whole export, whose length is unknown until its end.
const WHOLE: Range<u64> = 0..u64::MAX;

/// Returns the name under which a browser saves a report as HTML.
pub(crate) fn report_name(data: &DataSet, query: &Query) -> String {
    let snapshot = data.snapshot();
    let first = snapshot.sources.first().map_or("", |source| source.name.as_str());
    file_name(first, &query.conditions, "html")
}

/// The rows that a client asks for.
#[derive(Debug)]
pub(crate) struct RowRequest {
    pub(crate) query: Query,
    pub(crate) form: Form,
    /// The names of the columns; empty for the default ones.
    pub(crate) columns: Vec<String>,
}

/// Responds to GET or HEAD for the rows that a query selects. The file is written while it is sent.
///
/// # Errors
/// Fails if the query is not valid for this data, or the session has ended.
pub(crate) async fn respond<B>(
    session: &Arc<Session>,
    data: Arc<DataSet>,
    rows: RowRequest,
    request: &Request<B>,
    client: &Client,
) -> Result<Response<Body>, Refusal> {
    tokio::select! {
        response = respond_in_session(session, data, rows, request, client) => response,
        () = session.ended() => Err(session.end_refusal()),
    }
}

async fn respond_in_session<B>(
    session: &Arc<Session>,
    data: Arc<DataSet>,
    rows: RowRequest,
    request: &Request<B>,
    client: &Client,
) -> Result<Response<Body>, Refusal> {
    let is_head = *request.method() == Method::HEAD;
    // HEAD computes no rows. The turn comes before the snapshot, which would otherwise hold memory
    // while it waits.
    let turn = if is_head { None } else { Some(session.turns().export_turn().await) };
    let written = WrittenQuery::parse(&rows.query, Now::read())?;
    let (effort, owner) = (Effort::of(written.expressions()), session.clone());
    let client = client.clone();
    let begin = move || Export::begin(owner, data, rows, &written, client);
    let export = Arc::new(session.turns().check(effort, begin).await??);
    let requested = match &export.tag {
        Some(tag) => RequestedContent::of(request, tag, None),
        None => RequestedContent::of_untagged(request),
    };
    match (requested, turn) {
        (RequestedContent::PreconditionFailed, _) => {
            Ok(response::empty(StatusCode::PRECONDITION_FAILED))
        }
        (RequestedContent::NotModified, _) => Ok(export.not_modified()),
        (RequestedContent::Range(range), Some(turn)) => export.part(effort, range, turn).await,
        (RequestedContent::Whole, Some(turn)) => export.whole(effort, turn).await,
        (_, None) => export.head(),
    }
}

/// The rows of an export that has begun.
struct Rows {
    parts: Box<dyn PartSource>,
    /// Ends the work on the rows.
    stop: StopOnDrop,
}

/// A requested export, with everything that its bytes depend on.
struct Export {
    session: Arc<Session>,
    data: Arc<DataSet>,
    snapshot: Snapshot<SourceSnapshot>,
    query: ParsedQuery,
    form: Form,
    columns: Vec<String>,
    client: Client,
    file: String,
    /// Identifies the bytes; `None` if another request may get other bytes.
    tag: Option<HeaderValue>,
}

impl Export {
    /// Checks a query, which may take long.
    fn begin(
        session: Arc<Session>,
        data: Arc<DataSet>,
        rows: RowRequest,
        written: &WrittenQuery,
        client: Client,
    ) -> Result<Self, Refusal> {
        let RowRequest { query, form, columns } = rows;
        let snapshot = data.snapshot();
        let first = snapshot.sources.first().map_or("", |source| source.name.as_str());
        let file = file_name(first, &query.conditions, form.extension());
        let settled = answer::check(written, &data)?;
        // A query relative to the present has no tag, so a client that resumes later cannot get
        // rows of another time.
        let is_of_now = written.depends_on_present(&|| log_zone(&data.values()));
        if form == Form::Lines {
            if !columns.is_empty() {
                return Err(Refusal::BadRequest(
                    "lines have no columns; omit `columns`".to_owned(),
                ));
            }
            line_export::check(&data, &snapshot)?;
        }
        let tag = tag::tag(&session, &data, &snapshot, &query, &columns, form);
        let tag = tag.filter(|_| !is_of_now);
        Ok(Self { session, data, snapshot, query: settled, form, columns, client, file, tag })
    }

    /// Starts the export of the rows. Its filter decides about all values first, which may take
    /// long, and ends when this future is dropped.
    async fn rows(self: &Arc<Self>, effort: Effort) -> Result<Rows, Refusal> {
        let export = self.clone();
        let begin = move |stop: &Arc<AtomicBool>| {
            let stop = stop.clone();
            let format = match export.form {
                Form::Fields(format) => format,
                Form::Lines => {
                    let (data, query) = (export.data.clone(), export.query.clone());
                    let places = LinePlaces::new(data.clone(), &export.snapshot, query, stop)?;
                    return Ok(Box::new(LineExport::new(places, data)) as Box<dyn PartSource>);
                }
            };
            let sources = export.snapshot.sources.iter();
            let names: HashMap<u32, String> =
                sources.map(|source| (source.number, source.name.clone())).collect();
            let name_of = move |number| names.get(&number).cloned().unwrap_or_default();
            let (data, query, jobs) =
                (export.data.clone(), export.query.clone(), export.session.jobs());
            let snapshot = &export.snapshot;
            let rows = RowExport::new_until(data, snapshot, query, format, name_of, stop)?;
            let is_packed = |source: &SourceSnapshot| {
                source.format.as_deref().is_some_and(weir_core::Format::is_packed)
            };
            let sources = export.snapshot.sources.iter().filter(|source| is_packed(source));
            let without_lines: HashSet<u32> = sources.map(|source| source.number).collect();
            let rows = rows.without_lines(move |number| without_lines.contains(&number));
            let rows = match &export.columns[..] {
                [] => rows,
                columns => rows.with_columns(columns)?,
            };
            let rows_max = export.session.view_memory().limit_bytes() / BATCH_SHARE / ROW_BYTES;
            let rows = rows.with_jobs(jobs).with_batch_rows_max(rows_max);
            Ok::<_, Refusal>(Box::new(rows) as Box<dyn PartSource>)
        };
        let begun = self.session.turns().check_of(&Viewer::default(), effort, begin).await?;
        let (parts, stop) = begun.into_stoppable();
        Ok(Rows { parts: parts?, stop })
    }

    /// Returns the length in bytes, if a previous export has determined it.
    fn known_length(&self) -> Option<u64> {
        self.session.export_lengths().get(self.tag.as_ref()?)
    }

    /// Remembers the length in bytes.
    fn keep_length(&self, bytes: u64) {
        if let Some(tag) = &self.tag {
            self.session.export_lengths().insert(tag.clone(), bytes);
        }
    }

    /// Returns the response to HEAD.
    fn head(&self) -> Result<Response<Body>, Refusal> {
        // The body is not sent. It never ends, so the response claims no length.
        let (_, body) = Body::channel(QUEUE_BYTES_MAX);
        self.response(StatusCode::OK, body, self.known_length())
    }

    fn not_modified(&self) -> Response<Body> {
        let mut response = response::empty(StatusCode::NOT_MODIFIED);
        self.set_common_fields(response.headers_mut());
        response
    }

    /// Returns the response with all bytes.
    async fn whole(
        self: &Arc<Self>,
        effort: Effort,
        turn: ExportTurn,
    ) -> Result<Response<Body>, Refusal> {
        let body = self.send(self.rows(effort).await?, WHOLE, turn);
        self.response(StatusCode::OK, body, self.known_length())
    }

    /// Returns the response with a range of the bytes. It needs the total length, so a first export
    /// is computed twice.
    async fn part(
        self: &Arc<Self>,
        effort: Effort,
        range: ByteRange,
        turn: ExportTurn,
    ) -> Result<Response<Body>, Refusal> {
        let total = match self.known_length() {
            Some(total) => total,
            None => {
                let rows = self.rows(effort).await?;
                let total = sending::length(rows.parts).await?;
                self.keep_length(total);
                total
            }
        };
        let Some(range) = range.within(total) else {
            let mut response = response::refusal(&Refusal::RangeNotSatisfiable(total));
            self.set_common_fields(response.headers_mut());
            set_unsatisfied_range(response.headers_mut(), total);
            return Ok(response);
        };
        let body = self.send(self.rows(effort).await?, range.clone(), turn);
        let bytes = range.end - range.start;
        let mut response = self.response(StatusCode::PARTIAL_CONTENT, body, Some(bytes))?;
        set_content_range(response.headers_mut(), &range, total);
        Ok(response)
    }

    /// Sends a range of the bytes in its own task, which holds the turn and the session.
    fn send(self: &Arc<Self>, rows: Rows, range: Range<u64>, turn: ExportTurn) -> Body {
        let (sender, body) = Body::channel(QUEUE_BYTES_MAX);
        let (export, user) = (self.clone(), self.session.enter(Access::View));
        tokio::spawn(EXPORT.observe(TaskName::Unnamed, async move {
            let client = &export.client;
            client.limit_bytes_ahead();
            let (taken_bytes, cut_off) = (|| client.taken_bytes(), || client.cut_off());
            let destination = Destination { sender, taken_bytes, turn, cut_off };
            let total = tokio::select! {
                total = sending::send(rows.parts, range, destination) => total,
                () = export.session.ended() => None,
            };
            if let Some(total) = total {
                export.keep_length(total);
            }
            drop((user, rows.stop));
            export.session.memory_return().soon();
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
        let mut response = response::attached(response, self.form.media_type(), &self.file)?;
        let fields = response.headers_mut();
        if let Some(bytes) = bytes {
            fields.insert(CONTENT_LENGTH, bytes.into());
        }
        self.set_common_fields(fields);
        Ok(response)
    }

    /// Sets the fields that a `304` has too (RFC 9110 section 15.4.5).
    fn set_common_fields(&self, fields: &mut HeaderMap) {
        // Without `format`, the field chooses the form.
        fields.insert(VARY, HeaderValue::from_static("accept"));
        let unit = if self.tag.is_some() { "bytes" } else { "none" };
        fields.insert(ACCEPT_RANGES, HeaderValue::from_static(unit));
        if let Some(tag) = &self.tag {
            fields.insert(ETAG, tag.clone());
        }
    }
}
