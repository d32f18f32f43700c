//! The rows of a session as a file, sent while it is written.

use std::sync::Arc;

use hyper::Response;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use tokio::task::spawn_blocking;
use weir_ingest::DataSet;
use weir_net::{Body, BodySender};
use weir_query::{ExportFormat, RowExport, settled};
use weir_view::{Now, Query};

use crate::answer::checked;
use crate::refusal::Refusal;
use crate::session::{Access, Session};
use crate::turns::{Effort, Turn};

/// The bytes that wait for a client before an export pauses.
const QUEUE_BYTES_MAX: usize = 64 << 10;

/// The maximum length of a file's name without its extension.
const NAME_BYTES_MAX: usize = 100;

/// Begins the export of the rows that a query selects. The rest is written while it is sent, part by
/// part on threads for blocking work, so that a client that does not read holds no thread.
///
/// # Errors
/// Fails if the query is not valid for this data, or the session has ended.
pub(crate) async fn export(
    session: &Arc<Session>,
    data: Arc<DataSet>,
    query: Query,
    format: ExportFormat,
) -> Result<Response<Body>, Refusal> {
    let turn = tokio::select! {
        turn = session.turns().export_turn() => turn,
        () = session.ended() => return Err(Refusal::SessionEnded),
    };
    let effort = Effort::of(query.expressions());
    let file = file_name(&session.name(), &query.conditions, format);
    let names = data.clone();
    let name_of = move |number| {
        names.source(number).map_or_else(String::new, |source| source.name().to_owned())
    };
    let begin = move || {
        let now = Now::read();
        let query = settled(&checked(query, &data, &now)?, &*data, &now)?;
        Ok::<_, Refusal>(RowExport::new(data, query, format, name_of)?)
    };
    let rows = session.turns().check(effort, begin).await??;
    let (sender, body) = Body::channel(QUEUE_BYTES_MAX);
    let user = session.enter(Access::View);
    let session = session.clone();
    tokio::spawn(async move {
        // Otherwise the body is cut short, which its client notices.
        tokio::select! {
            () = send(rows, sender, turn) => {}
            () = session.ended() => {}
        }
        drop(user);
    });
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    let disposition = format!("attachment; filename=\"{file}\"");
    let disposition = HeaderValue::from_str(&disposition).map_err(Refusal::internal)?;
    headers.insert(CONTENT_DISPOSITION, disposition);
    Ok(response)
}

/// Sends all rows, unless the client goes.
async fn send(mut rows: RowExport<DataSet>, sender: BodySender, turn: Turn) {
    loop {
        let next = spawn_blocking(move || (rows.next_part(), rows)).await;
        // This fails only if the work panics, or the server ends.
        let Ok((Ok(part), the_rest)) = next else { return };
        rows = the_rest;
        let Some(part) = part else { break };
        if sender.send(part).await.is_err() {
            return;
        }
    }
    // A client that has gone meanwhile does not care.
    let _ = sender.finish();
    drop(turn);
}

/// The name under which a browser saves the rows: that of the first source and the filter, as far as
/// they are harmless in a header field and in every file system. The page names its files alike.
fn file_name(source: &str, conditions: &[String], format: ExportFormat) -> String {
    let source = harmless(source.rsplit(['/', '\\']).next().unwrap_or_default());
    let source = source.trim_start_matches('.');
    let mut name = if source.is_empty() { "rows" } else { source }.to_owned();
    let filter = harmless(&conditions.join(" "));
    let words: Vec<&str> = filter.split('_').filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        name = format!("{name}-{}", words.join("_"));
    }
    // It has one byte for each character.
    name.truncate(NAME_BYTES_MAX);
    format!("{name}.{}", format.extension())
}

/// The first characters of a text, with an underscore for each that is not harmless.
fn harmless(text: &str) -> String {
    let is_harmless = |it: &char| it.is_ascii_alphanumeric() || "-_.".contains(*it);
    let text = text.chars().map(|it| if is_harmless(&it) { it } else { '_' });
    text.take(NAME_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use weir_query::ExportFormat;

    use super::file_name;

    #[test]
    fn names_of_files_are_harmless() {
        for (source, name) in [
            ("/var/log/nginx/access.log", "access.log.csv"),
            ("a\"; filename=\"b\r\nSet-Cookie: x", "a___filename__b__Set-Cookie__x.csv"),
            ("..", "rows.csv"),
            ("", "rows.csv"),
            ("C:\\logs\\été.log", "_t_.log.csv"),
        ] {
            assert_eq!(file_name(source, &[], ExportFormat::Csv), name);
        }
        let long = file_name(&"a".repeat(5_000), &[], ExportFormat::JsonLines);
        assert_eq!(long.len(), "a".repeat(100).len() + ".jsonl".len());
    }

    #[test]
    fn names_of_files_have_the_filter() {
        let name_of = |conditions: &[&str]| {
            let conditions: Vec<String> = conditions.iter().copied().map(str::to_owned).collect();
            file_name("access.log", &conditions, ExportFormat::Csv)
        };
        assert_eq!(name_of(&["status=404,403"]), "access.log-status_404_403.csv");
        assert_eq!(
            name_of(&["path^=\"/../etc\"", "bytes>1MB"]),
            "access.log-path_.._etc_bytes_1MB.csv"
        );
        assert_eq!(name_of(&["\u{202e}\r\n"]), "access.log.csv");
        assert_eq!(name_of(&[&"x".repeat(5_000)]).len(), 100 + ".csv".len());
    }
}
