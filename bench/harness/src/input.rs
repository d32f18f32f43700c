//! The logs that the benchmarks read. They are generated once and kept in `target/bench`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::settings::{Settings, folder, text};
use weir_tools::shell::{Outcome, command, execute, output_of};

/// The part of a kept log that is compared with the generator's present output.
const PROBE_BYTES: u64 = 1 << 20;

/// Fits into the second-level cache.
const TOUCH_BYTES: usize = 128 << 10;

/// A log in a file.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Line feeds.
    pub(crate) lines: u64,
}

impl Log {
    fn of(path: &Path) -> Outcome<Self> {
        let path = text(path);
        let counted = output_of(&mut command("wc", &["-lc", &path]))?;
        let mut numbers = counted.split_whitespace().map_while(|word| word.parse().ok());
        let (Some(lines), Some(bytes)) = (numbers.next(), numbers.next()) else {
            return Err(format!("`{counted}` is not a count of lines and bytes of {path}").into());
        };
        Ok(Self { path, bytes, lines })
    }

    /// Reads the log once. A hypervisor reclaims page-cache memory that was not read for about a
    /// minute, which would slow the next reader.
    pub(crate) fn touch(&self) -> Outcome {
        let mut file = File::open(&self.path)?;
        let mut buffer = vec![0; TOUCH_BYTES];
        while file.read(&mut buffer)? > 0 {}
        Ok(())
    }

    /// The size for a title.
    pub(crate) fn size_text(&self) -> String {
        match self.bytes {
            large if large >= 1_000_000_000 => format!("{:.2} GB", large as f64 / 1e9),
            bytes => format!("{:.0} MB", bytes as f64 / 1e6),
        }
    }
}

/// The combined log of the size in the settings.
pub(crate) fn combined(settings: &Settings) -> Outcome<Log> {
    generated(settings, "combined", settings.mebibytes)
}

/// A log of one of the generator's shapes.
pub(crate) fn generated(settings: &Settings, shape: &str, mebibytes: u64) -> Outcome<Log> {
    let path = folder()?.join(format!("{shape}-{mebibytes}.log"));
    let size = format!("{mebibytes}MiB");
    if !is_current(settings, &path, shape, &size)? {
        let path = text(&path);
        let arguments = ["demo", "--shape", shape, "--size", &size, "--write", &path];
        execute(command(&settings.weir(), &arguments).stderr(Stdio::null()))?;
    }
    Log::of(&path)
}

/// Whether a file begins with the present output of the generator.
fn is_current(settings: &Settings, path: &Path, shape: &str, size: &str) -> Outcome<bool> {
    let Ok(file) = File::open(path) else { return Ok(false) };
    let arguments = ["demo", "--shape", shape, "--size", size, "--write", "-"];
    let mut generator = command(&settings.weir(), &arguments);
    let mut child = generator.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let fresh = child.stdout.take().map(first_bytes).transpose()?;
    // The generator would block on a pipe without a reader.
    child.kill()?;
    child.wait()?;
    Ok(fresh == Some(first_bytes(file)?))
}

fn first_bytes(reader: impl Read) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(PROBE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The log without its few lines that are not UTF-8, for contenders that cannot read those.
pub(crate) fn as_text(log: &Log) -> Outcome<Log> {
    let path = PathBuf::from(log.path.replace(".log", "-text.log"));
    if !is_newer(&path, Path::new(&log.path)) {
        let mut input = BufReader::with_capacity(1 << 20, File::open(&log.path)?);
        let mut output = BufWriter::new(File::create(&path)?);
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line)? > 0 {
            if std::str::from_utf8(&line).is_ok() {
                output.write_all(&line)?;
            }
            line.clear();
        }
        output.flush()?;
    }
    Log::of(&path)
}

/// Whether a file was written after another one.
pub(crate) fn is_newer(path: &Path, than: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    matches!((modified(path), modified(than)), (Ok(own), Ok(other)) if own >= other)
}
