//! The messages of Linux' packet filter (the LOG targets of iptables and nftables, and UFW,
//! which uses them) after a syslog prefix.
//!
//! ```text
//! Dec 17 09:03:01 fw kernel: [123.456] [UFW BLOCK] IN=eth0 OUT= SRC=192.0.2.1 PROTO=TCP
//! syslog prefix              uptime    prefix of the rule, then keys and values
//! ```
//!
//! The firewall of Proxmox VE writes the same packets after a prefix of its own:
//!
//! ```text
//! 100 6 tap100i0-IN 17/Dec/2025:09:03:01 +0100 DROP: IN=fwbr100i0 SRC=192.0.2.1 PROTO=TCP
//! ```
//!
//! The source address is the client and the protocol of the packet is the protocol. No notation can
//! describe it: the prefix of a rule is free text, and the keys differ by protocol.
//!
//! Source: `nf_log_ipv4.c`, `nf_log_ipv6.c` and `nf_log_dump_packet_common` in Linux, and the
//! manual of UFW. Of Proxmox: `log_packet` in pve-firewall's pvefw-logger.c.
//!
//! The values of a packet are words `KEY=value` in an order that the kernel fixes; keys without a
//! value, such as `SYN`, are skipped. A message about an ICMP error has the offending packet in
//! brackets after its own values, which is not read.

use memchr::{memchr, memmem};

use super::cursor::mismatch;
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::format::program::wrapper::syslog;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::{CLF_LENGTH, Timestamp, is_host, parse_clf};

pub(super) const FIREWALL: Definition = Definition {
    name: "FIREWALL",
    kind: RecordKind::FirewallEvent,
    fields: &[Field::Client, Field::Protocol, Field::Time],
    extra_fields: &["action", "dst-ip", "src-port", "dst-port", "in", "out", "size"],
    parse,
    needed_bytes: b"=",
    lacks_year: true,
};

/// The keys of the extra fields and their indexes. The first extra field, the action, has none.
const KEYS: [(&[u8], usize); 6] =
    [(b"DST", 1), (b"SPT", 2), (b"DPT", 3), (b"IN", 4), (b"OUT", 5), (b"LEN", 6)];

/// Names of network interfaces are shorter than this (`IFNAMSIZ` in Linux).
const INTERFACE_BYTES_MAX: usize = 16;

fn parse<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let proxmox = proxmox_prefix(line);
    let body_at = match proxmox {
        Some((time, body_at)) => {
            record.time = Some(time);
            body_at
        }
        None => {
            let prefix = syslog::read(line)?;
            let time = prefix.time.and_then(|time| time.resolve(state.year_reference_s));
            let time = time.ok_or(mismatch(0, "expected a syslog time such as Dec 17 09:03:01"));
            record.time = Some(time?);
            prefix.body
        }
    };
    let body = &line[body_at..];
    let uptime = uptime_length(body);
    let start = match proxmox {
        Some(_) => memmem::find(&body[uptime..], b"IN="),
        None => find_start(&body[uptime..]),
    };
    let start = start.ok_or(mismatch(body_at + uptime, "expected `IN=` and `OUT=` of a packet"))?;
    let start = uptime + start;
    if let Some(action) = action(&body[uptime..start]) {
        record.set_extra(0, action);
    }
    for word in body[start..].split(|byte| *byte == b' ') {
        // An ICMP message has the packet that it refers to in brackets.
        if word.first() == Some(&b'[') {
            break;
        }
        if let Some(equals) = memchr(b'=', word) {
            set(&word[..equals], &word[equals + 1..], record);
        }
    }
    match record.text(Field::Client) {
        Some(client) if is_host(client) => Ok(()),
        Some(_) => Err(mismatch(body_at, "the `SRC=` of the packet is not an address")),
        None => Err(mismatch(line.len(), "expected the `SRC=` of a packet")),
    }
}

/// The time of a line that the firewall of Proxmox wrote, and the offset of the rule's prefix.
/// Before it stand the number of the machine, a level, the chain, and the time of the common log
/// format.
fn proxmox_prefix(line: &[u8]) -> Option<(Timestamp, usize)> {
    let mut at = 0;
    for is_number in [true, true, false] {
        let word = &line[at..at + memchr(b' ', &line[at..])?];
        if word.is_empty() || is_number && !word.iter().all(u8::is_ascii_digit) {
            return None;
        }
        at += word.len() + 1;
    }
    let time = parse_clf(line.get(at..)?.first_chunk::<CLF_LENGTH>()?)?;
    let body_at = at + CLF_LENGTH + 1;
    (line.get(body_at - 1) == Some(&b' ')).then_some((time, body_at))
}

/// The length of the kernel's uptime, seconds in brackets, with the space after it.
fn uptime_length(body: &[u8]) -> usize {
    let Some(inside) = body.strip_prefix(b"[") else { return 0 };
    let is_number = |byte: &&u8| byte.is_ascii_digit() || matches!(**byte, b'.' | b' ');
    let length = inside.iter().take_while(is_number).count();
    if length > 0 && inside[length..].starts_with(b"] ") { length + 3 } else { 0 }
}

/// The start of the packet: the first `IN=` before an `OUT=`. The prefix of the rule precedes
/// it, often without a space in between.
fn find_start(text: &[u8]) -> Option<usize> {
    memmem::find_iter(text, b"IN=").find(|at| {
        let rest = &text[at + 3..];
        let interface = &rest[..rest.len().min(INTERFACE_BYTES_MAX)];
        let end = memchr(b' ', interface);
        end.is_some_and(|end| rest[end..].starts_with(b" OUT="))
    })
}

/// The action in the prefix of a rule: `BLOCK` in `[UFW BLOCK]`, otherwise the prefix without
/// the punctuation around it.
fn action(prefix: &[u8]) -> Option<&[u8]> {
    let is_punctuation = |byte: &u8| matches!(byte, b' ' | b':' | b'[' | b']' | b'-' | b',');
    let start = prefix.iter().position(|byte| !is_punctuation(byte))?;
    let end = prefix.iter().rposition(|byte| !is_punctuation(byte))? + 1;
    let text = &prefix[start..end];
    Some(text.strip_prefix(b"UFW ").unwrap_or(text))
}

/// Stores the value of a key. Only the first counts; later ones belong to other layers.
fn set<'a>(key: &[u8], value: &'a [u8], record: &mut Record<'a>) {
    let field = match key {
        b"SRC" => Field::Client,
        b"PROTO" => Field::Protocol,
        _ => {
            let extra = KEYS.iter().find(|(name, _)| *name == key);
            if let Some((_, index)) = extra
                && record.extra(*index).is_none()
                && !value.is_empty()
            {
                record.set_extra(*index, value);
            }
            return;
        }
    };
    if record.text(field).is_none() && !value.is_empty() {
        record.set_text(field, value);
    }
}
