//! Answers the panels of a page: rules that a user tries, and blocks found in the logs.
//!
//! Each panel has its own question and a query that selects the records. The server answers the
//! newest question of each panel, and again while the data grows.

mod blocks;
mod question;
mod rules;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{UpgradedStream, Writer};
use weir_view::{LiveReply, LiveRequest};

pub(crate) use self::question::MESSAGE_BYTES_MAX;
use self::question::{
    PanelAnswer, PanelRefusal, PanelRequest, Question, Subject, answer_question, check,
};
use super::{has_open_source, process_newest, send_reply, wait_for_ends};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::{CancelOnDrop, Cancellation, Effort};

/// The number of panels of a connection. Each holds one message and its parsed rules.
const PANELS_MAX: usize = 8;

/// The maximum number of keys, bans and alerts of a rule in an answer: a page cannot show more.
const KEYS_MAX: usize = 500;

/// The minimum time between two answers of a panel.
const ANSWER_INTERVAL: Duration = Duration::from_secs(1);

/// While the data grows, a panel takes at most 1/n of the time.
const WORK_SHARE: u32 = 8;

/// The newest message of each panel.
pub(super) type PanelMessages = [watch::Sender<String>; PANELS_MAX];

/// Answers the newest message of each panel until the connection ends. Messages that arrive before
/// the future is polled are answered too, because the panels subscribe in this call.
pub(super) fn answer_panels<'a>(
    session: &'a Arc<Session>,
    data: &'a Arc<DataSet>,
    newest: &PanelMessages,
    writer: &'a Writer<UpgradedStream>,
) -> impl Future<Output = ()> + use<'a> {
    let serve = |(number, newest): (u32, &watch::Sender<String>)| {
        let panel = Panel { number, session, data, writer };
        let newest = newest.subscribe();
        Box::pin(async move { panel.serve(newest).await })
    };
    serve_panels((0..).zip(newest).map(serve).collect())
}

