//! Rotated sets: `access.log`, `access.log.1`, `access.log.2.gz`, `access.log-20251217`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::dated_log::DatedLog;
use super::input::Input;
use weir_core::FormatChoice;

/// Puts the files of each rotated set in the order of their times. Times without a year get one that lets
/// each file end before the next one begins, unless both were written at the same time.
pub(super) fn order_rotated(inputs: &mut [Input], format: &FormatChoice) {
    let mut sets: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (index, input) in inputs.iter().enumerate() {
        if let Input::File(path) = input
            && fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        {
            sets.entry(rotated_set(path)).or_default().push(index);
        }
    }
    for positions in sets.into_values().filter(|positions| positions.len() > 1) {
        let times = first_times_ns(inputs, &positions, format);
        let (positions, mut times): (Vec<usize>, Vec<(i64, usize)>) = positions
            .iter()
            .zip(times)
            .filter_map(|(&position, ns)| Some((position, (ns?, position))))
            .unzip();
        // Files of equal times keep the order in which they were named.
        times.sort_unstable();
        let ordered: Vec<Input> = times.iter().map(|(_, from)| inputs[*from].clone()).collect();
        for (position, input) in positions.into_iter().zip(ordered) {
            inputs[position] = input;
        }
    }
}

/// Returns the first times of the files of a rotated set, in the order of `positions`.
///
/// A copy of a log is often younger than its lines by years. So of files with a number, the newest comes
/// first here, and tells the years of the next one.
fn first_times_ns(
    inputs: &mut [Input],
    positions: &[usize],
    format: &FormatChoice,
) -> Vec<Option<i64>> {
    let mut newest_first: Vec<usize> = (0..positions.len()).collect();
    newest_first.sort_by_key(|index| rotation(&inputs[positions[*index]]));
    let mut times = vec![None; positions.len()];
    let mut next_log: Option<DatedLog> = None;
    for index in newest_first {
        let input = &mut inputs[positions[index]];
        let Some(mut log) = DatedLog::of(input, format) else { continue };
        if rotation(input) != u32::MAX && log.lacks_year() {
            if let Some(next) = &next_log {
                log.set_before(next, input);
            }
            times[index] = Some(log.first_ns());
            next_log = Some(log);
        } else {
            times[index] = Some(log.first_ns());
        }
    }
    times
}

/// Returns the number at the end of the name of a rotated log: 0 for the log itself, and the largest
/// number for a name with a date.
fn rotation(input: &Input) -> u32 {
    let Input::File(path) = input else { return u32::MAX };
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let name = without_packed_extensions(&name);
    let mut parts = name.split(SEPARATORS).filter(|part| is_number(part));
    match (parts.next(), parts.next()) {
        (None, _) => 0,
        (Some(number), None) if number.len() < 4 && name.ends_with(&format!(".{number}")) => {
            number.parse().unwrap_or(u32::MAX)
        }
        _ => u32::MAX,
    }
}

/// Extensions that compressors and archivers add.
const PACKED_EXTENSIONS: [&str; 11] =
    [".gz", ".zst", ".bz2", ".xz", ".lz4", ".Z", ".tar", ".tgz", ".zip", ".tbz2", ".txz"];

/// Whether a path has the name of a compressed file, an archive or a table.
pub(super) fn has_packed_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    without_packed_extensions(&name) != name || name.ends_with(".parquet")
}

fn without_packed_extensions(mut name: &str) -> &str {
    while let Some(rest) = PACKED_EXTENSIONS.iter().find_map(|ending| name.strip_suffix(ending)) {
        name = rest;
    }
    name
}

/// Returns the name that the files of a rotated set share: without the extensions that compressors
/// add, and without parts that are only a number or a date.
pub(super) fn rotated_set(path: &Path) -> PathBuf {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let name = without_packed_extensions(&name);
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name.split(SEPARATORS).filter(|part| !is_number(part)).collect();
    path.with_file_name(parts.join("."))
}

/// Whether a part of the name is a number or a date, as in the names of old files.
pub(super) fn is_numbered(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    name.split(SEPARATORS).any(is_number)
}

/// What separates the parts of a name.
const SEPARATORS: [char; 3] = ['.', '-', '_'];

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{rotated_set, rotation};
    use crate::Input;

    #[test]
    fn a_rotated_log_has_a_number() {
        for (name, number) in [
            ("access.log", 0),
            ("access.log.1", 1),
            ("access.log.12.gz", 12),
            ("access2.log", 0),
            ("access.log-20251217", u32::MAX),
            ("access.log.2025-12-17", u32::MAX),
            ("access.2025.log", u32::MAX),
        ] {
            assert_eq!(rotation(&Input::File(Path::new(name).to_owned().into())), number, "{name}");
        }
    }

    #[test]
    fn names_of_rotated_files_map_to_one_set() {
        let set = rotated_set(Path::new("/var/log/access.log"));
        for name in [
            "access.log.1",
            "access.log.12.gz",
            "access.log-20251217",
            "access.log-20251217.xz",
            "access.log.2025-12-17",
            "access-20251217.log",
            "access.log-20251217-1765962000.zst",
            "access.log.3.tar.gz",
        ] {
            assert_eq!(rotated_set(&Path::new("/var/log").join(name)), set, "{name}");
        }
        for name in ["/var/log/error.log.1", "/var/log/nginx/access.log", "/var/log/access2.log"] {
            assert_ne!(rotated_set(Path::new(name)), set, "{name}");
        }
    }
}
