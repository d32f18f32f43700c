//! Whether a crawler is the one that its agent names, by the addresses that its operator publishes.
//!
//! A file says nothing about requests long before or after it: operators change their addresses
//! within months. So it is used for those within [`DAYS_MAX`] days of it. What no file is about
//! cannot be verified, and is never called a lie.

mod file;
mod operators;

pub use file::{RANGE_FILE_BYTES_MAX, RangeFileError};

use std::net::IpAddr;

use self::file::number;
use self::operators::{PUBLISHED, Published};

/// For how many days before and after its own a file is used.
const DAYS_MAX: i64 = 90;

/// Whether a crawler is who it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It asks from an address of the operator.
    Verified,
    /// The operator has published addresses, and this is not one of them.
    Contradicted,
    /// There is no file of the operator, or none from that time.
    CannotBeVerified,
}

impl Verdict {
    /// The verdict as a value of the field.
    pub fn text(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Contradicted => "contradicted",
            Self::CannotBeVerified => "cannot be verified",
        }
    }
}

/// The addresses of crawlers that were read.
#[derive(Debug, Default)]
pub struct CrawlerRanges {
    files: Vec<Addresses>,
}

/// The addresses of a file.
#[derive(Debug)]
struct Addresses {
    about: &'static Published,
    made_s: i64,
    /// Apart and in order.
    ranges: Vec<(u128, u128)>,
}

impl CrawlerRanges {
    /// Adds a file by its name, with or without `.json` or `.txt`. `modified_s` is the time of the
    /// file, in seconds since 1970, for a file that does not tell when it was made.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn add(
        &mut self,
        name: &str,
        bytes: &[u8],
        modified_s: Option<i64>,
    ) -> Result<(), RangeFileError> {
        let stem = name.strip_suffix(".json").or_else(|| name.strip_suffix(".txt")).unwrap_or(name);
        let about = PUBLISHED.iter().find(|known| stem.eq_ignore_ascii_case(known.file));
        let about = about.ok_or_else(|| {
            let names = PUBLISHED.iter().map(|known| format!("{}.json", known.file));
            RangeFileError::UnknownName(names.collect::<Vec<_>>().join(", "))
        })?;
        let read = file::parse(bytes)?;
        let made_s = read.made_s.or(modified_s).ok_or(RangeFileError::NoDate)?;
        self.files.push(Addresses { about, made_s, ranges: read.ranges });
        Ok(())
    }

    /// Returns whether a request of a crawler at a time, in seconds since 1970, is from its operator.
    pub fn verdict(&self, crawler: &str, address: Option<IpAddr>, time_s: Option<i64>) -> Verdict {
        let about = PUBLISHED.iter().find(|known| known.crawlers.contains(&crawler));
        let (Some(about), Some(address), Some(time_s)) = (about, address, time_s) else {
            return Verdict::CannotBeVerified;
        };
        let is_near =
            |file: &&Addresses| file.made_s.abs_diff(time_s) <= DAYS_MAX.unsigned_abs() * 86_400;
        // Other files of the operator say nothing: people can make the fetchers of a tool ask for
        // anything.
        let is_own = |file: &&Addresses| file.about.file == about.file;
        let mut verdict = Verdict::CannotBeVerified;
        for file in self.files.iter().filter(is_own).filter(is_near) {
            if file.contains(number(address)) {
                return Verdict::Verified;
            }
            verdict = Verdict::Contradicted;
        }
        verdict
    }
}

impl Addresses {
    fn contains(&self, address: u128) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        after.checked_sub(1).is_some_and(|at| address <= self.ranges[at].1)
    }
}

#[cfg(test)]
mod tests;
