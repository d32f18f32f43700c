//! The server under attack.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::shell::Outcome;

/// A server that ends with this value.
pub(super) struct Server {
    process: Child,
    /// The host and port of its page.
    pub(super) host: String,
}

impl Server {
    /// Starts the program on a free port of this machine, without a log.
    pub(super) fn start(weir: &Path) -> Outcome<Self> {
        Self::start_with(weir, &["--listen", "127.0.0.1:0"])
    }

    pub(super) fn start_with(weir: &Path, arguments: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(weir);
        Self::start_program(command.arg("--no-open").args(arguments))
    }

    /// Starts a program that prints its address first.
    pub(super) fn start_program(command: &mut Command) -> Outcome<Self> {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let stdout = process.stdout.take().ok_or("the server has no output")?;
        let mut page = String::new();
        BufReader::new(stdout).read_line(&mut page)?;
        let host = page.split('/').nth(2).ok_or("the server printed no address")?.trim().to_owned();
        Ok(Self { process, host })
    }

    /// The most memory that it has had, in MiB.
    pub(super) fn peak_mib(&self) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().strip_suffix(" kB"));
        Ok(peak.ok_or("the system does not tell the memory of a process")?.parse::<u64>()? >> 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
