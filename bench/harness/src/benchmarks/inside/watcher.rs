//! A client that watches a running program at its admin address.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::curl;
use weir_tools::shell::Outcome;

/// The paths that the pages and a collector of metrics request each second.
const PATHS: [&str; 3] = ["/route.json", "/tasks.json", "/metrics"];
const INTERVAL: Duration = Duration::from_secs(1);

/// How closely a program is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// The program has no `--admin`.
    None,
    /// All pages and a collector of metrics ask for their numbers each second.
    Pages,
    /// As [`Watch::Pages`], and a profile with 99 samples a second is taken.
    Profile,
}

impl Watch {
    pub(super) const ALL: [Self; 3] = [Self::None, Self::Pages, Self::Profile];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "without --admin",
            Self::Pages => "--admin, watched",
            Self::Profile => "--admin, a profile at 99 Hz",
        }
    }

    /// The options of a program that is watched; none if it is not.
    pub(super) fn options<'a>(self, options: &'a [&'a str]) -> &'a [&'a str] {
        if self == Self::None { &[] } else { options }
    }

    /// Watches the program at an admin address until the watcher is ended; a profile takes
    /// `seconds`.
    pub(super) fn begin(self, address: &str, seconds: u32) -> Watcher {
        let (end, ended) = channel();
        let urls = PATHS.map(|path| format!("http://{address}{path}"));
        let profile = format!("http://{address}/profile/pprof?hz=99&seconds={seconds}");
        let mut threads = Vec::new();
        if self != Self::None {
            threads.push(thread::spawn(move || {
                loop {
                    for url in &urls {
                        get(url)?;
                    }
                    if ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                        return Ok(());
                    }
                }
            }));
        }
        if self == Self::Profile {
            threads.push(thread::spawn(move || get(&profile)));
        }
        Watcher { end, threads }
    }
}

/// The requests to an admin address, made by threads.
#[derive(Debug)]
pub(super) struct Watcher {
    end: Sender<()>,
    threads: Vec<JoinHandle<Result<(), String>>>,
}

impl Watcher {
    /// Ends the watcher, and checks that all its requests were answered.
    pub(super) fn end(self) -> Outcome {
        drop(self.end);
        for thread in self.threads {
            thread.join().map_err(|_| "a watcher ended with a panic")??;
        }
        Ok(())
    }
}

/// The error as text, because errors of commands cannot be sent to another thread.
fn get(url: &str) -> Result<(), String> {
    curl::body(&[url]).map(drop).map_err(|error| error.to_string())
}
