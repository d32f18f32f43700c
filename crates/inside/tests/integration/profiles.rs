//! Profiles, and the page that takes them.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::serving::{Running, exchange, start};

async fn get(running: &Running, path: &str) -> (String, String) {
    let answer = exchange(running.address, &format!("GET {path}"), "Host: localhost\r\n").await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    (head.to_owned(), body.to_owned())
}

fn status(head: &str) -> &str {
    head.split(' ').nth(1).expect("a status line")
}

/// One test, because a process has one profile at a time.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_profile_names_the_thread_that_computes() {
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
    let path = "/profile/folded?seconds=2&hz=499";
    let ((head, folded), (other, why)) = tokio::join!(get(&running, path), async {
        // It is under way when a third one is refused; whichever comes first, one of the two is.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        get(&running, "/profile/folded?seconds=1").await
    });
    ends.store(true, Ordering::Relaxed);
    thread.expect("a thread").join().expect("no panic");
    assert_eq!(status(&head), "200", "{head}");
    assert_eq!(status(&other), "409", "{other}");
    assert!(why.starts_with("another profile is being taken"), "{why}");
    let samples = |line: &str| -> u64 {
        line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let all: u64 = folded.lines().map(samples).sum();
    let computes: u64 =
        folded.lines().filter(|line| line.starts_with("computes;")).map(samples).sum();
    assert!(all > 10 && computes * 10 >= all * 5, "{computes} of {all}: {folded}");
    let time = head.lines().find_map(|line| line.strip_prefix("processor-time-ms: "));
    let time: u64 = time.and_then(|time| time.parse().ok()).expect("a time");
    assert!(time > 0, "{head}");

    let (head, again) = get(&running, "/profile/folded?last").await;
    assert_eq!((status(&head), again), ("200", folded));
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_sentence() {
    let running = start(None).await;
    for (path, sentence) in [
        ("/profile/folded?seconds=3600", "seconds=3600: write a number from 1 to 60\n"),
        ("/profile/pprof?hz=0", "hz=0: write a number from 1 to 999\n"),
        ("/debug/pprof/profile?second=1", "`second` is none of seconds, hz and last\n"),
    ] {
        let (head, body) = get(&running, path).await;
        assert_eq!((status(&head), &body[..]), ("400", sentence), "{path}");
    }
}

#[tokio::test]
async fn the_page_is_there_with_its_files() {
    let running = start(None).await;
    let (head, page) = get(&running, "/profile").await;
    assert_eq!(status(&head), "200");
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    for (file, content_type) in [
        ("/profile.js", "text/javascript"),
        ("/profile.css", "text/css"),
        ("/inside.css", "text/css"),
    ] {
        assert!(page.contains(&format!("\"{file}\"")), "{page}");
        let (head, body) = get(&running, file).await;
        assert_eq!(status(&head), "200");
        assert!(head.contains(&format!("content-type: {content_type}")), "{head}");
        assert!(!body.is_empty());
    }
}
