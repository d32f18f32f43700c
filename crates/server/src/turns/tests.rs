use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use weir_core::PatternAccount;

use super::{
    CancelOnDrop, Effort, LONG_ANSWERS_MAX, SESSION_LONG_ANSWERS_MAX, SESSION_SHORT_ANSWERS_MAX,
    SHORT_ANSWERS_MAX, SHORT_TURN, ServerTurns, SessionTurns,
};
use crate::refusal::Refusal;

const TIME_MAX: Duration = Duration::from_secs(20);

fn server_turns() -> ServerTurns {
    ServerTurns::new(Arc::new(PatternAccount::new(usize::MAX)))
}

/// Returns work that runs until it is stopped, and counts its starts.
fn endless(begun: &Arc<AtomicUsize>) -> impl Fn(&AtomicBool) -> Option<()> + use<> {
    let begun = begun.clone();
    move |should_stop| {
        begun.fetch_add(1, Ordering::SeqCst);
        while !should_stop.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        None
    }
}

async fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_at_once_are_limited_also_when_their_clients_go() {
    let server = server_turns();
    let sessions: Vec<_> =
        (0..4).map(|_| Arc::new(SessionTurns::new(&server, 0, TIME_MAX))).collect();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for number in 0..200 {
        let session = sessions[number % sessions.len()].clone();
        let (running, most) = (running.clone(), most.clone());
        let effort = if number % 5 == 0 { Effort::Long } else { Effort::Short };
        tasks.push(tokio::spawn(async move {
            let work = move |_: &AtomicBool| {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                std::thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                Some(())
            };
            let _ = session.answer(effort, &Arc::default(), work).await;
        }));
        if number % 3 == 0 {
            tasks.last().expect("a task").abort();
        }
    }
    for task in tasks {
        let _ = task.await;
    }
    let answers_max = SHORT_ANSWERS_MAX + LONG_ANSWERS_MAX;
    assert!((1..=answers_max).contains(&most.load(Ordering::SeqCst)));
    for (turns, max) in [
        (&server.short, SHORT_ANSWERS_MAX),
        (&server.long, LONG_ANSWERS_MAX),
        (&sessions[0].short.session, SESSION_SHORT_ANSWERS_MAX),
        (&sessions[0].long.session, SESSION_LONG_ANSWERS_MAX),
    ] {
        let free = turns.clone().acquire_many_owned(max as u32).await;
        assert!(free.is_ok(), "all turns are returned");
    }
}

/// Compiling an expression can take a second.
#[tokio::test]
async fn questions_are_checked_and_answered_apart_from_connections() {
    let turns = SessionTurns::new(&server_turns(), 0, TIME_MAX);
    let own = std::thread::current().id();
    for effort in [Effort::Short, Effort::Long] {
        let checked_on = turns.check(effort, || std::thread::current().id()).await;
        assert_ne!(checked_on, Ok(own));
        let work = |_: &AtomicBool| Some(std::thread::current().id());
        assert_ne!(turns.answer(effort, &Arc::default(), work).await, Ok(Some(own)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_does_not_wait_for_views() {
    let turns = Arc::new(SessionTurns::new(&server_turns(), 0, TIME_MAX));
    let mut views = Vec::new();
    for _ in 0..50 {
        let turns = turns.clone();
        views.push(tokio::spawn(async move {
            // As long as a short turn, so that they are over soon if it does wait.
            let work = |_: &AtomicBool| {
                std::thread::sleep(SHORT_TURN / 2);
                Some(())
            };
            turns.answer(Effort::Short, &Arc::default(), work).await
        }));
    }
    let work = |_: &AtomicBool| Some(7);
    assert_eq!(turns.answer(Effort::Report, &Arc::default(), work).await, Ok(Some(7)));
    assert!(views.iter().filter(|view| !view.is_finished()).count() > 25);
    views.into_iter().for_each(|view| view.abort());
}

/// On a busy machine a report takes longer than a short turn, beside views that do too.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_report_does_not_wait_for_long_views() {
    let turns = Arc::new(SessionTurns::new(&server_turns(), 0, TIME_MAX));
    let begun = Arc::new(AtomicUsize::new(0));
    let guard = CancelOnDrop::default();
    let (views, cancellation, work) = (turns.clone(), guard.cancellation(), endless(&begun));
    let view = tokio::spawn(async move { views.answer(Effort::Long, &cancellation, work).await });
    wait_until(|| begun.load(Ordering::SeqCst) == 1).await;
    let report = |should_stop: &AtomicBool| {
        std::thread::sleep(SHORT_TURN * 2);
        (!should_stop.load(Ordering::Relaxed)).then_some(7)
    };
    let (cancellation, waited) = (Arc::default(), TIME_MAX / 2);
    let answer = turns.answer(Effort::Report, &cancellation, report);
    assert_eq!(tokio::time::timeout(waited, answer).await, Ok(Ok(Some(7))));
    assert!(!view.is_finished(), "the view has the only long turn of its session");
    drop(guard);
    assert_eq!(view.await.expect("no panic"), Ok(None), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_too_long_is_refused_and_ended() {
    let turns = SessionTurns::new(&server_turns(), 0, TIME_MAX);
    for effort in [Effort::Short, Effort::Long] {
        let begun = Arc::new(AtomicUsize::new(0));
        let advance = async {
            wait_until(|| begun.load(Ordering::SeqCst) > 0).await;
            tokio::time::advance(TIME_MAX).await;
            std::future::pending::<()>().await;
        };
        let cancellation = Arc::default();
        let answer = turns.answer(effort, &cancellation, endless(&begun));
        let refused = tokio::select! { answer = answer => answer, () = advance => Ok(None) };
        assert_eq!(refused, Err(Refusal::TooSlow(TIME_MAX.as_secs())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn short_answers_do_not_wait_for_long_ones() {
    let turns = Arc::new(SessionTurns::new(&server_turns(), 0, TIME_MAX));
    let mut long = Vec::new();
    let begun = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let (turns, work) = (turns.clone(), endless(&begun));
        let guard = CancelOnDrop::default();
        let cancellation = guard.cancellation();
        let answer = async move { turns.answer(Effort::Short, &cancellation, work).await };
        long.push((guard, tokio::spawn(answer)));
    }
    // The first continues in its long turn, the others wait to start again.
    wait_until(|| begun.load(Ordering::SeqCst) == 10).await;
    let work = |_: &AtomicBool| Some(7);
    assert_eq!(turns.answer(Effort::Short, &Arc::default(), work).await, Ok(Some(7)));
    for (guard, task) in long {
        drop(guard);
        assert_eq!(task.await.expect("no panic"), Ok(None), "cancelled");
    }
    assert_eq!(turns.answer(Effort::Long, &Arc::default(), work).await, Ok(Some(7)));
}
