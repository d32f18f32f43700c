//! Helpers of the tests: whole logs, and a strict reader of combined lines.

use weir_demo::{Traffic, TrafficOptions};

/// The whole log of these options.
pub(crate) fn log(options: TrafficOptions) -> Vec<u8> {
    fill(&mut Traffic::new(options), 1 << 20)
}

/// The rest of the traffic, appended in pieces of `bytes`.
pub(crate) fn fill(traffic: &mut Traffic, bytes: usize) -> Vec<u8> {
    let mut log = Vec::new();
    while traffic.fill(&mut log, bytes) > 0 {}
    log
}

/// Lines without their line feeds.
pub(crate) fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    log.strip_suffix(b"\n").expect("a log ends with a line feed").split(|&byte| byte == b'\n')
}

/// The fields of a line in combined format.
#[derive(Debug)]
pub(crate) struct Line<'l> {
    pub(crate) client: &'l [u8],
    /// The text between the brackets.
    pub(crate) time: &'l [u8],
    pub(crate) request: &'l [u8],
    pub(crate) status: u16,
    /// `None` for `-`.
    pub(crate) bytes: Option<u64>,
    pub(crate) referer: &'l [u8],
    pub(crate) agent: &'l [u8],
}

/// Reads exactly `client ident user [time] "request" status bytes "referer" "agent"`.
pub(crate) fn read(line: &[u8]) -> Option<Line<'_>> {
    let (client, rest) = cut(line, b" ")?;
    let (ident, rest) = cut(rest, b" ")?;
    let (user, rest) = cut(rest, b" [")?;
    let (time, rest) = cut(rest, b"] \"")?;
    let (request, rest) = cut(rest, b"\" ")?;
    let (status, rest) = cut(rest, b" ")?;
    let (bytes, rest) = cut(rest, b" \"")?;
    let (referer, rest) = cut(rest, b"\" \"")?;
    let agent = rest.strip_suffix(b"\"")?;
    let status: u16 = std::str::from_utf8(status).ok()?.parse().ok()?;
    let bytes = match bytes {
        b"-" => None,
        digits => Some(std::str::from_utf8(digits).ok()?.parse().ok()?),
    };
    let is_strict = ident == b"-"
        && !client.is_empty()
        && !user.is_empty()
        && is_time(time)
        && (100..600).contains(&status)
        && [request, referer, agent].iter().all(|text| !text.contains(&b'"'));
    is_strict.then_some(Line { client, time, request, status, bytes, referer, agent })
}

fn cut<'l>(text: &'l [u8], separator: &[u8]) -> Option<(&'l [u8], &'l [u8])> {
    let at = text.windows(separator.len()).position(|window| window == separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

/// Whether the text has the shape `02/Nov/2026:00:00:00 +0000`.
fn is_time(time: &[u8]) -> bool {
    let shape = b"00/Aaa/0000:00:00:00 +0000";
    time.len() == shape.len()
        && time.iter().zip(shape).all(|(&byte, &wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_uppercase(),
            b'a' => byte.is_ascii_lowercase(),
            _ => byte == wanted,
        })
}
