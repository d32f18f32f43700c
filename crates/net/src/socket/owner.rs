//! The owner of a Unix socket's file.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// The user and the group that own the file of a Unix socket. Its syntax is `www-data`,
/// `www-data:adm`, `:adm`, or the same with numbers.
///
/// Names are looked up in `/etc/passwd` and `/etc/group` only. Accounts of other directories need
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOwner {
    /// The user id; `None` leaves the user unchanged.
    pub user: Option<u32>,
    /// The group id; `None` leaves the group unchanged.
    pub group: Option<u32>,
}

/// The files of accounts. Columns are separated by colons; the first is the name, the third the
/// number (passwd(5), group(5)).
const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

impl FromStr for SocketOwner {
    type Err = SocketOwnerError;

    fn from_str(text: &str) -> Result<Self, SocketOwnerError> {
        let (user, group) = text.split_once(':').unwrap_or((text, ""));
        if user.is_empty() && group.is_empty() {
            return Err(SocketOwnerError::Empty);
        }
        let find = |name: &str, file: &'static str| match name {
            "" => Ok(None),
            name => {
                let found = name.parse().ok().or_else(|| find_number(Path::new(file), name));
                found.map(Some).ok_or(SocketOwnerError::Unknown { name: name.to_owned(), file })
            }
        };
        Ok(Self { user: find(user, USERS)?, group: find(group, GROUPS)? })
    }
}

/// Returns the number of an account in such a file.
fn find_number(file: &Path, name: &str) -> Option<u32> {
    let text = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| {
        let mut columns = line.split(':');
        let is_it = columns.next() == Some(name);
        let number = columns.nth(1)?;
        if is_it { number.parse().ok() } else { None }
    })
}

/// The error of a text that is not a valid [`SocketOwner`] on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketOwnerError {
    /// The text names neither a user nor a group.
    Empty,
    /// No account has this name.
    Unknown {
        /// The name.
        name: String,
        /// The file that was searched.
        file: &'static str,
    },
}

impl fmt::Display for SocketOwnerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("write USER, USER:GROUP or :GROUP"),
            Self::Unknown { name, file } => {
                write!(formatter, "`{name}` is not in {file}; write another name, or a number")
            }
        }
    }
}

impl std::error::Error for SocketOwnerError {}

#[cfg(test)]
mod tests {
    use super::{SocketOwner, SocketOwnerError};

    #[test]
    fn owners_are_names_and_numbers() {
        for (text, user, group) in [
            ("0", Some(0), None),
            ("root", Some(0), None),
            ("12:34", Some(12), Some(34)),
            (":34", None, Some(34)),
            ("root:", Some(0), None),
        ] {
            assert_eq!(text.parse(), Ok(SocketOwner { user, group }), "{text}");
        }
        for text in ["", ":"] {
            assert_eq!(text.parse::<SocketOwner>(), Err(SocketOwnerError::Empty), "{text}");
        }
        for text in ["nobody-has-this-name", "-1", "4294967296", "root:root:x"] {
            let error = text.parse::<SocketOwner>().expect_err(text).to_string();
            assert!(error.contains("another name"), "{error}");
        }
    }
}
