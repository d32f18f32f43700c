//! Runs a search to its end: the time, the output and the peak memory.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::peak_bytes;
use weir_tools::shell::Outcome;

/// The interval at which the memory of a process is sampled.
const PEAK_INTERVAL: Duration = Duration::from_millis(2);
/// Enough of an output to contain a count of lines.
const OUTPUT_KEPT_BYTES: usize = 4096;

/// A run of a command to its end.
pub(super) struct Run {
    pub(super) seconds: f64,
    /// The length of the whole output.
    pub(super) bytes: u64,
    /// The beginning of the output.
    pub(super) printed: String,
    pub(super) peak_mebibytes: f64,
}

/// Runs a command, reads its output, and samples its memory. Exit code 1 is a search without a
/// match.
pub(super) fn measured(mut command: Command) -> Outcome<Run> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take().ok_or("the program has no output")?;
    let id = child.id();
    let reader = std::thread::spawn(move || read(output));
    let mut peak = 0;
    let status = loop {
        // An ended process has no memory to report.
        peak = peak_bytes(id).map_or(peak, |bytes| peak.max(bytes));
        if reader.is_finished() {
            break child.wait()?;
        }
        std::thread::sleep(PEAK_INTERVAL);
    };
    let seconds = start.elapsed().as_secs_f64();
    let (bytes, first) = reader.join().map_err(|_| "the output cannot be read")??;
    if !status.success() && status.code() != Some(1) {
        return Err(format!("{} failed", command.get_program().display()).into());
    }
    let printed = String::from_utf8_lossy(&first).into_owned();
    Ok(Run { seconds, bytes, printed, peak_mebibytes: peak as f64 / f64::from(1 << 20) })
}

/// The length of an output, and its beginning.
fn read(mut output: impl Read) -> std::io::Result<(u64, Vec<u8>)> {
    let (mut bytes, mut first) = (0, Vec::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = output.read(&mut buffer)?;
        if length == 0 {
            return Ok((bytes, first));
        }
        bytes += length as u64;
        let room = OUTPUT_KEPT_BYTES.saturating_sub(first.len());
        first.extend_from_slice(&buffer[..length.min(room)]);
    }
}

/// The length and a checksum of an output. The checksum depends on the order of the bytes.
pub(super) fn digest(mut command: Command) -> Outcome<(u64, u64)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = child.stdout.take().ok_or("the program has no output")?;
    let (mut bytes, mut sum) = (0u64, 0u64);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = output.read(&mut buffer)?;
        if length == 0 {
            child.wait()?;
            return Ok((bytes, sum));
        }
        bytes += length as u64;
        for byte in &buffer[..length] {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    }
}

/// Checks the number at the beginning of an output. Several numbers can be right: some programs
/// count a last line without a line feed.
pub(super) fn check_number(printed: &str, expected: &[u64]) -> Outcome {
    let first = printed.split_whitespace().next().unwrap_or_default();
    let number: u64 = first.parse().map_err(|_| format!("`{first}` is not a number"))?;
    if expected.contains(&number) {
        return Ok(());
    }
    Err(format!("the count is {number}, not {}", expected[0]).into())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{check_number, digest, measured};

    fn printf(text: &str) -> Command {
        let mut command = Command::new("printf");
        command.arg(text);
        command
    }

    #[test]
    fn an_output_is_measured() {
        let run = measured(printf("12 lines")).unwrap();
        assert_eq!((run.bytes, run.printed.as_str()), (8, "12 lines"));
    }

    #[test]
    fn a_digest_depends_on_the_order() {
        assert_eq!(digest(printf("ab")).unwrap(), digest(printf("ab")).unwrap());
        assert_ne!(digest(printf("ab")).unwrap(), digest(printf("ba")).unwrap());
    }

    #[test]
    fn numbers_are_checked() {
        check_number("12 access.log\n", &[11, 12]).unwrap();
        assert!(check_number("13", &[11, 12]).is_err());
        assert!(check_number("", &[11]).is_err());
    }
}
