//! Connections that are opened and held by the example `hold` of the crate `net`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::shell::{Outcome, command};

/// Idle connections, each of which has received an answer. They end when this value is dropped.
pub struct HeldConnections(Child);

impl HeldConnections {
    /// Opens `count` connections to `host`, which includes a port. `program` is the path of the
    /// example, and `kind` its argument for the protocol of the connections.
    ///
    /// # Errors
    /// If the example cannot be started, or some connection gets no answer.
    pub fn open(program: &str, kind: &str, host: &str, count: usize) -> Outcome<Self> {
        let mut hold = command(program, &[kind, host, &count.to_string()]);
        let mut process = hold.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdout = process.stdout.take().ok_or("the client has no output")?;
        let held = Self(process);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if line.trim() == "ready" { Ok(held) } else { Err("connections got no answer".into()) }
    }
}

impl Drop for HeldConnections {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
