//! Answers the panels of a page: rules that a user tries, and blocks found in the logs.
//!
//! Each panel has its own question and a query that selects the records. The server answers the
//! newest question of each panel, and again while the data grows.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_core::AddressBlock;
use weir_ingest::DataSet;
use weir_net::websocket::{Stream, Writer};
use weir_query::{RuleOptions, RuleQueryError, blocks, compare_rules, replay_rules, settled};
use weir_rules::{Family, ParseError, Rule, RuleError, RuleFiles, parse_rules_up_to};
use weir_view::{
    BlocksAnswer, BlocksQuestion, LiveReply, LiveRequest, Now, Query, RuleAnswer, RuleDetails,
    RuleNote, RulePlace, RuleText, RulesAnswer,
};

use crate::answer;
use crate::live::{QUERY_BYTES_MAX, has_open_source, send_reply, wait_for_ends};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::{CancelOnDrop, Cancellation, Effort};

/// The number of panels of a connection. Each holds one message and its parsed rules.
pub(crate) const PANELS_MAX: usize = 8;

/// The maximum length of a text of rules, in bytes.
const RULE_BYTES_MAX: usize = 512 << 10;

/// The maximum length of a message, in bytes. In JSON, an escape may double each character, and a
/// message has two texts if rules are compared.
pub(crate) const MESSAGE_BYTES_MAX: usize =
    2 * 2 * RULE_BYTES_MAX + QUERY_BYTES_MAX + NETWORKS_MAX * NETWORK_BYTES_MAX;

/// The maximum number of networks of good clients. Each is compared with each key.
const NETWORKS_MAX: usize = 256;

/// The maximum length of a network in a message: 43 characters of an IPv6 prefix, and JSON around
/// it.
const NETWORK_BYTES_MAX: usize = 64;

/// The maximum number of rules in one text. Each is replayed over all records.
const RULES_MAX: usize = 32;

/// The maximum number of keys, bans and alerts of a rule in an answer: a page cannot show more.
const KEYS_MAX: usize = 500;

/// The minimum time between two answers of a panel.
const ANSWER_INTERVAL: Duration = Duration::from_secs(1);

/// While the data grows, a panel takes at most 1/n of the time.
const WORK_SHARE: u32 = 8;

/// The name of a rule that has none.
const UNNAMED: &str = "rule";

/// The newest message of each panel.
pub(crate) type PanelMessages = [watch::Sender<String>; PANELS_MAX];

/// Answers the newest message of each panel until the connection ends. Messages that arrive before
/// the future is polled are answered too, because the panels subscribe in this call.
pub(crate) fn answer_panels<'a>(
    session: &'a Arc<Session>,
    data: &'a Arc<DataSet>,
    newest: &PanelMessages,
    writer: &'a Writer<Stream>,
) -> impl Future<Output = ()> + use<'a> {
    let serve = |(number, newest): (u32, &watch::Sender<String>)| {
        let panel = Panel { number, session, data, writer };
        let newest = newest.subscribe();
        Box::pin(async move { panel.serve(newest).await })
    };
    let mut panels: Vec<Pin<Box<_>>> = (0..).zip(newest).map(serve).collect();
    std::future::poll_fn(move |context| {
        let is_over = panels.iter_mut().any(|panel| panel.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
}

/// Refuses a question for a panel number that does not exist.
pub(crate) async fn refuse_panel(panel: u32, writer: &Writer<Stream>) {
    let why = format!("panel {panel} is too high: a connection has panels 0 to {}", PANELS_MAX - 1);
    let error = Some(Refusal::BadRequest(why).failure(None));
    let reply = LiveReply::Rules { panel, query: None, answer: None, error, place: None };
    send_reply(writer, &reply).await;
}

/// The rules of a text, in order.
type Rules = Vec<Box<dyn Rule>>;

/// A panel of a connection.
struct Panel<'a> {
    number: u32,
    session: &'a Arc<Session>,
    data: &'a Arc<DataSet>,
    writer: &'a Writer<Stream>,
}

/// A validated question of a panel.
struct Question {
    query: Query,
    /// Relative times of the query are resolved against it.
    now: Now,
    subject: Subject,
}

/// The subject of a question.
enum Subject {
    Rules(RulesQuestion),
    Blocks(BlocksQuestion),
}

/// Validated rules, and the options of their question.
struct RulesQuestion {
    rules: Rules,
    /// The rules to compare with; empty if their text was refused.
    against: Rules,
    /// The options of the replay.
    options: RuleOptions,
    /// The parts of the text that were not understood.
    notes: Vec<RuleNote>,
}

/// The answer to a question.
enum PanelAnswer {
    Rules(RulesAnswer),
    Blocks(BlocksAnswer),
}

/// A request for a panel, before it is validated.
enum PanelRequest {
    Rules(RuleText, RuleDetails),
    Blocks(BlocksQuestion),
}

/// The refusal of a panel's question. A message that cannot be read counts as one about rules.
struct PanelRefusal {
    refusal: Refusal,
    place: Option<Box<RulePlace>>,
    is_about_blocks: bool,
}

impl From<Refusal> for PanelRefusal {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, place: None, is_about_blocks: false }
    }
}

