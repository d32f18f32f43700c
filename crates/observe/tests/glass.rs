//! Tests of captures and their observations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_observe::glass::{Captures, Journal, Observation, Sight, is_any_armed};

const PATIENCE: Duration = Duration::from_secs(20);

fn captures() -> Arc<Captures<u16>> {
    Arc::default()
}

fn found(sight: Sight) -> Observation {
    match sight {
        Sight::Found(observation) => *observation,
        Sight::Nothing { ended, .. } => panic!("nothing of {ended}"),
    }
}

fn begin(captures: &Captures<u16>, name: &str) -> Option<Journal> {
    captures.journal(|| name.to_owned())
}

fn end(captures: &Captures<u16>, journal: Journal, status: u16) {
    captures.end(journal, &|wanted| *wanted == status);
}

#[tokio::test]
async fn the_first_that_meets_the_condition_is_handed_over_when_all_have_let_go() {
    let captures = captures();
    assert!(begin(&captures, "a").is_none() && !captures.is_armed());
    let capture = captures.arm(Some(500)).expect("room");
    assert!(captures.is_armed() && is_any_armed());
    let other = begin(&captures, "other").expect("armed");
    end(&captures, other, 200);
    let before = Instant::now();
    let journal = begin(&captures, "GET /b").expect("armed");
    let later = journal.clone();
    journal.lap("first", "one");
    journal.step("before", (before - Duration::from_millis(5), before), "");
    end(&captures, journal, 500);
    assert!(!captures.is_armed(), "it has what it waits for");
    later.part("last", (before, before + Duration::from_nanos(7)), 42, "");
    drop(later);
    let observation = found(capture.wait(PATIENCE).await);
    assert_eq!((&*observation.name, observation.has_ended), ("GET /b", true));
    let names: Vec<&str> = observation.steps.iter().map(|step| step.name).collect();
    assert_eq!(names, ["first", "before", "last"]);
    assert!(observation.steps[1].begun_ns < 0 && observation.steps[1].duration_ns == 5_000_000);
    assert_eq!((observation.steps[2].bytes, observation.steps[2].duration_ns), (Some(42), 7));
    assert_eq!(observation.totals.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_a_condition_what_has_not_ended_is_shown() {
    let captures = captures();
    let capture = captures.arm(None).expect("room");
    let journal = begin(&captures, "hangs").expect("armed");
    let second = begin(&captures, "hangs too").expect("armed");
    journal.lap("connect", "");
    let observation = found(capture.wait(Duration::from_secs(1)).await);
    assert_eq!((&*observation.name, observation.has_ended), ("hangs", false));
    assert_eq!(observation.steps.len(), 1);
    assert!(!captures.is_armed());
    drop((journal, second));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_with_what_passed() {
    let captures = captures();
    let capture = captures.arm(Some(1)).expect("room");
    for _ in 0..3 {
        let journal = begin(&captures, "a").expect("armed");
        end(&captures, journal, 2);
    }
    let held: Vec<Journal> =
        (0..200).filter_map(|number| begin(&captures, &number.to_string())).collect();
    assert!(held.len() < 200, "bounded");
    let sight = capture.wait(Duration::from_secs(1)).await;
    let Sight::Nothing { ended, unseen } = sight else { panic!("{sight:?}") };
    assert_eq!((ended, unseen as usize), (3, 200 - held.len()));
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_is_followed_for_one_wait_and_then_forgotten() {
    let captures = captures();
    let mut journal = None;
    let mut follow = || {
        captures.follow(&mut journal, || "long".to_owned());
        journal.clone()
    };
    assert!(follow().is_none(), "nobody waits");
    for parts in [3, 1] {
        let capture = captures.arm(None).expect("room");
        for _ in 0..parts {
            follow().expect("armed").lap("part", "");
        }
        let observation = found(capture.wait(Duration::from_secs(1)).await);
        assert_eq!((observation.steps.len(), observation.has_ended), (parts, false));
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
    let capture = captures.arm(None).expect("room");
    let journal = begin(&captures, &"n".repeat(5_000)).expect("armed");
    for _ in 0..100 {
        journal.text("head", &"ä".repeat(100_000));
    }
    journal.lap("step", "ö".repeat(5_000));
    end(&captures, journal, 0);
    let observation = found(capture.wait(PATIENCE).await);
    assert!(observation.name.len() < 1_100 && observation.steps[0].detail.len() < 1_100);
    assert!(observation.texts.len() <= 16);
    assert!(observation.texts.iter().all(|(_, text)| text.len() < 33_000 && text.ends_with('…')));
}
