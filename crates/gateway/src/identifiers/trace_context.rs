//! `traceparent` and `tracestate` ([W3C Trace Context](https://www.w3.org/TR/trace-context/)): the
//! trace of a request.
//!
//! Both fields are forwarded unchanged. By section 3.2.3, services that add no spans should not
//! parse the version, so only the parts that all versions share are checked. A service at a trust
//! boundary may start a new trace instead. If the gateway exports spans, `traces` later sets one of
//! them as the parent.

use hyper::HeaderMap;
use hyper::header::HeaderValue;

use super::{TRACEPARENT, TRACESTATE, TraceMode, random_hex};

/// The id of a trace: 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceId([u8; 32]);

impl TraceId {
    /// A new id; `None` if the system has no random bytes.
    pub(crate) fn random() -> Option<Self> {
        random_hex::<16>()?.into_bytes().try_into().ok().map(Self)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The digits as text.
    pub(crate) fn as_str(&self) -> &str {
        digits(&self.0)
    }
}

/// The id of a span: 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanId([u8; 16]);

impl SpanId {
    /// A new id; `None` if the system has no random bytes.
    pub(crate) fn random() -> Option<Self> {
        random_hex::<8>()?.into_bytes().try_into().ok().map(Self)
    }

    /// The digits as text.
    pub(crate) fn as_str(&self) -> &str {
        digits(&self.0)
    }
}

/// Returns digits as text. They were checked when they were parsed.
fn digits(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The trace of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) id: TraceId,
    /// The span of the sender; `None` if the trace begins here.
    pub(crate) parent: Option<ParentSpan>,
}

/// The sender's span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParentSpan {
    pub(crate) id: SpanId,
    /// Whether the sender may have recorded it (the flag `sampled`, section 3.2.2.5.1).
    pub(crate) is_sampled: bool,
}

/// The length of a field of version 00, and the least length of all versions.
const BYTES_MIN: usize = 55;

/// Keeps a valid trace, starts a new one if `mode` requires it, and removes invalid fields. Returns
/// the trace.
pub(super) fn apply_trace_mode(
    headers: &mut HeaderMap,
    mode: TraceMode,
    is_trusted: bool,
) -> Option<Trace> {
    let is_kept = is_trusted || mode == TraceMode::Forward;
    if let Some(trace) = incoming_trace(headers).filter(|_| is_kept) {
        return Some(trace);
    }
    // A state without a trace has no meaning.
    headers.remove(TRACEPARENT);
    headers.remove(TRACESTATE);
    if mode == TraceMode::Forward {
        return None;
    }
    let (id, span) = (TraceId::random()?, SpanId::random()?);
    // The sampling decision is made later, so the flag `sampled` is off.
    let field = HeaderValue::from_str(&format!("00-{}-{}-00", id.as_str(), span.as_str())).ok()?;
    headers.insert(TRACEPARENT, field);
    Some(Trace { id, parent: None })
}

fn incoming_trace(headers: &HeaderMap) -> Option<Trace> {
    let mut fields = headers.get_all(TRACEPARENT).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return None };
    parse_trace(field.as_bytes())
}

