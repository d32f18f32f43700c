//! Runs a search to its end: the time and the output.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use weir_tools::shell::Outcome;

/// Enough of an output to contain a count of lines.
const OUTPUT_KEPT_BYTES: usize = 4096;

/// A run of a command to its end.
pub(super) struct SearchRun {
    pub(super) seconds: f64,
    /// The beginning of the output.
    pub(super) printed: String,
    /// The length of the whole output.
    pub(super) bytes: u64,
}

/// Runs a command and reads its output. Exit code 1 is a search without a match.
pub(super) fn measured(mut command: Command) -> Outcome<SearchRun> {
    let start = Instant::now();
    let mut first = Vec::new();
    let bytes = read(&mut command, |part| {
        let room = OUTPUT_KEPT_BYTES.saturating_sub(first.len());
        first.extend_from_slice(&part[..part.len().min(room)]);
    })?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(SearchRun { seconds, printed: String::from_utf8_lossy(&first).into_owned(), bytes })
}

/// The length and a checksum of an output. The checksum depends on the order of the bytes.
pub(super) fn digest(mut command: Command) -> Outcome<(u64, u64)> {
    let mut sum = 0u64;
    let bytes = read(&mut command, |part| {
        for byte in part {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    })?;
    Ok((bytes, sum))
}

/// Runs a command, visits the parts of its output, and returns the length of all.
fn read(command: &mut Command, mut visit: impl FnMut(&[u8])) -> Outcome<u64> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = child.stdout.take().ok_or("the program has no output")?;
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let length = output.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        bytes += length as u64;
        visit(&buffer[..length]);
    }
    let status = child.wait()?;
    if !status.success() && status.code() != Some(1) {
        return Err(format!("{} failed", command.get_program().display()).into());
    }
    Ok(bytes)
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
