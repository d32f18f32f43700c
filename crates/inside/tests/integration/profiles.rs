//! Tests of profiles and their page.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::timeout;
use weir_observe::call::CallSite;

use crate::serving::{ONE_AT_A_TIME, PATIENCE, Running, exchange, start};

async fn get(running: &Running, path: &str) -> (String, String) {
    let answer = exchange(running.address, &format!("GET {path}"), "Host: localhost\r\n").await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    (head.to_owned(), body.to_owned())
}

fn status(head: &str) -> &str {
    head.split(' ').nth(1).expect("a status line")
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_profile_names_the_thread_that_computes() {
    let _turn = ONE_AT_A_TIME.lock().await;
    let running = start(None).await;
    let (head, body) = get(&running, "/profile/folded?last").await;
    assert_eq!((status(&head), &body[..]), ("404", "no profile has been taken yet\n"));

    let ends = Arc::new(AtomicBool::new(false));
    let ended = ends.clone();
    let compute = move || {
        let mut sum = 0_u64;
        while !ended.load(Ordering::Relaxed) {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
    };
    let thread = std::thread::Builder::new().name("computes".to_owned()).spawn(compute);
    // One of the two starts first, so each repeats its request until it gets the response that it
    // tests.
    let taken = async {
        loop {
            let (head, folded) = get(&running, "/profile/folded?seconds=2&hz=499").await;
            if status(&head) != "409" {
                break (head, folded);
            }
        }
    };
    let refused = async {
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let (other, why) = get(&running, "/profile/folded?seconds=1").await;
            if status(&other) == "409" {
                break why;
            }
        }
    };
    let both = async { tokio::join!(taken, refused) };
    let ((mut head, mut folded), why) = timeout(PATIENCE, both).await.expect("in time");
    assert!(why.starts_with("another profile is being taken"), "{why}");
    // On a busy machine the thread may hardly run in the time of one profile.
    let mut retries = 3;
    while status(&head) == "200" && !is_of_computes(&folded) && retries > 0 {
        retries -= 1;
        (head, folded) = get(&running, "/profile/folded?seconds=2&hz=499").await;
    }
    ends.store(true, Ordering::Relaxed);
    thread.expect("a thread").join().expect("no panic");
    assert_eq!(status(&head), "200", "{head}");
    assert!(is_of_computes(&folded), "{folded}");
    let time = head.lines().find_map(|line| line.strip_prefix("profile-total: "));
    let time: u64 = time.and_then(|time| time.parse().ok()).expect("a time");
    assert!(time > 0, "{head}");

    let (head, again) = get(&running, "/profile/folded?last").await;
    assert_eq!((status(&head), &again), ("200", &folded));
    let id = head.lines().find_map(|line| line.strip_prefix("profile-id: "));
    let id = id.expect("a number").to_owned();
    let (head, waiting) = get(&running, "/profile/folded?kind=waiting&seconds=1").await;
    assert_eq!(status(&head), "200", "{head}");
    // The previous profile can still be requested by its number.
    let (head, again) = get(&running, &format!("/profile/folded?id={id}")).await;
    assert_eq!((status(&head), again), ("200", folded));
    let (head, why) = get(&running, "/profile/pprof?id=1").await;
    assert_eq!(status(&head), "404", "{head}");
    assert!(why.starts_with("this profile is not stored any more"), "{why}");
    // The threads of the runtime wait for work.
    assert!(waiting.contains("epoll_wait"), "{waiting}");
    // A thread that does not run within 200 ms has no functions.
    let begun = Instant::now();
    loop {
        let (head, stacks) = get(&running, "/threads/stacks.json").await;
        assert_eq!(status(&head), "200", "{head}");
        let stacks: Value = serde_json::from_str(&stacks).expect("JSON");
        let threads = stacks["threads"].as_array().expect("a list");
        let answered = |it: &&Value| it["functions"].as_array().is_some_and(|it| !it.is_empty());
        if threads.iter().filter(answered).count() >= 2 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{stacks}");
    }
}

/// Whether a profile has samples, and a good part of them are of the thread `computes`.
#[cfg(unix)]
fn is_of_computes(folded: &str) -> bool {
    let samples = |line: &str| -> u64 {
        line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let all: u64 = folded.lines().map(samples).sum();
    let computes = folded.lines().filter(|line| line.starts_with("computes;"));
    all > 10 && computes.map(samples).sum::<u64>() * 4 >= all
}

#[tokio::test]
async fn calls_of_marked_functions_are_counted() {
    static SITE: CallSite = CallSite::new("a marked function");
    let _turn = ONE_AT_A_TIME.lock().await;
    let running = start(None).await;
    let called = async {
        loop {
            drop(SITE.enter());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let asked = get(&running, "/profile/calls.json?seconds=1");
    let (head, body) = tokio::select! {
        answer = asked => answer,
        () = called => unreachable!("it does not end"),
    };
    assert_eq!(status(&head), "200", "{head}");
    let calls: Value = serde_json::from_str(&body).expect("JSON");
    let row = calls["calls"].as_array().expect("a list").iter();
    let row = row.clone().find(|it| it["name"] == "a marked function").expect("its row");
    assert!(row["calls"].as_u64() >= Some(1) && row["caller"].is_null(), "{body}");
    assert!(calls["seconds"].as_f64() >= Some(1.0), "{body}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_sentence() {
    let running = start(None).await;
    for (path, sentence) in [
        ("/profile/folded?seconds=3600", "seconds=3600: write a number from 1 to 60\n"),
        ("/profile/folded?by=name", "by=name: write thread or stage\n"),
        ("/profile/pprof?hz=0", "hz=0: write a number from 1 to 999\n"),
        ("/profile/pprof?kind=heap", "kind=heap: write processor, waiting, allocated or held\n"),
        (
            "/debug/pprof/profile?second=1",
            "unknown parameter `second`; use seconds, hz, kind, by, last or id\n",
        ),
    ] {
        let (head, body) = get(&running, path).await;
        assert_eq!((status(&head), &body[..]), ("400", sentence), "{path}");
    }
}

#[tokio::test]
async fn pages_of_other_sites_take_no_profiles() {
    let running = start(None).await;
    for (line, site, expected) in [
        ("GET /profile/folded?last", "cross-site", "403"),
        ("GET /profile/folded?last", "same-site", "403"),
        ("GET /profile/folded?second=1", "none", "400"),
        ("HEAD /profile/folded", "none", "405"),
    ] {
        let fields = format!("Host: localhost\r\nSec-Fetch-Site: {site}\r\n");
        let answer = exchange(running.address, line, &fields).await;
        assert_eq!(status(&answer), expected, "{line} {site}");
        assert_eq!(
            answer.contains("another site"),
            site.ends_with("-site"),
            "{line} {site}: {answer}"
        );
    }
}

#[tokio::test]
async fn the_page_is_there_with_its_files() {
    let running = start(None).await;
    let (head, page) = get(&running, "/profile").await;
    assert_eq!(status(&head), "200");
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    for (file, content_type) in [
        ("/admin/admin.js", "text/javascript"),
        ("/assets/frame.js", "text/javascript"),
        ("/admin/admin.css", "text/css"),
        ("/assets/frame.css", "text/css"),
    ] {
        assert!(page.contains(&format!("\"{file}\"")), "{page}");
        let (head, body) = get(&running, file).await;
        assert_eq!(status(&head), "200");
        assert!(head.contains(&format!("content-type: {content_type}")), "{head}");
        assert!(!body.is_empty());
    }
}
