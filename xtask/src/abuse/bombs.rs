//! Decompression bombs of each format, sent as `curl -T` does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::server::Server;
use super::{Setting, Verdict};
use crate::shell::{Outcome, execute, is_installed, output_of, root, target_folder};

/// The bombs: a name, the programs that make them, and the command. Each unpacks to 2 GB of zeros.
const BOMBS: [(&str, &[&str], &str); 13] = [
    ("gzip", &["gzip"], "head -c 2G /dev/zero | gzip -1"),
    ("zstd", &["zstd"], "head -c 2G /dev/zero | zstd -q"),
    ("zstd, window of 128 MiB", &["zstd"], "head -c 2G /dev/zero | zstd -q --long=27"),
    ("xz", &["xz"], "head -c 2G /dev/zero | xz -0"),
    ("bzip2", &["bzip2"], "head -c 2G /dev/zero | bzip2 -1"),
    ("lz4", &["lz4"], "head -c 2G /dev/zero | lz4 -q"),
    ("gzip in gzip", &["gzip"], "head -c 2G /dev/zero | gzip -1 | gzip"),
    ("zip", &["zip"], "head -c 2G /dev/zero | zip -q -1 - -"),
    ("zip by bzip2", &["7z"], ZIP_BY_BZIP2),
    ("zip by xz", &["7z"], ZIP_BY_XZ),
    ("zip by zstd", &["python3", "zstd"], "python3 $ZIP_BOMB"),
    ("tar in gzip", &["tar", "gzip"], "truncate -s 2G zeros; tar c zeros | gzip -1; rm zeros"),
    ("zip in zip", &["zip"], "head -c 2G /dev/zero | zip -q -1 - - | zip -q - -"),
];

const ZIP_BY_BZIP2: &str = "head -c 2G /dev/zero | 7z a -tzip -mm=BZip2 -mx=1 -sizeros zeros.zip > /dev/null; \
    cat zeros.zip; rm zeros.zip";
const ZIP_BY_XZ: &str = "head -c 2G /dev/zero | 7z a -tzip -mm=XZ -mx=1 -sizeros zeros.zip > /dev/null; \
    cat zeros.zip; rm zeros.zip";

/// The status of a log that was read to its end, in place of a refusal.
const ACCEPTED: &str = "201";

/// The limit for the server's peak memory, in MiB, and for the processor time that one bomb takes, which
/// a busy machine does not change.
const PEAK_MIB_MAX: u64 = 256;
const TIME_MAX: Duration = Duration::from_secs(30);

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    if !is_installed("curl") {
        return Ok(Verdict::Skipped("curl is not installed".to_owned()));
    }
    let folder = target_folder().join("bombs");
    std::fs::create_dir_all(&folder)?;
    let mut lines = Vec::new();
    for (name, programs, command) in BOMBS {
        if let Some(missing) = programs.iter().find(|program| !is_installed(program)) {
            lines.push(format!("{name}: skipped, because {missing} is not installed"));
            continue;
        }
        let bomb = make(&folder, command)?;
        let server = Server::start(&setting.weir)?;
        let answer = send(&bomb, server.host())?;
        let (took, peak) = (server.processor_time()?, server.peak_mib()?);
        let packed = std::fs::metadata(&bomb)?.len();
        let text = format!(
            "{name}: {packed} bytes, answered {answer} after {:.1} s of the processor, peak {peak} MiB",
            took.as_secs_f64()
        );
        if answer != ACCEPTED || peak > PEAK_MIB_MAX || took > TIME_MAX {
            return Err(text.into());
        }
        lines.push(text);
    }
    std::fs::remove_dir_all(folder)?;
    Ok(Verdict::Passed(lines))
}

/// Writes a bomb to a file.
fn make(folder: &Path, command: &str) -> Outcome<PathBuf> {
    let mut shell = Command::new("sh");
    shell.env("ZIP_BOMB", root().join("xtask/src/abuse/zip_bomb.py"));
    shell.current_dir(folder).args(["-c", &format!("{{ {command}; }} > bomb")]);
    execute(&mut shell)?;
    Ok(folder.join("bomb"))
}

/// Sends a file, and returns the status of the answer.
fn send(bomb: &Path, host: &str) -> Outcome<String> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-T"]).arg(bomb);
    output_of(curl.arg(format!("http://{host}/bomb")))
}
