//! A file of addresses: `{"creationTime": ..., "prefixes": [{"ipv4Prefix": ...}, ...]}` as Google
//! began to publish them, or a prefix a line.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use serde_json::Value;
use weir_core::parse_rfc3339;

/// The largest file, in bytes: a hundred times the largest that is published.
pub const RANGE_FILE_BYTES_MAX: usize = 4 << 20;

/// The most prefixes of a file.
const PREFIXES_MAX: usize = 100_000;

/// The shortest prefixes that are believed, in bits. Nobody's crawlers have more addresses.
const V4_BITS_MIN: u8 = 8;
const V6_BITS_MIN: u8 = 19;

/// Why a file is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeFileError {
    /// It has this many bytes, or more.
    TooLarge(usize),
    /// Its name is not one of these.
    UnknownName(String),
    /// It is neither JSON with prefixes nor lines of prefixes.
    Shape(String),
    /// It has no prefix.
    Empty,
    /// It has more prefixes than this.
    TooMany(usize),
    /// A text is not a prefix, or one that is too short to be believed.
    Prefix(String),
    /// It does not tell its day, and neither does the file system.
    NoDate,
}

impl Display for RangeFileError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(bytes) => {
                write!(f, "it is larger than {} MiB, the most that is read", bytes >> 20)
            }
            Self::UnknownName(names) => write!(f, "its name tells no operator; name it {names}"),
            Self::Shape(problem) => write!(
                f,
                "it has another shape than operators publish ({problem}); fetch it again, or write \
                 one prefix a line"
            ),
            Self::Empty => write!(f, "it has no prefix; fetch it again"),
            Self::TooMany(most) => write!(f, "it has more than {most} prefixes"),
            Self::Prefix(text) => write!(
                f,
                "`{text}` is not a prefix of the addresses of a crawler: an IPv4 prefix has at least \
                 {V4_BITS_MIN} bits, an IPv6 prefix {V6_BITS_MIN}"
            ),
            Self::NoDate => write!(f, "it does not tell its day; add a `creationTime`"),
        }
    }
}

impl Error for RangeFileError {}

/// What a file tells.
#[derive(Debug)]
pub(super) struct RangeFile {
    /// When it was made, in seconds since 1970, if it tells that.
    pub(super) made_s: Option<i64>,
    /// The first and the last address of each prefix; IPv4 addresses as IPv6 has them.
    pub(super) ranges: Vec<(u128, u128)>,
}

pub(super) fn parse(bytes: &[u8]) -> Result<RangeFile, RangeFileError> {
    if bytes.len() > RANGE_FILE_BYTES_MAX {
        return Err(RangeFileError::TooLarge(RANGE_FILE_BYTES_MAX));
    }
    let is_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
    let (made_s, prefixes) = if is_json { of_json(bytes)? } else { (None, of_lines(bytes)?) };
    if prefixes.is_empty() {
        return Err(RangeFileError::Empty);
    }
    if prefixes.len() > PREFIXES_MAX {
        return Err(RangeFileError::TooMany(PREFIXES_MAX));
    }
    let range = |text: &String| range(text).ok_or_else(|| RangeFileError::Prefix(shown(text)));
    let mut ranges = prefixes.iter().map(range).collect::<Result<Vec<_>, _>>()?;
    ranges.sort_unstable();
    Ok(RangeFile { made_s, ranges: joined(ranges) })
}

/// The time and the prefixes of JSON.
fn of_json(bytes: &[u8]) -> Result<(Option<i64>, Vec<String>), RangeFileError> {
    let shape = |problem: String| RangeFileError::Shape(shown(&problem));
    let json: Value = serde_json::from_slice(bytes).map_err(|error| shape(error.to_string()))?;
    let list = json.as_array().or_else(|| json["prefixes"].as_array());
    let list = list.ok_or_else(|| shape("no list `prefixes`".to_owned()))?;
    let prefix = |entry: &Value| {
        let members = [entry, &entry["ipv4Prefix"], &entry["ipv6Prefix"]];
        let text = members.into_iter().find_map(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| shape(format!("{entry} has no `ipv4Prefix` or `ipv6Prefix`")))
    };
    let prefixes = list.iter().map(prefix).collect::<Result<_, _>>()?;
    let made_s = match json["creationTime"].as_str() {
        None => None,
        Some(text) => {
            Some(seconds(text).ok_or_else(|| shape(format!("`{text}` is not a `creationTime`")))?)
        }
    };
    Ok((made_s, prefixes))
}

/// Reads `2026-04-01T12:00:00.000000`, which has no zone and means UTC, or a time with a zone.
fn seconds(text: &str) -> Option<i64> {
    let whole =
        parse_rfc3339(text.as_bytes()).or_else(|| parse_rfc3339(format!("{text}Z").as_bytes()));
    Some(whole?.unix_ns.div_euclid(1_000_000_000))
}

/// The prefixes of lines. Those that begin with `#` are ignored.
fn of_lines(bytes: &[u8]) -> Result<Vec<String>, RangeFileError> {
    let text = str::from_utf8(bytes).map_err(|_| RangeFileError::Shape("not UTF-8".to_owned()))?;
    let lines = text.lines().map(str::trim);
    Ok(lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

/// Returns the first and the last address of a prefix.
fn range(text: &str) -> Option<(u128, u128)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let (first, bits, offset) = match address.parse().ok()? {
        IpAddr::V4(address) => (number(IpAddr::V4(address)), bits.unwrap_or(32), 96),
        IpAddr::V6(address) => (number(IpAddr::V6(address)), bits.unwrap_or(128), 0),
    };
    let is_v4 = offset == 96;
    let bits_min = if is_v4 { V4_BITS_MIN } else { V6_BITS_MIN };
    let bits_max = if is_v4 { 32 } else { 128 };
    if !(bits_min..=bits_max).contains(&bits) {
        return None;
    }
    let rest = u128::MAX.checked_shr(u32::from(bits) + offset).unwrap_or(0);
    Some((first & !rest, first | rest))
}

/// Returns an address as a number; an IPv4 address as IPv6 has it.
pub(super) fn number(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Joins ranges that overlap. They are in order.
fn joined(ranges: Vec<(u128, u128)>) -> Vec<(u128, u128)> {
    let mut joined: Vec<(u128, u128)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if first <= before.1 => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// Returns the beginning of a text, as it is shown in a message.
fn shown(text: &str) -> String {
    let shown = |next: char| if next.is_control() { '\u{fffd}' } else { next };
    text.chars().take(60).map(shown).collect()
}