/// Parses a field: `version-trace-parent-flags`. A higher version may have more after another
/// hyphen.
fn parse_trace(field: &[u8]) -> Option<Trace> {
    let (known, more) = field.split_at_checked(BYTES_MIN)?;
    let mut parts = known.split(|byte| *byte == b'-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let (parent, flags) = (parts.next()?, parts.next()?);
    let lengths = [version, trace, parent, flags].map(<[u8]>::len);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_hex = [version, trace, parent, flags].concat().iter().all(is_digit);
    let is_zero = |part: &[u8]| part.iter().all(|byte| *byte == b'0');
    let has_valid_end = more.is_empty() || (version != b"00" && more.first() == Some(&b'-'));
    let is_valid = lengths == [2, 32, 16, 2]
        && is_hex
        && parts.next().is_none()
        && version != b"ff"
        && !is_zero(trace)
        && !is_zero(parent)
        && has_valid_end;
    if !is_valid {
        return None;
    }
    let flags = u8::from_str_radix(std::str::from_utf8(flags).ok()?, 16).ok()?;
    let id = SpanId(parent.try_into().ok()?);
    let parent = ParentSpan { id, is_sampled: flags & 1 == 1 };
    Some(Trace { id: TraceId(trace.try_into().ok()?), parent: Some(parent) })
}

#[cfg(test)]
mod tests {
    use super::{
        HeaderMap, HeaderValue, TRACEPARENT, TRACESTATE, TraceMode, apply_trace_mode, parse_trace,
    };

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn valid_fields_have_a_trace() {
        let later = format!("01{}", &VALID[2..]);
        for (field, is_valid) in [
            (VALID, true),
            (&*later, true),
            (&format!("{later}-more"), true),
            (&format!("{later}more"), false),
            (&format!("{VALID}-more"), false),
            (&format!("{VALID} "), false),
            (&VALID[..54], false),
            (&VALID.to_uppercase(), false),
            (&VALID.replace("0af7", "0AF7"), false),
            (&VALID.replace("0af7", "0ag7"), false),
            (&format!("ff{}", &VALID[2..]), false),
            (&format!("0x{}", &VALID[2..]), false),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x", false),
            ("00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01", false),
            ("", false),
        ] {
            assert_eq!(parse_trace(field.as_bytes()).is_some(), is_valid, "{field}");
        }
        let valid = parse_trace(VALID.as_bytes()).expect("valid");
        assert_eq!(valid.id.as_bytes(), b"0af7651916cd43dd8448eb211c80319c");
        let parent = valid.parent.expect("a sender");
        assert_eq!(parent.id.as_str(), "b7ad6b7169203331");
        for (flags, is_sampled) in [("00", false), ("01", true), ("02", false), ("ff", true)] {
            let field = format!("{}{flags}", &VALID[..53]);
            let parent = parse_trace(field.as_bytes()).and_then(|it| it.parent);
            assert_eq!(parent.map(|it| it.is_sampled), Some(is_sampled), "{flags}");
        }
    }

    /// Returns the `traceparent` fields that are forwarded, and whether the state is.
    fn settled(fields: &[&'static str], mode: TraceMode, is_trusted: bool) -> (Vec<String>, bool) {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(TRACEPARENT, HeaderValue::from_static(field));
        }
        headers.insert(TRACESTATE, HeaderValue::from_static("congo=t61rcWkgMzE"));
        let id = apply_trace_mode(&mut headers, mode, is_trusted).map(|it| it.id);
        let sent = headers.get_all(TRACEPARENT).iter();
        let sent: Vec<String> = sent.map(|it| it.to_str().expect("ASCII").to_owned()).collect();
        let first = sent.first().and_then(|sent| parse_trace(sent.as_bytes())).map(|it| it.id);
        assert_eq!(id, first, "the id is that of what is sent");
        (sent, headers.contains_key(TRACESTATE))
    }

    #[test]
    fn traces_are_passed_on_or_begin_anew() {
        use TraceMode::{Forward, Restart};
        let kept = || (vec![VALID.to_owned()], true);
        for is_trusted in [true, false] {
            assert_eq!(settled(&[VALID], Forward, is_trusted), kept());
            for invalid in [&["00-x"][..], &[VALID, VALID], &[]] {
                assert_eq!(settled(invalid, Forward, is_trusted), (Vec::new(), false));
            }
        }
        assert_eq!(settled(&[VALID], Restart, true), kept());
        for (fields, is_trusted) in [(&[VALID][..], false), (&["00-x"], true), (&[], false)] {
            let (sent, has_state) = settled(fields, Restart, is_trusted);
            assert!(sent.len() == 1 && sent[0] != VALID && !has_state, "{sent:?}");
        }
    }
}
