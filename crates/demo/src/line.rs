//! Writing a line, clean or dirty, from its parts.

use crate::clock::Clock;
use crate::digits;
use crate::ledger::LedgerEntry;
use crate::outcome::METHODS;
use crate::rng::Rng;
use crate::schedule::TrafficEvent;
use crate::world::{Parts, World};

/// Appends a line.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, clock: &Clock, parts: &Parts<'_>) {
    out.extend_from_slice(parts.client);
    out.extend_from_slice(clock.text());
    out.extend_from_slice(METHODS[usize::from(parts.outcome.method)]);
    out.extend_from_slice(parts.target);
    write_end(out, parts);
}

/// Appends the part of a line after the target.
#[inline]
pub(crate) fn write_end(out: &mut Vec<u8>, parts: &Parts<'_>) {
    out.extend_from_slice(parts.tail);
    match parts.size {
        Some(bytes) => digits::push(out, bytes),
        None => out.push(b'-'),
    }
    out.extend_from_slice(parts.referer);
    out.extend_from_slice(parts.agent);
}

/// The ledger's entry for a line.
pub(crate) fn entry(clock: &Clock, parts: &Parts<'_>) -> LedgerEntry {
    let method = METHODS[usize::from(parts.outcome.method)].trim_ascii_end();
    LedgerEntry {
        now_s: clock.now_s(),
        method: std::str::from_utf8(method).ok(),
        status: parts.outcome.status(),
        bytes_sent: parts.size.unwrap_or(0),
    }
}

/// TLS handshakes on a port without TLS, escaped as web servers log them.
const HELLOS: [&str; 4] = [
    r"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03\x9A\x5C\x0E",
    r"\x16\x03\x01\x00\xEE\x01\x00\x00\xEA\x03\x03",
    r"\x16\x03\x01\x01(\x01\x00\x01$\x03\x03\xD8X\x15",
    r"\x16\x03\x01\x00{\x01\x00\x00w\x03\x03",
];

/// The number of kinds of dirty lines, which alternate.
const KINDS: u64 = 7;

/// Appends the dirty line with this number. Returns `None` if it is not in combined format.
pub(crate) fn write_dirty(
    number: u64,
    out: &mut Vec<u8>,
    clock: &Clock,
    world: &World,
    rng: &mut Rng,
) -> Option<LedgerEntry> {
    match number % KINDS {
        0 => {
            let hello = rng.pick(&HELLOS);
            Some(not_http(out, clock, world.any_client(rng), hello, 400, Some(157)))
        }
        1 => Some(not_http(out, clock, world.any_client(rng), "", 400, Some(0))),
        2 => Some(not_http(out, clock, world.any_client(rng), "-", 408, None)),
        3 => {
            Some(changed(out, clock, Parts { target: b"/caf\xe9?q=na\xefve", ..clean(world, rng) }))
        }
        4 => {
            let agent = b"Mozilla/5.0 (\\\"quoted\\\"; back\\\\slash\\\\)\"\n";
            Some(changed(out, clock, Parts { agent, ..clean(world, rng) }))
        }
        5 => {
            // A truncated line, without its closing quote.
            let start = out.len();
            write(out, clock, &clean(world, rng));
            let bytes = (out.len() - start) as u32;
            out.truncate(start + rng.between(1, bytes - 2) as usize);
            out.push(b'\n');
            None
        }
        _ => {
            write(out, clock, &clean(world, rng));
            out.truncate(out.len() - 2);
            out.push(b'\n');
            None
        }
    }
}

fn clean<'w>(world: &'w World, rng: &mut Rng) -> Parts<'w> {
    world.parts(TrafficEvent::None, rng)
}

fn changed(out: &mut Vec<u8>, clock: &Clock, parts: Parts<'_>) -> LedgerEntry {
    write(out, clock, &parts);
    entry(clock, &parts)
}

fn not_http(
    out: &mut Vec<u8>,
    clock: &Clock,
    client: &[u8],
    request: &str,
    status: u16,
    size: Option<u32>,
) -> LedgerEntry {
    let bytes = size.map_or_else(|| "-".to_owned(), |size| size.to_string());
    out.extend_from_slice(client);
    out.extend_from_slice(clock.text());
    out.extend_from_slice(format!("{request}\" {status} {bytes} \"-\" \"-\"\n").as_bytes());
    LedgerEntry { now_s: clock.now_s(), method: None, status, bytes_sent: size.unwrap_or(0) }
}
