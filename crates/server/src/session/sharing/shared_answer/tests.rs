use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use weir_ingest::{DataSet, FormatChoice, Retention, SourceEnd, TotalMemory};
use weir_net::HostGuard;
use weir_query::{Now, WrittenQuery};
use weir_view::{Clause, Operator, Query};

use super::{SharedAnswers, ViewMemory};
use crate::hub::Hub;
use crate::options::ServerOptions;
use crate::session::Lifetime;

const VIEWERS: usize = 40;

/// The texts that may be made beyond the limit of [`ViewMemory`](crate::session::ViewMemory).
const BEYOND_MAX: usize = 2;

/// Each asks for another view, and never sends it to the end.
#[tokio::test(flavor = "multi_thread")]
async fn views_of_many_that_do_not_read_stay_within_the_limit() {
    let options = ServerOptions { memory_bytes_max: 2 << 20, jobs: 1, ..Default::default() };
    let hub = Hub::new(options, HostGuard::loopback());
    let session = hub.create(Lifetime::Pinned).expect("a session").session;
    let data = session.data().expect("it is open");
    let mut source =
        session.pipeline().expect("it is open").source("a.log", None, FormatChoice::Detect);
    for number in 0..500 {
        let line = format!(
            "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET /{number} HTTP/1.1\" 200 17\n"
        );
        source.write_all(line.as_bytes()).expect("room for the lines");
    }
    source.finish(SourceEnd::Done).expect("room for the lines");
    // The limit follows the size of the data.
    while data.sources().iter().any(|source| source.end().is_none()) {
        tokio::task::yield_now().await;
    }
    let (sender, mut made) = tokio::sync::mpsc::channel(1);
    for number in 0..VIEWERS {
        let (session, data, sender) = (session.clone(), data.clone(), sender.clone());
        tokio::spawn(async move {
            let conditions = vec![format!("path!=/none{number}")];
            let group = Some("path".to_owned());
            let query = Query { conditions, group, top: 500, ..Query::default() };
            let query = WrittenQuery::parse(&query, Now::read()).expect("a query");
            let answer = session.answers().find(query, &data);
            let made = answer.view(&session, &data, None, None, &Arc::default()).await;
            let made = made.expect("it is valid").expect("it is not cancelled");
            sender.send(made).await.expect("it is awaited");
        });
    }
    let (memory, mut unread, mut count) = (session.view_memory(), VecDeque::new(), 0);
    // Its texts differ by a few bytes at most.
    let text_bytes_max = 100 + {
        let first = made.recv().await.expect("all of them are made");
        let bytes = first.tail().len();
        unread.push_back(first);
        bytes
    };
    let bytes_max = memory.bytes_max().max(text_bytes_max) + BEYOND_MAX * text_bytes_max;
    assert!(bytes_max < VIEWERS / 2 * text_bytes_max, "{bytes_max} of {text_bytes_max}");
    while count < VIEWERS {
        tokio::select! {
            made = made.recv() => unread.extend(made),
            // A reader is cut off.
            () = tokio::time::sleep(Duration::from_millis(5)), if memory.is_crowded() => {
                count += usize::from(unread.pop_front().is_some());
            }
        }
        let text_bytes = memory.text_bytes();
        assert!(text_bytes <= bytes_max, "{text_bytes} of {bytes_max}");
        if !memory.is_crowded() && unread.len() + count == VIEWERS {
            break;
        }
    }
    assert!(count > VIEWERS / 2, "{count} readers were cut off");
    drop(unread);
    hub.end_all();
}

#[test]
fn equal_questions_share_an_answer_while_it_is_used() {
    let data = DataSet::new(Retention::Segments, 1 << 20, &[]);
    let answers = SharedAnswers::default();
    let written = |query: Query| WrittenQuery::parse(&query, Now::read()).expect("a query");
    let typed = |id: u64, text: &str| {
        written(Query { id, conditions: vec![text.to_owned()], ..Query::default() })
    };
    let (field, values) = ("status".to_owned(), vec!["404".to_owned()]);
    let clicked = vec![Clause { field, op: Operator::Equal, values }];
    let first = answers.find(typed(1, "status=404"), &data);
    let same = answers.find(typed(2, "status = \"404\""), &data);
    assert!(Arc::ptr_eq(&first, &same), "neither the id nor the spelling makes a difference");
    let same = answers.find(written(Query { clauses: clicked, ..Query::default() }), &data);
    assert!(Arc::ptr_eq(&first, &same), "a clause is another spelling");
    let other = answers.find(typed(1, "status=500"), &data);
    assert!(!Arc::ptr_eq(&first, &other));
    drop((first, same, other));
    answers.find(typed(3, "status=404"), &data);
    let left = answers.answers.lock();
    assert_eq!(left.len(), 1, "unused answers are freed");
}

#[test]
fn a_large_evaluator_is_kept_only_while_there_is_one_question() {
    let data = DataSet::new(Retention::Segments, 1 << 20, &[]);
    let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
    let answers = SharedAnswers::default();
    let find = |condition: &str| {
        let query = Query { conditions: vec![condition.to_owned()], ..Query::default() };
        answers.find(WrittenQuery::parse(&query, Now::read()).expect("a query"), &data)
    };
    let large = memory.bytes_max() + 1;
    let _first = find("status=404");
    assert!(answers.may_keep(large, &memory));
    let second = find("status=500");
    assert!(!answers.may_keep(large, &memory) && answers.may_keep(large - 1, &memory));
    drop(second);
    assert!(answers.may_keep(large, &memory));
}
