//! The commands of docs/questions.md, whose answers a Python program computes from the lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use weir_testkit::fixtures;

use crate::python_jobs::PythonJobs;
use crate::support::{Folder, finish, text};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/questions.md");

/// The format of the log with durations.
const TIMED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time $upstream_cache_status"#;

const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
];

/// The questions, each with its command. What stands in brackets behind a question is for people.
fn questions(document: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut question = String::new();
    for line in document.lines() {
        match line.strip_prefix("    ") {
            Some(command) => found.push((question.clone(), command.to_owned())),
            None if line.contains('?') => {
                question = line.split(" (").next().unwrap_or(line).to_owned();
            }
            None => {}
        }
    }
    found
}

/// A log with durations and what a cache did.
fn timed_log() -> String {
    let line = |i: usize| {
        let (path, status) = (["api", "static/app.js", "search", "a/b"][i % 4], [200, 200, 200, 500, 404][i % 5]);
        let (source, cache) = (["mail", "news"][i % 2], ["HIT", "MISS", "-"][i % 3]);
        let (agent, second) = (AGENTS[i / 4 % 4], i * 5 % 3_600);
        format!(
            "192.0.2.{} - - [29/Nov/2026:10:{:02}:{:02} +0100] \"GET /{path}?utm_source={source} HTTP/1.1\" {status} \
             {} \"https://{source}.example/x\" \"{agent}\" {:.3} {cache}\n",
            i % 9,
            second / 60,
            second % 60,
            i * 37,
            (i * i % 977) as f64 / 1_000.0
        )
    };
    (0..600).map(line).collect()
}

fn logs() -> Folder {
    let folder = Folder::new();
    let read = |path: &Path| fs::read(path).expect("a log");
    let access = [read(&fixtures::elastic_first_2000()), read(&fixtures::hackers_first_1000())];
    folder.file("access.log", &access.concat());
    folder.file("timed.log", timed_log().as_bytes());
    folder.file("one.log", &access[0]);
    folder.file("other.log", &access[1]);
    folder.file("ranges.csv", b"46.0.0.0,66.249.72.255,AA\n66.249.73.0,66.249.73.255,BB\n83.0.0.0,207.255.255.255,CC\n");
    folder
}

#[test]
fn each_question_of_the_first_day_takes_one_command() {
    let folder = logs();
    let document = fs::read_to_string(DOCUMENT).expect("a document");
    let binary = Path::new(env!("CARGO_BIN_EXE_weir")).parent().expect("a folder");
    let path = format!("{}:{}", text(binary), std::env::var("PATH").unwrap_or_default());
    let mut jobs = PythonJobs::new("questions.py", "PYTHON");
    let mut asked = 0;
    for (question, command) in questions(&document) {
        asked += 1;
        if command.starts_with("weir watch") {
            continue;
        }
        let form = match command.trim_start_matches("tail -n 1000 access.log | ") {
            it if it.starts_with("weir count --where") || it.starts_with("weir grep") => "",
            it if it.starts_with("weir count") => " --csv",
            _ => " --json",
        };
        let format = if command.ends_with("timed.log") { format!(" --format '{TIMED}'") } else { String::new() };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{command}{form}{format}")]);
        shell.current_dir(folder.path("")).env("PATH", &path).env("TZ", "UTC").env("WEIR_CONFIG", "");
        let run = finish(&mut shell);
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
        let job = json!({"question": question, "folder": text(&folder.path("")), "output": run.stdout});
        jobs.push(command, job);
    }
    assert_eq!(asked, 28);
    for (command, result) in jobs.run() {
        assert_eq!(result["differences"], json!([]), "{command}");
    }
}