/// Serves the panels of a connection until one of them ends, because the connection does.
pub(super) async fn serve_panels(mut panels: Vec<Pin<Box<impl Future<Output = ()>>>>) {
    std::future::poll_fn(|context| {
        let is_over = panels.iter_mut().any(|panel| panel.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Refuses a question for a panel number that does not exist.
pub(super) async fn refuse_panel(panel: u32, writer: &Writer<UpgradedStream>) {
    let why = format!("panel {panel} is too high: a connection has panels 0 to {}", PANELS_MAX - 1);
    let error = Some(Refusal::BadRequest(why).failure(None));
    let reply = LiveReply::Rules { panel, query: None, answer: None, error, place: None };
    send_reply(writer, &reply).await;
}

/// A panel of a connection.
struct Panel<'a> {
    number: u32,
    session: &'a Arc<Session>,
    data: &'a Arc<DataSet>,
    writer: &'a Writer<UpgradedStream>,
}

impl Panel<'_> {
    async fn serve(&self, mut newest: watch::Receiver<String>) {
        while let Some(read) = process_newest(&mut newest, |text| self.read(text)).await {
            match read {
                Ok(Some((id, question))) => self.follow(id, question, &mut newest).await,
                Ok(None) => {}
                Err((id, refused)) => self.refuse(id, refused).await,
            }
        }
    }

    /// Reads a message and its rules. Returns `None` if it only cancels the previous question. An
    /// error includes the id of the query, if there is one.
    async fn read(
        &self,
        text: String,
    ) -> Result<Option<(u64, Question)>, (Option<u64>, PanelRefusal)> {
        let turns = self.session.turns();
        let parse = move || weir_view::from_json::<LiveRequest>(&text);
        let request = match turns.check(Effort::Short, parse).await {
            Ok(Ok(request)) => request,
            Ok(Err(error)) => return Err((None, Refusal::unreadable(error).into())),
            Err(refusal) => return Err((None, refusal.into())),
        };
        let (mut query, asked) = match request {
            LiveRequest::Rules { query, rule: Some(rule), details, .. } => {
                (query, PanelRequest::Rules(rule, details))
            }
            LiveRequest::Blocks { query, question: Some(question), .. } => {
                (query, PanelRequest::Blocks(question))
            }
            _ => return Ok(None),
        };
        query.zone = query.zone.or_else(|| self.session.zone().cloned());
        let id = query.id;
        let data = self.data.clone();
        let is_about_blocks = matches!(asked, PanelRequest::Blocks(_));
        let check = move || check(query, &asked, &data);
        match turns.check(Effort::Long, check).await {
            Ok(Ok(question)) => Ok(Some((id, question))),
            Ok(Err(refused)) => Err((Some(id), PanelRefusal { is_about_blocks, ..refused })),
            Err(refusal) => Err((Some(id), PanelRefusal { is_about_blocks, ..refusal.into() })),
        }
    }

    /// Answers a question, and repeats this while the data grows, until a newer message arrives.
    async fn follow(&self, id: u64, question: Question, newest: &mut watch::Receiver<String>) {
        let question = Arc::new(question);
        let mut version = self.data.version();
        loop {
            let started = Instant::now();
            let seen = *version.borrow_and_update();
            let is_growing = has_open_source(self.data);
            let cancel = CancelOnDrop::default();
            let cancellation = cancel.cancellation();
            let answered = tokio::select! {
                answered = self.answer(&question, !is_growing, &cancellation) => answered,
                _ = newest.changed() => break,
            };
            let work_time = started.elapsed();
            match answered {
                Ok(Some(answer)) => self.send(id, answer).await,
                Ok(None) => break,
                Err(refusal) => {
                    let is_final = matches!(refusal, Refusal::TooSlow(_) | Refusal::SessionEnded);
                    let is_about_blocks = matches!(question.subject, Subject::Blocks(_));
                    let refused = PanelRefusal { is_about_blocks, ..refusal.into() };
                    self.refuse(Some(id), refused).await;
                    if is_final {
                        return;
                    }
                }
            }
            let outdated = async {
                let end = started + ANSWER_INTERVAL.max(work_time * WORK_SHARE);
                tokio::select! {
                    () = tokio::time::sleep_until(end) => {}
                    () = wait_for_ends(self.data), if is_growing => {}
                }
                // This cannot fail, because the sender lives as long as the data.
                let _ = version.wait_for(|version| *version != seen).await;
            };
            tokio::select! {
                () = outdated => {}
                _ = newest.changed() => break,
            }
        }
        newest.mark_changed();
    }

    /// Answers in a long turn, so that views do not wait for it. Returns `None` if cancelled.
    async fn answer(
        &self,
        question: &Arc<Question>,
        complete: bool,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Option<PanelAnswer>, Refusal> {
        let (question, data, jobs) = (question.clone(), self.data.clone(), self.session.jobs());
        let answer = move |should_stop: &AtomicBool| {
            answer_question(&question, &data, jobs, complete, should_stop).transpose()
        };
        self.session.turns().answer(Effort::Long, cancellation, answer).await?.transpose()
    }

    async fn send(&self, id: u64, answer: PanelAnswer) {
        let (panel, query, error) = (self.number, Some(id), None);
        let reply = match answer {
            PanelAnswer::Rules(answer) => {
                let answer = Some(Box::new(answer));
                LiveReply::Rules { panel, query, answer, error, place: None }
            }
            PanelAnswer::Blocks(answer) => {
                LiveReply::Blocks { panel, query, answer: Some(Box::new(answer)), error }
            }
        };
        send_reply(self.writer, &reply).await;
    }

    async fn refuse(&self, query: Option<u64>, refused: PanelRefusal) {
        let PanelRefusal { refusal, place, is_about_blocks } = refused;
        let (panel, error) = (self.number, Some(refusal.failure(None)));
        let place = place.map(|place| *place);
        let reply = match is_about_blocks {
            true => LiveReply::Blocks { panel, query, answer: None, error },
            false => LiveReply::Rules { panel, query, answer: None, error, place },
        };
        send_reply(self.writer, &reply).await;
    }
}
