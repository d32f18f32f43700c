//! Where addresses may stand in a text.
//!
//! A *run* is a longest piece of a text that has only hexadecimal digits, points and colons, of which
//! the last two may be percent-encoded. An escape such as `%20`, `\x22` or `\u0022` is no part of a run.
//!
//! In a run, these are addresses:
//!
//! 1. Four decimal numbers up to 255 with a point between them, unless a point and another number stand
//!    before or after them. They may have leading zeros, letters beside them (`v192.0.2.7`), and a time
//!    before them (`10:00:00.192.0.2.7`).
//! 2. What is an IPv6 address as a whole, apart from points and single colons at its ends.
//! 3. What is not one, but has `::` or eight groups, such as `face2001:db8::7`, or an address with a
//!    port without brackets. It is ambiguous, so it loses all that follows the bits that stay.
//!
//! Names such as `Cache::Base` have a run of the second or third kind, `e::Ba`. They stay: letters touch
//! it, or it is not an address, and it has no decimal digit. `Base64::decode` stays because letters touch
//! its run, whose first group does not have the four digits with which all networks of clients begin.
//! Fingerprints stay too, which are more than eight groups of two digits.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::AddressMask;

/// The length of `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`, the longest address.
const ADDRESS_BYTES_MAX: usize = 45;

/// The shortest address, `::`, has as many bytes.
const RUN_BYTES_MIN: usize = 2;

/// The groups of an IPv6 address, and the most digits of one.
const V6_GROUPS: usize = 8;
const V6_GROUP_DIGITS_MAX: usize = 4;

/// What touches a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// No letter or digit.
    Nothing,
    /// Before it, the digits of an escaped character, which may be those of an address.
    Escape,
    Letters,
}

impl Beside {
    /// What touches the run of a text from a start to an end.
    pub(super) fn of(text: &[u8], (start, end): (usize, usize)) -> Self {
        let before = start.checked_sub(1).map(|at| text[at]);
        // Other digits would be a part of the run.
        if before.is_some_and(|byte| byte.is_ascii_hexdigit()) {
            return Self::Escape;
        }
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric();
        match before.iter().chain(text.get(end)).any(is_letter) {
            true => Self::Letters,
            false => Self::Nothing,
        }
    }
}

/// Returns the start and the end of each run that may have an address.
pub(super) fn runs(text: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let (start, mut marks) = (at, 0);
            while let Some((length, is_mark)) = sign(&text[at..]) {
                marks += usize::from(is_mark);
                at += length;
            }
            if marks >= 2 && at - start >= RUN_BYTES_MIN {
                return Some((start, at));
            }
            if at == start {
                at += escape(&text[at..]).unwrap_or(1);
            }
        }
        None
    })
}

/// The length of the sign of a run at the start of a text, and whether it is a point or a colon.
fn sign(text: &[u8]) -> Option<(usize, bool)> {
    match text {
        [b'.' | b':', ..] => Some((1, true)),
        [b'%', b'3', b'a' | b'A', ..] | [b'%', b'2', b'e' | b'E', ..] => Some((3, true)),
        [byte, ..] if byte.is_ascii_hexdigit() => Some((1, false)),
        _ => None,
    }
}

/// The length of an escaped character at the start of a text. `%10.0.0.1` is an address after `%`.
fn escape(text: &[u8]) -> Option<usize> {
    let (before, digits) = match text {
        [b'%', ..] => (1, 2),
        [b'\\', b'x', ..] => (2, 2),
        [b'\\', b'u', ..] => (2, 4),
        _ => return None,
    };
    let escaped = text.get(before..before + digits)?;
    let goes_on = |run: &[u8]| v4_spots(run).next().is_some_and(|(start, ..)| start < digits);
    let is_escape = escaped.iter().all(u8::is_ascii_hexdigit);
    let has_mark = || matches!(sign(&text[before + digits..]), Some((_, true)));
    let is_address = || has_mark() && goes_on(&decoded(&text[before..]));
    (is_escape && !is_address()).then_some(before + digits)
}

