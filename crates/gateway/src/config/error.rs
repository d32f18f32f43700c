//! Why a configuration cannot be used.

use std::fmt;
use std::path::PathBuf;

use super::Problem;

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The file has mistakes.
    Mistakes {
        /// The file.
        path: PathBuf,
        /// All of them, in the order of their lines.
        problems: Vec<Problem>,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, message } => {
                write!(formatter, "{}: the configuration cannot be read: {message}", path.display())
            }
            Self::Mistakes { path, problems } => {
                for (index, problem) in problems.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "\n" };
                    write!(formatter, "{separator}{}: {problem}", path.display())?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ConfigError {}