impl Panel<'_> {
    async fn serve(&self, mut newest: watch::Receiver<String>) {
        while newest.changed().await.is_ok() {
            let text = newest.borrow_and_update().clone();
            let read = tokio::select! {
                read = self.read(text) => read,
                _ = newest.changed() => {
                    newest.mark_changed();
                    continue;
                }
            };
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

/// Validates a panel's question. This compiles its expressions, which may take long.
fn check(query: Query, asked: &PanelRequest, data: &DataSet) -> Result<Question, PanelRefusal> {
    let too_long = |what: &str, max: usize| {
        Refusal::BadRequest(format!("the {what} is too long: it can have {} KiB", max >> 10))
    };
    let texts = match asked {
        PanelRequest::Rules(rule, details) => [Some(rule), details.against.as_ref()],
        PanelRequest::Blocks(_) => [None, None],
    };
    if texts.into_iter().flatten().any(|rule| rule.text.len() > RULE_BYTES_MAX) {
        return Err(too_long("text of the rule", RULE_BYTES_MAX).into());
    }
    if weir_view::to_json(&query).map_err(Refusal::internal)?.len() > QUERY_BYTES_MAX {
        return Err(too_long("query", QUERY_BYTES_MAX).into());
    }
    let subject = match asked {
        PanelRequest::Rules(rule, details) => Subject::Rules(parse_rules_question(rule, details)?),
        PanelRequest::Blocks(question) => Subject::Blocks(check_blocks_question(*question)?),
    };
    let now = Now::read();
    let query = answer::check(query, data, &now)?;
    Ok(Question { query, now, subject })
}

fn check_blocks_question(question: BlocksQuestion) -> Result<BlocksQuestion, Refusal> {
    let (window_max, offset_max) =
        (BlocksQuestion::WINDOW_S_MAX, BlocksQuestion::CLOCK_OFFSET_S_MAX);
    let offset_s = question.clock_offset_s.unwrap_or(0);
    if !(1..=window_max).contains(&question.window_s) {
        let why = format!("`window_s` is not valid: it can be 1 to {window_max}");
        return Err(Refusal::BadRequest(why));
    }
    if !(-offset_max..=offset_max).contains(&offset_s) {
        let why = format!("`clock_offset_s` is not valid: it can be -{offset_max} to {offset_max}");
        return Err(Refusal::BadRequest(why));
    }
    Ok(question)
}

/// Parses the rules of a question, and validates its options.
fn parse_rules_question(
    rule: &RuleText,
    details: &RuleDetails,
) -> Result<RulesQuestion, PanelRefusal> {
    let options = RuleOptions {
        has_grid: details.grid,
        has_collateral: true,
        good_networks: good_networks(&details.good_networks)?,
        has_caught: details.against.is_some(),
    };
    let (rules, notes) = parse(rule)?;
    // The errors of the other text are reported by the panel that shows it.
    let against = details.against.as_ref().and_then(|against| parse(against).ok());
    let against = against.map(|(rules, _)| rules).unwrap_or_default();
    Ok(RulesQuestion { rules, against, options, notes })
}

/// Parses the networks of good clients.
fn good_networks(texts: &[String]) -> Result<Vec<AddressBlock>, Refusal> {
    if texts.len() > NETWORKS_MAX {
        let found = texts.len();
        let why =
            format!("there are {found} networks of good clients; name at most {NETWORKS_MAX}");
        return Err(Refusal::BadRequest(why));
    }
    let network = |text: &String| {
        let address = || Some(AddressBlock::of(text.parse().ok()?));
        AddressBlock::parse(text).or_else(address).ok_or_else(|| {
            let shown: String = text.chars().take(NETWORK_BYTES_MAX).collect();
            Refusal::BadRequest(format!(
                "`{shown}` is not a valid network: write an address, or one with the length of its \
                 prefix, such as 192.0.2.0/24"
            ))
        })
    };
    texts.iter().map(network).collect()
}

/// Parses the rules of a text. Returns them with notes on the parts that were not understood.
fn parse(rule: &RuleText) -> Result<(Rules, Vec<RuleNote>), PanelRefusal> {
    let family = rule.family.as_deref().map(family_named).transpose()?;
    let name = rule.name.as_deref().unwrap_or(UNNAMED);
    let text = &rule.text;
    let rules = parse_rules_up_to(RULES_MAX, text, name, family, &RuleFiles::default());
    let rules = rules.map_err(|error| match error {
        ParseError::Rule(error) => {
            let place = Some(Box::new(RulePlace::new(&error, text)));
            PanelRefusal { place, ..Refusal::BadRule(error.to_string()).into() }
        }
        ParseError::TooMany { found, max } => {
            let why = format!("the text has {found} rules; a panel replays {max} at once");
            Refusal::BadRule(why).into()
        }
    })?;
    let note = |error: &RuleError| RuleNote {
        message: error.to_string(),
        place: RulePlace::new(error, text),
    };
    // Several rules of one text may have the same note.
    let mut places = HashSet::new();
    let is_new = |note: &&RuleError| places.insert((note.range.start, note.message.clone()));
    let notes = rules.iter().flat_map(|rule| rule.notes()).filter(is_new);
    let notes = notes.take(KEYS_MAX).map(note).collect();
    Ok((rules, notes))
}

fn family_named(name: &str) -> Result<Family, Refusal> {
    Family::ALL.into_iter().find(|family| family.name() == name).ok_or_else(|| {
        let names = Family::ALL.map(Family::name).join(", ");
        Refusal::BadRule(format!("`{name}` is not a family of rules; use one of {names}"))
    })
}

/// Answers a question. Returns `None` if `should_stop` became true.
fn answer_question(
    question: &Question,
    data: &Arc<DataSet>,
    jobs: usize,
    complete: bool,
    should_stop: &AtomicBool,
) -> Result<Option<PanelAnswer>, Refusal> {
    let query = settled(&question.query, &**data, &question.now)?;
    match &question.subject {
        Subject::Rules(asked) => {
            let answer = replay(asked, &query, (data, jobs, complete), should_stop)?;
            Ok(answer.map(PanelAnswer::Rules))
        }
        Subject::Blocks(asked) => {
            let Some(mut report) = blocks(data, &query, asked, jobs, should_stop)? else {
                return Ok(None);
            };
            if let Some(report) = &mut report {
                report.clients.truncate(KEYS_MAX);
            }
            Ok(Some(PanelAnswer::Blocks(BlocksAnswer { report, complete })))
        }
    }
}

/// Replays rules. Returns `None` if `should_stop` became true.
fn replay(
    asked: &RulesQuestion,
    query: &Query,
    (data, jobs, complete): (&Arc<DataSet>, usize, bool),
    should_stop: &AtomicBool,
) -> Result<Option<RulesAnswer>, Refusal> {
    let RulesQuestion { rules, against, options, notes } = asked;
    let run = |against: &Rules| {
        let all: Vec<&dyn Rule> = rules.iter().chain(against).map(|rule| &**rule).collect();
        replay_rules(data, query, &all, options, jobs, should_stop)
    };
    // Both texts together over the same records, so that the comparison matches the answer.
    let answers = match run(against) {
        // The rules of the other text may need fields that the data lacks.
        Err(_) if !against.is_empty() => run(&Rules::new()),
        answers => answers,
    };
    let Some(mut answers) = answers.map_err(refusal_of)? else { return Ok(None) };
    let others = answers.split_off(rules.len());
    let comparison = (!others.is_empty()).then(|| compare_rules(&others, &answers));
    let rules = answers.into_iter().map(page_answer).collect();
    Ok(Some(RulesAnswer { rules, notes: notes.clone(), comparison, complete }))
}

/// Returns the part of an answer that a page shows.
fn page_answer(answered: weir_query::RuleAnswer) -> RuleAnswer {
    let weir_query::RuleAnswer { rule, curve, grid, collateral, unknown_records, .. } = answered;
    let mut answer = RuleAnswer { rule, curve, grid, collateral, unknown_records };
    answer.truncate(KEYS_MAX);
    answer
}

fn refusal_of(error: RuleQueryError) -> Refusal {
    match error {
        RuleQueryError::Query(error) => error.into(),
        error => Refusal::BadRule(error.to_string()),
    }
}
