//! The four attacks of slowhttptest, with a bystander.

use std::process::{Command, Stdio};

use super::bystander::Bystander;
use super::server::Server;
use super::{Setting, Verdict, missing};
use crate::shell::{Outcome, execute};

/// The attacks: a name and the options that choose it.
const ATTACKS: [(&str, &[&str]); 4] = [
    ("slow headers", &["-H", "-i", "5"]),
    ("slow bodies", &["-B", "-i", "5", "-s", "8192"]),
    ("ranges", &["-R", "-t", "GET", "-a", "10", "-b", "3000"]),
    ("slow readers", &["-X", "-n", "5", "-z", "32", "-w", "10", "-y", "20", "-k", "3"]),
];

/// 1,000 connections, made within two seconds, for 20 s.
const COMMON: [&str; 6] = ["-c", "1000", "-r", "500", "-l", "20"];

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    if let Some(why) = missing("slowhttptest", "slowhttptest") {
        return Ok(Verdict::Skipped(why));
    }
    let server = Server::start(&setting.weir)?;
    let mut lines = Vec::new();
    for (name, options) in ATTACKS {
        let bystander = Bystander::start(&setting.weir, server.host())?;
        let url = format!("http://{}/", server.host());
        let mut attack = Command::new("slowhttptest");
        attack.args(options).args(COMMON).args(["-v", "0", "-u", &url]).stdout(Stdio::null());
        execute(&mut attack)?;
        let waits = bystander.end().map_err(|waits| format!("{name}: {waits}"))?;
        lines.push(format!("{name}: {waits}, peak {} MiB", server.peak_mib()?));
    }
    Ok(Verdict::Passed(lines))
}
