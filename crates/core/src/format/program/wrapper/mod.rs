//! Wrappers: text that a syslog server or a container runtime writes around each line of a log.
//!
//! A container runtime or a syslog server does not know the format of the lines that it forwards.
//! So a wrapper can be combined with any format for single lines, and is removed before the program
//! of the format sees the line. Offsets of mismatches are in the whole line, unless the wrapper
//! escapes it.
//!
//! What the wrapper knows beside the line is kept if it is useful: syslog's host and program as
//! extra fields, and the time for lines that have none.

pub(in crate::format) mod docker;
pub(in crate::format) mod syslog;

use crate::format::program::mismatch::{Mismatch, Reason};
use crate::record::Record;
use crate::value::{Timestamp, parse_rfc3339};

/// The text around each line of a log that another program has forwarded.
///
/// ```text
/// SYSLOG  <190>Dec 17 09:03:01 web1 nginx: 192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] ...
///         <13>Dec 17 09:03:01 web1 192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] ...
///         <190>1 2025-12-17T09:03:01Z web1 nginx 12 - - 192.0.2.7 - - ...
/// DOCKER  {"log":"192.0.2.7 - - ...\n","stream":"stdout","time":"2025-12-17T09:03:01.250Z"}
/// CRI     2025-12-17T09:03:01.250Z stdout F 192.0.2.7 - - ...
/// ```
///
/// Sources: RFC 3164, RFC 5424, `JSONLog` in moby's jsonfilelog, and the log format of Kubernetes'
/// kubelet.
///
/// A format in a wrapper is named `FORMAT in WRAPPER`.
///
/// ```
/// use weir_core::{Format, Wrapper};
///
/// let format = Format::parse("COMBINED")?.wrapped_in(Wrapper::Syslog).unwrap();
/// assert_eq!(format.name(), "COMBINED in SYSLOG");
/// assert_eq!(format.extra_fields(), ["syslog_host", "syslog_tag"]);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// A line that a container runtime has split, because it was long, is not joined: its parts are
/// unparsed.
///
/// A wrapper adds its own time to lines that have none:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Format, LineParser, Record, format_rfc3339};
///
/// let format = Format::parse("$remote_addr $status in CRI")?;
/// let mut parser = LineParser::new(Arc::new(format));
/// let mut record = Record::new();
/// parser.parse(b"2025-12-17T09:03:01.250Z stdout F 192.0.2.7 404", &mut record).unwrap();
/// assert_eq!(format_rfc3339(record.time.unwrap()), "2025-12-17T09:03:01.250Z");
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrapper {
    /// A syslog prefix: RFC 5424, or RFC 3164 with or without its priority, whose time may be
    /// that of RFC 3339.
    ///
    /// It adds the extra fields `syslog_host` and `syslog_tag`.
    Syslog,
    /// The JSON objects of docker's json-file driver, which escape the line.
    ///
    /// It has no time for lines without one.
    Docker,
    /// The prefix of Kubernetes' container runtime interface: time, stream and tag.
    ///
    /// Its time is that of lines without one.
    Cri,
}

impl Wrapper {
    /// All wrappers.
    pub const ALL: [Self; 3] = [Self::Syslog, Self::Docker, Self::Cri];

