//! Programs with an admin address that are under full load.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{free_address, gateway};
use crate::benchmarks::gateway::client::{self, Requests};
use crate::benchmarks::gateway::proxies::Program;
use crate::benchmarks::memory::serve;
use crate::input;
use crate::settings::Settings;
use weir_tools::shell::{Outcome, command, output_of};

/// The size of a log that is sent again and again, each time into a session of its own.
const MEBIBYTES: u64 = 64;

/// A program that runs, and its load.
pub(super) struct Loaded {
    pub(super) name: &'static str,
    pub(super) process: u32,
    pub(super) admin: String,
    load: Load,
}

enum Load {
    Uploads { server: Child, address: String, log: String },
    Requests { program: Program, _backend: Program, token: String },
}

impl Loaded {
    /// Keeps the program busy until `ended` is set.
    pub(super) fn run(&self, ended: &AtomicBool) -> Result<(), String> {
        while !ended.load(Ordering::Relaxed) {
            let done = match &self.load {
                Load::Uploads { address, log, .. } => {
                    output_of(&mut command("curl", &["-sS", "--fail", "-T", log, address]))
                        .map(drop)
                }
                Load::Requests { program, token, .. } => {
                    client::closed(program, gateway::PATH, &Requests::OneToken(token), 1).map(drop)
                }
            };
            done.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if let Self::Uploads { server, .. } = self {
            // This fails if the process has already ended.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The server of the page, which is sent logs.
pub(super) fn parsers(settings: &Settings) -> Outcome<Loaded> {
    let log = input::as_text(&input::generated(settings, "combined", MEBIBYTES)?)?.path;
    let admin = free_address()?;
    let (server, address) = serve(settings, &["--admin", &admin])?;
    let process = server.id();
    Ok(Loaded { name: "the parsers", process, admin, load: Load::Uploads { server, address, log } })
}

/// The gateway, which is asked for 1 kB.
pub(super) fn gateway(settings: &Settings) -> Outcome<Loaded> {
    let gateway::Setup { backend, token, .. } = gateway::Setup::start(settings)?;
    let admin = free_address()?;
    let program = gateway::program(settings, backend.port, &["--admin", &admin])?;
    let process = program.id();
    let load = Load::Requests { program, _backend: backend, token };
    Ok(Loaded { name: "the gateway", process, admin, load })
}
