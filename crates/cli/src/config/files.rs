//! The files of the configuration.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::Failure;
use crate::sources::cannot_read;

/// The file for all users of the machine.
const OF_MACHINE: &str = "/etc/weir/weir.toml";

/// The file of a user, below the folder of configurations.
const OF_USER: &str = "weir/config.toml";

/// The variable that names a file instead of both. If it is empty, there is none.
const VARIABLE: &str = "WEIR_CONFIG";

/// The most bytes of a file. A configuration has a few hundred.
const BYTES_MAX: u64 = 1 << 20;

/// A file of the configuration.
#[derive(Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// `None` if there is no such file.
    pub(super) text: Option<String>,
}

/// Reads the files, the one whose settings win last.
///
/// # Errors
/// If one cannot be read.
pub(super) fn read() -> Result<Vec<ConfigFile>, Failure> {
    let named = env::var_os(VARIABLE);
    let is_named = named.is_some();
    let read = |path: PathBuf| {
        let text = read_file(&path).map_err(|error| {
            let sentence = cannot_read(&error);
            Failure::new(format_args!("{}: {sentence}", path.display()))
        })?;
        match text.is_none() && is_named {
            true => Err(Failure::new(format_args!(
                "{VARIABLE}: {} does not exist; check the name",
                path.display()
            ))),
            false => Ok(ConfigFile { path, text }),
        }
    };
    paths(named, env::var_os("XDG_CONFIG_HOME"), env::var_os("HOME"))
        .into_iter()
        .map(read)
        .collect()
}

/// The paths of the files, by the variables of the environment.
fn paths(
    named: Option<OsString>,
    config_home: Option<OsString>,
    home: Option<OsString>,
) -> Vec<PathBuf> {
    if let Some(named) = named {
        return Some(named)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .into_iter()
            .collect();
    }
    // As the specification of these folders says, a relative path does not count.
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let home = || home.and_then(absolute).map(|home| home.join(".config"));
    let of_user = config_home.and_then(absolute).or_else(home);
    let of_user = of_user.map(|folder| folder.join(OF_USER));
    [PathBuf::from(OF_MACHINE)].into_iter().chain(of_user).collect()
}

/// Reads a file; returns `None` if there is none.
fn read_file(path: &PathBuf) -> io::Result<Option<String>> {
    // In a folder that may not be entered, such as the home of the user who has started sudo, there is
    // nothing for this user.
    let is_absent = |error: &io::Error| {
        use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
    };
    match std::fs::metadata(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        // A FIFO would be waited for.
        Ok(metadata) if !metadata.is_file() => return Err(io::Error::other("it is not a file")),
        _ => {}
    }
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    match text.len() as u64 > BYTES_MAX {
        true => Err(io::Error::other("it is larger than 1 MiB")),
        false => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use super::paths;

    #[test]
    fn variables_name_the_files() {
        let text = |text: &str| Some(OsString::from(text));
        for (named, config_home, home, expected) in [
            (None, None, text("/h"), &["/etc/weir/weir.toml", "/h/.config/weir/config.toml"][..]),
            (None, text("/c"), text("/h"), &["/etc/weir/weir.toml", "/c/weir/config.toml"]),
            (None, text("c"), None, &["/etc/weir/weir.toml"]),
            (text("a.toml"), text("/c"), text("/h"), &["a.toml"]),
            (text(""), text("/c"), text("/h"), &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(paths(named, config_home, home), expected);
        }
    }
}
