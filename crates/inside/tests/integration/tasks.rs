//! Tests of the lists of tasks and threads.

use tokio::task::JoinSet;
use weir_observe::task::{TaskKind, TaskName};
use weir_view::{TaskState, Tasks, from_json};

use crate::serving::{Running, exchange, start};

pub(crate) async fn get(running: &Running, path: &str, fields: &str) -> (String, String) {
    let fields = format!("Host: localhost\r\n{fields}");
    let answer = exchange(running.address, &format!("GET {path}"), &fields).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    (head.to_owned(), body.to_owned())
}

pub(crate) async fn tasks(running: &Running, query: &str) -> Tasks {
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
    let answer = tasks(&running, "?find=admin&sort=kind&order=ascending").await;
    let kinds: Vec<&str> = answer.tasks.iter().map(|task| &task.kind[..]).collect();
    // Other tests also run tasks of these kinds.
    for kind in ["admin", "admin connection", "admin question"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
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
    assert!(head.starts_with("HTTP/1.1 403") && body.contains("another site"), "{head} {body}");
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

#[tokio::test]
async fn the_page_is_there_with_its_files() {
    let running = start(None).await;
    let (head, page) = get(&running, "/tasks", "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    for file in ["/admin/admin.js", "/admin/admin.css", "/assets/frame.css"] {
        assert!(page.contains(&format!("\"{file}\"")), "{page}");
        let (head, body) = get(&running, file, "").await;
        assert!(head.starts_with("HTTP/1.1 200") && !body.is_empty(), "{head}");
    }
}