/// Returns a run with the last bits of its addresses hidden; `None` if it has none.
pub(super) fn without_last_bits(run: &[u8], beside: Beside, mask: &AddressMask) -> Option<Vec<u8>> {
    if !run.contains(&b'%') {
        return hidden(run, beside, mask);
    }
    let hidden = hidden(&decoded(run), beside, mask)?;
    // A plain colon stays one.
    Some(if run.contains(&b':') { hidden } else { encoded(&hidden) })
}

/// The run at the start of a text, without percent-encoding.
fn decoded(run: &[u8]) -> Vec<u8> {
    let (mut plain, mut at) = (Vec::with_capacity(run.len()), 0);
    while let Some((length, _)) = sign(&run[at..]) {
        plain.push(match run[at..at + length] {
            [_, b'3', _] => b':',
            [_, b'2', _] => b'.',
            _ => run[at],
        });
        at += length;
    }
    plain
}

fn encoded(run: &[u8]) -> Vec<u8> {
    let encode = |byte: &u8| if *byte == b':' { b"%3A".to_vec() } else { vec![*byte] };
    run.iter().flat_map(encode).collect()
}

fn hidden(run: &[u8], beside: Beside, mask: &AddressMask) -> Option<Vec<u8>> {
    let (start, end) = inside(run);
    if beside == Beside::Nothing
        && let Some(address) = parsed(&run[start..end])
    {
        let hidden = mask.hide_address(address).to_string();
        return Some([&run[..start], hidden.as_bytes(), &run[end..]].concat());
    }
    let (mut hidden, mut done) = (Vec::with_capacity(run.len()), 0);
    let mut is_changed = false;
    for spot in v4_spots(run).map(Some).chain([None]) {
        let between_end = spot.map_or(run.len(), |(start, ..)| start);
        let between = &run[done..between_end];
        let mut at = done;
        for part in between.split_inclusive(|byte| *byte == b'.') {
            at += part.len();
            let is_before_v4 = spot.is_some() && at == between_end && part.ends_with(b":");
            let beside = match beside {
                // A point, or an address of IPv4.
                Beside::Nothing if part.len() < run.len() => Beside::Letters,
                beside => beside,
            };
            let part_hidden = hidden_v6(part, (beside, is_before_v4), mask);
            is_changed |= part_hidden.is_some();
            hidden.extend_from_slice(&part_hidden.unwrap_or_else(|| part.to_vec()));
        }
        if let Some((_, end, address)) = spot {
            hidden.extend_from_slice(mask.hide_address(address.into()).to_string().as_bytes());
            (done, is_changed) = (end, true);
        }
    }
    is_changed.then_some(hidden)
}

/// Where a run begins and ends without the points and colons of a sentence.
fn inside(run: &[u8]) -> (usize, usize) {
    let (mut start, mut end) = (0, run.len());
    while let [b'.', ..] | [b':', b'.', ..] | [b':', b':', b':', ..] = &run[start..end] {
        start += 1;
    }
    while let [.., b'.'] | [.., b'.', b':'] | [.., b':', b':', b':'] = &run[start..end] {
        end -= 1;
    }
    match &run[start..end] {
        [b':', b':', ..] | [] => {}
        [b':', ..] => start += 1,
        _ => {}
    }
    match &run[start..end] {
        [.., b':', b':'] | [] => {}
        [.., b':'] => end -= 1,
        _ => {}
    }
    (start, end)
}

fn parsed(text: &[u8]) -> Option<IpAddr> {
    let text = Some(text).filter(|text| text.len() <= ADDRESS_BYTES_MAX)?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The addresses of IPv4 in a run, with their starts and ends.
fn v4_spots(run: &[u8]) -> impl Iterator<Item = (usize, usize, Ipv4Addr)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < run.len() {
            let start = at;
            let numbers = Numbers::read(run, start);
            at = numbers.end.max(start + 1);
            let (start, octets) = match numbers.count {
                4 => (start, &numbers.octets[..4]),
                5 if is_second(&run[..start], numbers.second - start) => {
                    (numbers.second, &numbers.octets[1..])
                }
                _ => continue,
            };
            if let [Some(a), Some(b), Some(c), Some(d)] = *octets {
                return Some((start, numbers.end, Ipv4Addr::new(a, b, c, d)));
            }
        }
        None
    })
}

