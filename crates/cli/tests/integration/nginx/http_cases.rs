//! The cases of `tests/http/cases.txt`, for Weir and for nginx. The answers are a table in
//! `docs/http-cases.md`, and each difference is judged. `BLESS=1` rewrites the table.

use std::fmt::Write as _;
use std::net::Shutdown;
use std::path::Path;

use super::Nginx;
use crate::http_cases::{Case, WeirServer};
use crate::support::Folder;

/// The locations of nginx: a page, a log that is accepted, and nothing else.
const LOCATIONS: &str = "location = / { limit_except GET { deny all; } return 200 x; }
    location = /a.log { client_max_body_size 0; return 201 x; }
    location / { return 404; }";

/// The number of requests of a case that a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// The request is refused, or the connection ends without an answer.
    Refused,
    /// The request is answered, and the next one not.
    AnsweredLast,
    /// The request is answered, and so is the one after it.
    Answered,
}

impl Verdict {
    fn of(answers: &str) -> Self {
        let (first, next) = answers.split_once(' ').unwrap_or((answers, ""));
        match (first, next) {
            ("closed", _) => Self::Refused,
            (refused, _) if refused.starts_with(['4', '5']) => Self::Refused,
            (_, next) if next.ends_with("404") => Self::Answered,
            _ => Self::AnsweredLast,
        }
    }
}

/// Compares the table with that of the document; writes it with `BLESS=1`.
fn check_table(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-cases.md");
    let document = std::fs::read_to_string(&path).expect("the document");
    let (head, old) = document.split_once("\n| case |").expect("a table");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{head}\n{table}")).expect("the document");
        return;
    }
    assert_eq!(table, format!("| case |{old}"), "BLESS=1 writes the table");
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn each_difference_from_nginx_is_judged() {
    let folder = Folder::new();
    let path = folder.path("nginx");
    std::fs::create_dir_all(&path).expect("a folder");
    let nginx = Nginx::new(&path, "access_log off;", LOCATIONS);
    let weir = WeirServer::start();
    let mut table =
        "| case | rule | Weir | nginx | judgement |\n|---|---|---|---|---|\n".to_owned();
    let mut wrong = Vec::new();
    for case in &Case::all() {
        let own = weir.ask(case);
        let other = case.ask(nginx.connect(), |stream| _ = stream.shutdown(Shutdown::Write));
        let (own_verdict, other_verdict) = (Verdict::of(&own), Verdict::of(&other));
        let judgement = match &case.judgement {
            Some(_) if own_verdict == other_verdict => {
                wrong.push(format!("{}: {own} is as {other}; it needs no judgement", case.name));
                ""
            }
            Some(judgement) => judgement,
            None if own_verdict > other_verdict => {
                wrong.push(format!("{}: {own} is laxer than {other}; mend or argue", case.name));
                ""
            }
            None if own_verdict < other_verdict => "stricter",
            None => "",
        };
        let Case { name, rule, .. } = case;
        let _ = writeln!(table, "| {name} | {rule} | {own} | {other} | {judgement} |");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    check_table(&table);
}
