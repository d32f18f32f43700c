//! The server under attack.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::{Outcome, command, execute};

/// The unit in which Linux reports the processor time of a process.
const TICK_MS: u64 = 10;

/// A server that is ended when this value is dropped.
pub(super) struct Server {
    process: Child,
    /// The host and port of each address.
    pub(super) hosts: Vec<String>,
}

impl Server {
    /// Starts the program on a free port of this machine, without a log.
    pub(super) fn start(weir: &Path) -> Outcome<Self> {
        Self::start_with(weir, &["--listen", "127.0.0.1:0"])
    }

    pub(super) fn start_with(weir: &Path, arguments: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(weir);
        let addresses = arguments.iter().filter(|argument| **argument == "--listen").count();
        Self::start_program(command.arg("--no-open").args(arguments), addresses)
    }

    /// Starts a program that prints each of its addresses.
    pub(super) fn start_program(command: &mut Command, addresses: usize) -> Outcome<Self> {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let stdout = process.stdout.take().ok_or("the server has no output")?;
        let mut server = Self { process, hosts: Vec::new() };
        for line in BufReader::new(stdout).lines().take(addresses) {
            let line = line?;
            let host = line.split('/').nth(2).ok_or("the server printed no address")?;
            server.hosts.push(host.to_owned());
        }
        if server.hosts.len() == addresses { Ok(server) } else { Err("the server ended".into()) }
    }

    /// The host and port of its first address.
    pub(super) fn host(&self) -> &str {
        &self.hosts[0]
    }

    /// The processor time that it has used so far.
    pub(super) fn processor_time(&self) -> Outcome<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // After the name, which may have spaces, come the fields 14 and 15 of proc(5), `stat`.
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
        let ticks = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        Ok(Duration::from_millis(ticks * TICK_MS))
    }

    /// The peak of its resident memory, in MiB.
    pub(super) fn peak_mib(&self) -> Outcome<u64> {
        Ok(self.status_kib("VmHWM:")? >> 10)
    }

    /// Its resident memory now, in KiB.
    pub(super) fn memory_kib(&self) -> Outcome<u64> {
        self.status_kib("VmRSS:")
    }

    /// Begins to measure the peak of its resident memory anew (proc(5), `clear_refs`).
    pub(super) fn forget_peak(&self) -> Outcome {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5")?)
    }

    /// Sends SIGTERM, and waits until the process has ended.
    pub(super) fn stop(mut self) -> Outcome<Duration> {
        let start = Instant::now();
        execute(&mut command("kill", &["-TERM", &self.process.id().to_string()]))?;
        self.process.wait()?;
        Ok(start.elapsed())
    }

    /// A field of proc(5), `status`.
    fn status_kib(&self, name: &str) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        let value = value.and_then(|text| text.trim().strip_suffix(" kB"));
        Ok(value.ok_or("the system does not report the memory of a process")?.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
