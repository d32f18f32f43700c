//! Programs that run beside the benchmarks, and their processor time and memory, from proc(5).

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::settings::Settings;
use weir_tools::shell::{Outcome, command, output_of};

/// How long a program may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A program that runs until it is dropped. Its errors are not shown.
#[derive(Debug)]
pub(crate) struct RunningProgram {
    process: Child,
    /// Its output, which stays open.
    pub(crate) output: BufReader<ChildStdout>,
}

impl RunningProgram {
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = process.stdout.take().ok_or("the program has no output")?;
        Ok(Self { process, output: BufReader::new(output) })
    }

    /// Starts a program, and waits until it listens at a port of this machine.
    pub(crate) fn listening(command: &mut Command, port: u16) -> Outcome<Self> {
        let mut program = Self::start(command)?;
        program.wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_ok()).map_err(
            |error| format!("{} at port {port}: {error}", command.get_program().display()),
        )?;
        Ok(program)
    }

    /// Starts Weir with the address of its page on a free port. Returns it with the URL of its
    /// page, or of its start page if it has no log.
    pub(crate) fn weir(settings: &Settings, arguments: &[&str]) -> Outcome<(Self, String)> {
        let mut weir = command(&settings.weir(), arguments);
        let mut program = Self::start(weir.args(["--listen", "127.0.0.1:0", "--no-open"]))?;
        let mut line = String::new();
        while program.output.read_line(&mut line)? > 0 {
            if let Some((_, rest)) = line.split_once("http://") {
                let address = rest.split_whitespace().next().unwrap_or_default();
                return Ok((program, format!("http://{}", address.trim_end_matches('/'))));
            }
            line.clear();
        }
        Err("weir printed no address".into())
    }

    /// Waits until a condition holds.
    pub(crate) fn wait_until(&mut self, holds: impl Fn() -> bool) -> Outcome {
        let end = Instant::now() + START_TIMEOUT;
        while !holds() {
            if let Some(status) = self.process.try_wait()? {
                return Err(format!("it ended before it listened: {status}").into());
            }
            if Instant::now() > end {
                return Err("it does not listen".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// The processor time that it and its children have used so far, in seconds. Grandchildren are
    /// not counted.
    pub(crate) fn processor_seconds(&self) -> Outcome<f64> {
        let process = self.process.id();
        let ticks_a_second: f64 =
            output_of(&mut command("getconf", &["CLK_TCK"]))?.trim().parse()?;
        let mut ticks = 0;
        for entry in fs::read_dir("/proc")? {
            let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else { continue };
            let Some((parent, own)) = of_stat(&stat) else { continue };
            if parent == process || stat.starts_with(&format!("{process} ")) {
                ticks += own;
            }
        }
        Ok(ticks as f64 / ticks_a_second)
    }

    /// The peak of its resident memory.
    pub(crate) fn peak_bytes(&self) -> Outcome<u64> {
        self.status_bytes("VmHWM:")
    }

    /// Its resident memory now.
    pub(crate) fn resident_bytes(&self) -> Outcome<u64> {
        self.status_bytes("VmRSS:")
    }

    /// A size in `/proc/PID/status`.
    fn status_bytes(&self, name: &str) -> Outcome<u64> {
        let process = self.process.id();
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        of_status(&status, name)
            .ok_or_else(|| format!("/proc has no {name} of process {process}").into())
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // SIGTERM, so that the workers of nginx end too.
        let _ = command("kill", &[&self.process.id().to_string()]).stderr(Stdio::null()).status();
        let _ = self.process.wait();
    }
}

/// A port of this machine that is free now.
pub(crate) fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The parent and the processor time, in ticks, of a line of `/proc/PID/stat`.
fn of_stat(stat: &str) -> Option<(u32, u64)> {
    // The name of the program is in brackets and may have any character.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let user: u64 = fields.nth(9)?.parse().ok()?;
    Some((parent, user + fields.next()?.parse::<u64>().ok()?))
}

fn of_status(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::{of_stat, of_status};

    #[test]
    fn processor_time_is_read_after_the_name() {
        let stat = "7 (a) b 9) S 3 7 7 0 -1 4194560 1 2 3 4 50 6 0 0 20 0 1 0 5";
        assert_eq!(of_stat(stat), Some((3, 56)));
        assert_eq!(of_stat("7 (a) S"), None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tweir\nVmHWM:\t     2048 kB\nVmRSS:\t     1024 kB\n";
        assert_eq!(of_status(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(of_status(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(of_status(status, "VmSwap:"), None);
    }
}
