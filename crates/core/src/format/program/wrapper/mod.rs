//! What stands around a log's lines when something else has passed them on: a syslog prefix,
//! or the files of a container runtime.

mod docker;
pub(in crate::format) mod syslog;

pub(in crate::format) use docker::DockerReader;

use crate::format::program::mismatch::{Mismatch, Reason};
use crate::record::Record;
use crate::value::{Timestamp, parse_rfc3339};

/// What a format's lines are wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapper {
    /// A prefix of syslog: RFC 3164 with or without its priority, also with a time as RFC 3339
    /// has it, or RFC 5424.
    Syslog,
    /// The lines of docker's json-file driver.
    Docker,
    /// The lines of the container runtime interface of Kubernetes.
    Cri,
}

impl Wrapper {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Syslog, Self::Docker, Self::Cri];

    /// The name behind `in`, as in `COMBINED in SYSLOG`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syslog => "SYSLOG",
            Self::Docker => "DOCKER",
            Self::Cri => "CRI",
        }
    }

    /// Takes ` in SYSLOG` and the like off the end of a format's name or definition.
    pub(in crate::format) fn split(text: &str) -> Option<(&str, Self)> {
        let (format, name) = text.trim_end().rsplit_once(' ')?;
        let format = format.trim_end().strip_suffix("in")?;
        let wrapper = Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name))?;
        format.ends_with(' ').then(|| (format.trim_end(), wrapper))
    }

    /// The names of the fields that it adds.
    pub(in crate::format) fn extra_fields(self) -> &'static [&'static str] {
        match self {
            Self::Syslog => &["syslog_host", "syslog_tag"],
            Self::Docker | Self::Cri => &[],
        }
    }

    /// True where it has a time for lines that have none. Docker's is gone when the line is
    /// unwrapped.
    pub(in crate::format) fn has_time(self) -> bool {
        !matches!(self, Self::Docker)
    }

    /// True where the line inside is escaped, so that it has to be written anew.
    pub(in crate::format) fn is_escaped(self) -> bool {
        matches!(self, Self::Docker)
    }

    /// True where it stands around this line.
    pub(in crate::format) fn is_around(self, line: &[u8]) -> bool {
        match self {
            Self::Syslog => syslog::read(line).is_ok(),
            Self::Cri => cri(line).is_ok(),
            Self::Docker => DockerReader::new().unwrap(line, &mut Vec::new()).is_ok(),
        }
    }

    /// Where the line inside starts, and its time; sets the wrapper's own fields, from `extra`
    /// on. Of an escaped wrapper nothing is left to be read.
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
                record.set_extra(extra + 1, prefix.tag);
                let time = prefix.time.and_then(|time| time.resolve(year_reference_s));
                Ok((prefix.body, time))
            }
        }
    }
}

/// A line has no time where its format has none, and neither has its wrapper.
pub(in crate::format) const NO_TIME: &str = "neither the line nor what is around it has a time";

/// `2025-12-17T09:03:01.250531512Z stdout F ` and the line. A line that the runtime has split
/// (`P`) is not put together again.
///
/// Source: the kubelet's log format in `pkg/kubelet/kuberuntime/logs` of Kubernetes.
fn cri(line: &[u8]) -> Result<(usize, Option<Timestamp>), Mismatch> {
    let misfit = |at, reason| Mismatch::new(at, Reason::Form(reason));
    let mut at = 0;
    let mut word = || {
        let rest = &line[at..];
        let length = memchr::memchr(b' ', rest)?;
        at += length + 1;
        Some(&rest[..length])
    };
    let time = word().and_then(parse_rfc3339);
    let time = time.ok_or(misfit(0, "expected the time of a container's line"))?;
    let stream = word();
    if !matches!(stream, Some(b"stdout" | b"stderr")) {
        return Err(misfit(0, "expected stdout or stderr behind the time"));
    }
    match word() {
        Some(tags) if tags == b"F" || tags.starts_with(b"F:") => Ok((at, Some(time))),
        Some(tags) if tags == b"P" || tags.starts_with(b"P:") => {
            Err(misfit(at, "the container runtime has split this line (P)"))
        }
        _ => Err(misfit(at, "expected F or P behind the stream")),
    }
}
