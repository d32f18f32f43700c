//! A Weir server whose session has read its log to the end.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Form;
use crate::benchmarks::memory::serve;
use crate::settings::Settings;
use weir_tools::shell::{Outcome, command, execute, output_of};

/// How long a gigabyte of log may take on a busy machine.
const READ_TIME_MAX: Duration = Duration::from_secs(120);

pub(super) struct Session {
    server: Child,
    /// The address of its exports.
    address: String,
}

impl Session {
    /// Starts a server, and waits until it has read the log.
    pub(super) fn start(settings: &Settings, log: &str) -> Outcome<Self> {
        let (server, page) = serve(settings, &[log])?;
        let address = page.trim_end_matches('/').replacen("/s/", "/api/sessions/", 1) + "/export";
        let session = Self { server, address };
        session.wait_for_rest()?;
        Ok(session)
    }

    /// Waits until exports accept range requests, which the server offers once the log is read.
    fn wait_for_rest(&self) -> Outcome {
        let start = Instant::now();
        let address = self.address_of(Form::Csv);
        while start.elapsed() < READ_TIME_MAX {
            let head = output_of(&mut command("curl", &["-sS", "--fail", "-I", &address]))?;
            if head.to_ascii_lowercase().contains("accept-ranges: bytes") {
                return Ok(());
            }
            sleep(Duration::from_millis(50));
        }
        Err("the server did not reach the end of the log".into())
    }

    /// Gets an export. Returns the time in seconds.
    pub(super) fn get(&self, form: Form, to: &str) -> Outcome<f64> {
        let address = self.address_of(form);
        let start = Instant::now();
        execute(&mut command("curl", &["-sS", "--fail", "-o", to, &address]))?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn address_of(&self, form: Form) -> String {
        format!("{}?format={}", self.address, form.name())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // This fails if the process has already ended.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
