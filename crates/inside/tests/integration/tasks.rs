//! The tasks and threads of the program.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use weir_observe::task::{TaskKind, TaskName};
use weir_observe::thread::observe_thread;
use weir_view::{TaskState, Tasks, Thread, from_json};

use crate::serving::{PATIENCE, Running, exchange, start};

async fn get(running: &Running, path: &str, fields: &str) -> (String, String) {
    let fields = format!("Host: localhost\r\n{fields}");
    let answer = exchange(running.address, &format!("GET {path}"), &fields).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    (head.to_owned(), body.to_owned())
}

async fn tasks(running: &Running, query: &str) -> Tasks {
    let (head, body) = get(running, &format!("/tasks.json{query}"), "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
    from_json(&body).expect("tasks")
}

#[tokio::test]
async fn tasks_are_listed_in_the_order_that_is_asked_for() {
    static KIND: TaskKind = TaskKind::new("ordered");
    let running = start(None).await;
    let mut set = JoinSet::new();
    for (name, polls) in [("b", 1), ("<i>a\u{1b}", 3), ("c", 2)] {
        set.spawn(KIND.observe(name, async move {
            for _ in 0..polls {
                tokio::task::yield_now().await;
            }
            std::future::pending::<()>().await;
        }));
    }
    // This runtime has one thread: each time the others run first.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    for (query, expected) in [
        ("?find=ordered&sort=name&order=ascending", ["<i>a\u{1b}", "b", "c"].as_slice()),
        ("?find=ORDERED&sort=name", ["c", "b", "<i>a\u{1b}"].as_slice()),
        ("?find=ordered&sort=polls", ["<i>a\u{1b}", "c", "b"].as_slice()),
        ("?find=ordered&sort=polls&limit=1", ["<i>a\u{1b}"].as_slice()),
        ("?find=%3Ci%3E", ["<i>a\u{1b}"].as_slice()),
        ("?find=nothing-has-this", [].as_slice()),
    ] {
        let answer = tasks(&running, query).await;
        let names: Vec<&str> = answer.tasks.iter().map(|task| &task.name[..]).collect();
        assert_eq!(names, expected, "{query}");
        let left_out = if query.contains("limit") { 2 } else { 0 };
        assert_eq!(answer.tasks_left_out, left_out, "{query}");
        let kind = answer.kinds.iter().find(|kind| kind.kind == "ordered").expect("the kind");
        assert_eq!((kind.tasks, kind.begun, kind.work.polls), (3, 3, 9), "{query}");
    }
    let answer = tasks(&running, "?find=ordered").await;
    assert!(answer.tasks[0].place.starts_with(file!()), "{answer:?}");
    assert!(answer.tasks.iter().all(|task| task.state == TaskState::Idle), "{answer:?}");
}

#[tokio::test]
async fn questions_that_are_not_valid_are_refused() {
    let running = start(None).await;
    for (query, reason) in [
        ("?sort=size", "sort=size: write one of busy"),
        ("?limit=100000", "limit=100000: write a number from 0 to 1000"),
    ] {
        let (head, body) = get(&running, &format!("/tasks.json{query}"), "").await;
        assert!(head.starts_with("HTTP/1.1 400") && body.contains(reason), "{head} {body}");
    }
    let fields = "Sec-Fetch-Site: cross-site\r\n";
    let (head, body) = get(&running, "/tasks.json", fields).await;
    assert!(head.starts_with("HTTP/1.1 400") && body.contains("another site"), "{head} {body}");
}

#[tokio::test]
async fn the_list_of_a_hundred_thousand_tasks_is_short() {
    static KIND: TaskKind = TaskKind::new("crowd");
    const TASKS: usize = 100_000;
    let running = start(None).await;
    let mut set = JoinSet::new();
    for _ in 0..TASKS {
        set.spawn(KIND.observe(TaskName::Unnamed, std::future::pending::<()>()));
    }
    let (_, body) = get(&running, "/tasks.json?find=crowd", "").await;
    assert!(body.len() < 200_000, "{} bytes", body.len());
    let answer: Tasks = from_json(&body).expect("tasks");
    assert_eq!((answer.tasks.len(), answer.tasks_left_out), (200, TASKS as u64 - 200));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn busy_time_agrees_with_the_system() {
    const SPAN: Duration = Duration::from_secs(1);
    let running = start(None).await;
    let busy_ns = Arc::new(AtomicU64::new(0));
    let counted = busy_ns.clone();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let work = move || {
        let busy = move || Duration::from_nanos(busy_ns.load(Ordering::Relaxed));
        let _listed = observe_thread(busy);
        let begun = Instant::now();
        // It works for two thirds of the time, in short pieces.
        while begun.elapsed() < 10 * SPAN && !over.load(Ordering::Relaxed) {
            let piece = Instant::now();
            while piece.elapsed() < Duration::from_millis(10) {
                black_box(0);
            }
            counted.fetch_add(piece.elapsed().as_nanos() as u64, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let thread = std::thread::Builder::new().name("works (a bit)".to_owned()).spawn(work);
    let thread = thread.expect("a thread");
    let worker = |answer: Tasks| answer.threads.into_iter().find(|it| it.name == "works (a bit)");
    let begun = Instant::now();
    let mut compared = 0;
    // Rates are of the time between two looks.
    while begun.elapsed() < 9 * SPAN && compared < 2 {
        tokio::time::sleep(SPAN).await;
        let Some(Thread { rates: Some(rates), .. }) = worker(tasks(&running, "").await) else {
            continue;
        };
        let (busy, ran, waited) = (rates.busy, rates.running, rates.waiting);
        let (Some(busy), Some(ran), Some(waited)) = (busy, ran, waited) else {
            panic!("this kernel does not count waits: {rates:?}");
        };
        // While others have the processor, it waits in the midst of its work, which it cannot know. A wait
        // after a sleep is none of its work, so on a machine with other work the system's sum may be more.
        let most = ran + waited;
        let error = 0.05 * most + 0.02;
        assert!(busy <= most + error && busy >= ran - error, "{rates:?}");
        assert!(busy > 0.0, "{rates:?}");
        compared += 1;
    }
    is_over.store(true, Ordering::Relaxed);
    tokio::time::timeout(PATIENCE, tokio::task::spawn_blocking(|| thread.join()))
        .await
        .expect("in time")
        .expect("joined")
        .expect("no panic");
    assert!(compared > 0);
}

#[tokio::test]
async fn the_page_is_there_with_its_files() {
    let running = start(None).await;
    let (head, page) = get(&running, "/tasks", "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    for file in ["/tasks.js", "/tasks.css", "/inside.css"] {
        assert!(page.contains(&format!("\"{file}\"")), "{page}");
        let (head, body) = get(&running, file, "").await;
        assert!(head.starts_with("HTTP/1.1 200") && !body.is_empty(), "{head}");
    }
}