    /// The name, as in `COMBINED in SYSLOG`.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Wrapper, format_by_name};
    ///
    /// let names = Wrapper::ALL.map(Wrapper::name);
    /// assert_eq!(names, ["SYSLOG", "DOCKER", "CRI"]);
    /// assert!(format_by_name("COMMON in CRI").is_some());
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syslog => "SYSLOG",
            Self::Docker => "DOCKER",
            Self::Cri => "CRI",
        }
    }

    /// Splits ` in SYSLOG` or the like off the end of a format's name or definition.
    pub(in crate::format) fn split(text: &str) -> Option<(&str, Self)> {
        let (format, name) = text.trim_end().rsplit_once(' ')?;
        let format = format.trim_end().strip_suffix("in")?;
        let wrapper = Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name))?;
        format.ends_with(' ').then(|| (format.trim_end(), wrapper))
    }

    /// The names of the extra fields that it adds.
    pub(in crate::format) fn extra_fields(self) -> &'static [&'static str] {
        match self {
            Self::Syslog => &["syslog_host", "syslog_tag"],
            Self::Docker | Self::Cri => &[],
        }
    }

    /// Whether it has a time for lines without one. Docker's time is lost when the line is
    /// unwrapped.
    pub(in crate::format) fn has_time(self) -> bool {
        !matches!(self, Self::Docker)
    }

    /// Whether the line inside is escaped, so that it must be unwrapped before it is parsed.
    pub(in crate::format) fn is_escaped(self) -> bool {
        matches!(self, Self::Docker)
    }

    /// Whether `line` is in this wrapper.
    pub(in crate::format) fn is_around(self, line: &[u8]) -> bool {
        match self {
            Self::Syslog => syslog::read(line).is_ok(),
            Self::Cri => cri(line).is_ok(),
            Self::Docker => docker::is_whole(line),
        }
    }

    /// The line inside a line.
    pub(in crate::format) fn inside(self, line: &[u8]) -> Option<Vec<u8>> {
        let start = match self {
            Self::Syslog => syslog::read(line).ok()?.body,
            Self::Cri => cri(line).ok()?.0,
            Self::Docker => {
                let mut text = Vec::new();
                docker::unwrap(line, &mut text).ok()?;
                return Some(text);
            }
        };
        Some(line[start..].to_vec())
    }

    /// Reads the wrapper and returns the start of the line inside and the wrapper's time. Stores
    /// its extra fields from index `extra` on. An escaping wrapper has been removed before.
    pub(in crate::format) fn read<'a>(
        self,
        line: &'a [u8],
        record: &mut Record<'a>,
        extra: usize,
        year_reference_s: Option<i64>,
    ) -> Result<(usize, Option<Timestamp>), Mismatch> {
        match self {
            Self::Docker => Ok((0, None)),
            Self::Cri => cri(line),
            Self::Syslog => {
                let prefix = syslog::read(line)?;
                if let Some(host) = prefix.host {
                    record.set_extra(extra, host);
                }
                if !prefix.tag.is_empty() {
                    record.set_extra(extra + 1, prefix.tag);
                }
                let time = prefix.time.and_then(|time| time.resolve(year_reference_s));
                Ok((prefix.body, time))
            }
        }
    }
}

/// The mismatch of a line without a time whose wrapper has none either.
pub(in crate::format) const NO_TIME: &str = "neither the line nor its wrapper has a time";

/// Reads `2025-12-17T09:03:01.250531512Z stdout F ` and returns the start of the line after it
/// and the time. A line that the runtime has split (`P`) has to be joined before.
///
/// Source: the kubelet's log format in `pkg/kubelet/kuberuntime/logs` of Kubernetes.
fn cri(line: &[u8]) -> Result<(usize, Option<Timestamp>), Mismatch> {
    let mismatch = |at, reason| Mismatch::new(at, Reason::Form(reason));
    let mut at = 0;
    let mut word = || {
        let rest = &line[at..];
        let length = memchr::memchr(b' ', rest)?;
        at += length + 1;
        Some(&rest[..length])
    };
    let time = word().and_then(parse_rfc3339);
    let time = time.ok_or(mismatch(0, "expected the time of a container runtime"))?;
    let stream = word();
    if !matches!(stream, Some(b"stdout" | b"stderr")) {
        return Err(mismatch(0, "expected stdout or stderr after the time"));
    }
    match word() {
        Some(tags) if tags == b"F" || tags.starts_with(b"F:") => Ok((at, Some(time))),
        Some(tags) if tags == b"P" || tags.starts_with(b"P:") => {
            Err(mismatch(at, "the container runtime has split this line (P)"))
        }
        _ => Err(mismatch(at, "expected F or P after the stream")),
    }
}
