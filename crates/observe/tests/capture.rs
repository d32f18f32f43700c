//! Tests of captures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_observe::capture::{Capture, CaptureOutcome, Captures, OpenCapture, is_any_armed};

const PATIENCE: Duration = Duration::from_secs(60);

fn captures() -> Arc<Captures<u16>> {
    Arc::default()
}

fn found(outcome: CaptureOutcome) -> Capture {
    match outcome {
        CaptureOutcome::Found(capture) => *capture,
        CaptureOutcome::Nothing { ended, .. } => panic!("nothing of {ended}"),
    }
}

fn begin(captures: &Captures<u16>, name: &str) -> Option<OpenCapture> {
    captures.open(|| name.to_owned())
}

fn end(captures: &Captures<u16>, open: OpenCapture, status: u16) {
    captures.end(open, &|wanted| *wanted == status);
}

#[tokio::test]
async fn the_first_that_meets_the_condition_is_handed_over_when_all_have_let_go() {
    let captures = captures();
    assert!(begin(&captures, "a").is_none() && !captures.is_armed());
    let pending = captures.arm(Some(500)).expect("room");
    assert!(captures.is_armed() && is_any_armed());
    let other = begin(&captures, "other").expect("armed");
    end(&captures, other, 200);
    let before = Instant::now();
    let open = begin(&captures, "GET /b").expect("armed");
    let later = open.clone();
    open.lap("first", "one");
    open.step("before", before - Duration::from_millis(5)..before, "");
    end(&captures, open, 500);
    assert!(!captures.is_armed(), "it has what it waits for");
    later.step("last", before..before + Duration::from_nanos(7), 42);
    drop(later);
    let capture = found(pending.wait(PATIENCE).await);
    assert_eq!((&*capture.name, capture.has_ended), ("GET /b", true));
    let names: Vec<&str> = capture.steps.iter().map(|step| step.name).collect();
    assert_eq!(names, ["first", "before", "last"]);
    assert!(capture.steps[1].begun_ns < 0 && capture.steps[1].duration_ns == 5_000_000);
    assert_eq!((capture.steps[2].bytes, capture.steps[2].duration_ns), (Some(42), 7));
    assert_eq!(capture.totals.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_a_condition_what_has_not_ended_is_shown() {
    let captures = captures();
    let pending = captures.arm(None).expect("room");
    let open = begin(&captures, "hangs").expect("armed");
    let second = begin(&captures, "hangs too").expect("armed");
    open.lap("connect", "");
    let capture = found(pending.wait(Duration::from_secs(1)).await);
    assert_eq!((&*capture.name, capture.has_ended), ("hangs", false));
    assert_eq!(capture.steps.len(), 1);
    assert!(!captures.is_armed());
    drop((open, second));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_with_what_passed() {
    let captures = captures();
    let pending = captures.arm(Some(1)).expect("room");
    for _ in 0..3 {
        let open = begin(&captures, "a").expect("armed");
        end(&captures, open, 2);
    }
    let held: Vec<OpenCapture> =
        (0..200).filter_map(|number| begin(&captures, &number.to_string())).collect();
    assert!(held.len() < 200, "bounded");
    let outcome = pending.wait(Duration::from_secs(1)).await;
    let CaptureOutcome::Nothing { ended, unseen } = outcome else { panic!("{outcome:?}") };
    assert_eq!((ended, unseen as usize), (3, 200 - held.len()));
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_is_followed_for_one_wait_and_then_forgotten() {
    let captures = captures();
    let mut open = None;
    let mut follow = || {
        captures.follow(&mut open, || "long".to_owned());
        open.clone()
    };
    assert!(follow().is_none(), "nobody waits");
    for parts in [3, 1] {
        let pending = captures.arm(None).expect("room");
        for _ in 0..parts {
            follow().expect("armed").lap("part", "");
        }
        let capture = found(pending.wait(Duration::from_secs(1)).await);
        assert_eq!((capture.steps.len(), capture.has_ended), (parts, false));
    }
    assert!(follow().is_none(), "nobody waits any more");
}

#[tokio::test]
async fn those_who_wait_are_few_and_may_go() {
    let captures = captures();
    let mut waiting: Vec<_> = std::iter::from_fn(|| captures.arm(None).ok()).take(100).collect();
    assert!(waiting.len() < 100, "bounded");
    assert!(captures.arm(None).is_err());
    drop(waiting.pop());
    let again = captures.arm(None).expect("one has gone");
    drop((waiting, again));
    assert!(!captures.is_armed() && begin(&captures, "a").is_none());
}

#[tokio::test]
async fn long_texts_are_cut() {
    let captures = captures();
    let pending = captures.arm(None).expect("room");
    let open = begin(&captures, &"n".repeat(5_000)).expect("armed");
    for _ in 0..100 {
        open.text("head", &"ä".repeat(100_000));
    }
    open.lap("step", "ö".repeat(5_000));
    end(&captures, open, 0);
    let capture = found(pending.wait(PATIENCE).await);
    assert!(capture.name.len() < 1_100 && capture.steps[0].detail.len() < 1_100);
    assert!(capture.texts.len() <= 16);
    assert!(capture.texts.iter().all(|(_, text)| text.len() < 33_000 && text.ends_with('…')));
}