/// Decimal numbers with points between them.
#[derive(Debug, Default)]
struct Numbers {
    count: usize,
    /// The first ones; `None` for those that are no octet.
    octets: [Option<u8>; 5],
    /// Where the second one begins.
    second: usize,
    end: usize,
}

impl Numbers {
    fn read(run: &[u8], start: usize) -> Self {
        let (mut numbers, mut at) = (Self { end: start, ..Self::default() }, start);
        while let (digits @ 1.., value) = number(&run[at..]) {
            if let Some(octet) = numbers.octets.get_mut(numbers.count) {
                *octet = value;
            }
            numbers.count += 1;
            numbers.end = at + digits;
            at = numbers.end + 1;
            if numbers.count == 1 {
                numbers.second = at;
            }
            if run.get(numbers.end) != Some(&b'.') || !run.get(at).is_some_and(u8::is_ascii_digit) {
                break;
            }
        }
        numbers
    }
}

/// Whether a number with a point, which have so many bytes, are the seconds of a time.
fn is_second(before: &[u8], bytes: usize) -> bool {
    let is_minute = |minute: &[u8]| minute.iter().all(u8::is_ascii_digit);
    bytes == 3 && matches!(before, [.., a, b, b':'] if is_minute(&[*a, *b]))
}

/// The number of digits at the start of a text, and their value if it is an octet.
fn number(text: &[u8]) -> (usize, Option<u8>) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..digits]
        .iter()
        .try_fold(0_u8, |sum, digit| sum.checked_mul(10)?.checked_add(digit - b'0'));
    (digits, value)
}

/// Hides the end of what is or may be an IPv6 address, in a part of a run without addresses of IPv4.
/// One that follows a part is its last two groups.
fn hidden_v6(
    part: &[u8],
    (beside, is_before_v4): (Beside, bool),
    mask: &AddressMask,
) -> Option<Vec<u8>> {
    let (mut start, end) = inside(part);
    // Digits of hexadecimal that touch the first group are letters of a word.
    let digits = part[start..end].iter().take_while(|byte| **byte != b':').count();
    start += digits.saturating_sub(V6_GROUP_DIGITS_MAX);
    let body = &part[start..end];
    let groups: Vec<&[u8]> = body.split(|byte| *byte == b':').collect();
    let is_compressed = body.windows(2).any(|pair| pair == b"::");
    let count = groups.len() + if is_before_v4 { 2 } else { 0 };
    // Those of hardware have six groups.
    let is_fingerprint =
        (count > V6_GROUPS || is_before_v4) && groups.iter().all(|group| group.len() == 2);
    let may_be_address = is_compressed || count >= V6_GROUPS && !is_fingerprint;
    let first = groups.iter().find(|group| !group.is_empty())?;
    let is_name = beside == Beside::Letters && is_compressed && first.len() < V6_GROUP_DIGITS_MAX;
    if !may_be_address || is_name {
        return None;
    }
    let address = parsed(body);
    if (beside != Beside::Nothing || address.is_none()) && !body.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let address = address.unwrap_or_else(|| beginning(&groups, mask.v6_groups()).into());
    let hidden = mask.hide_address(address).to_string();
    Some([&part[..start], hidden.as_bytes(), &part[end..]].concat())
}

/// The address of which only the first groups are known.
fn beginning(groups: &[&[u8]], count: usize) -> Ipv6Addr {
    let mut segments = [0; V6_GROUPS];
    for (segment, group) in segments.iter_mut().zip(groups).take(count) {
        let text = std::str::from_utf8(group).ok().filter(|it| it.len() <= V6_GROUP_DIGITS_MAX);
        match text.and_then(|text| u16::from_str_radix(text, 16).ok()) {
            Some(value) => *segment = value,
            None => break,
        }
    }
    Ipv6Addr::from(segments)
}
