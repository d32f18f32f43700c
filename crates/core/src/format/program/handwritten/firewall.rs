//! The lines of the kernel's packet filter: iptables' and nftables' LOG, and UFW's, which is
//! made of them. They stand behind a syslog prefix.
//!
//! Source: `nf_log_ipv4.c`, `nf_log_ipv6.c` and `nf_log_dump_packet_common` in Linux, and the
//! manual of UFW.

use memchr::{memchr, memmem};

use super::cursor::misfit;
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::format::program::wrapper::syslog;
use crate::record::Record;
use crate::schema::RecordKind;

pub(super) const FIREWALL: Definition = Definition {
    name: "FIREWALL",
    kind: RecordKind::FirewallEvent,
    fields: &[Field::Client, Field::Protocol, Field::Time],
    extra_fields: &["action", "dst-ip", "src-port", "dst-port", "in", "out", "size"],
    parse,
    lacks_year: true,
};

/// The keys of the format's own fields, from the second on.
const KEYS: [(&[u8], usize); 6] =
    [(b"DST", 1), (b"SPT", 2), (b"DPT", 3), (b"IN", 4), (b"OUT", 5), (b"LEN", 6)];

/// Names of network interfaces are shorter than this (`IFNAMSIZ` in Linux).
const INTERFACE_BYTES_MAX: usize = 16;

fn parse<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let prefix = syslog::read(line)?;
    let time = prefix.time.and_then(|time| time.resolve(state.year_reference_s));
    record.time = Some(time.ok_or(misfit(0, "the time is none"))?);
    let body = &line[prefix.body..];
    let uptime = uptime_length(body);
    let start = find_start(&body[uptime..])
        .ok_or(misfit(prefix.body + uptime, "expected `IN=` and `OUT=` of a packet"))?;
    let start = uptime + start;
    if let Some(action) = action(&body[uptime..start]) {
        record.set_extra(0, action);
    }
    for word in body[start..].split(|byte| *byte == b' ') {
        // The packet that an ICMP message is about stands in brackets.
        if word.first() == Some(&b'[') {
            break;
        }
        if let Some(equals) = memchr(b'=', word) {
            set(&word[..equals], &word[equals + 1..], record);
        }
    }
    match record.text(Field::Client) {
        Some(_) => Ok(()),
        None => Err(misfit(line.len(), "the packet has no `SRC=`")),
    }
}

/// The kernel's seconds since its start in brackets, and the space behind them.
fn uptime_length(body: &[u8]) -> usize {
    let Some(inside) = body.strip_prefix(b"[") else { return 0 };
    let is_number = |byte: &&u8| byte.is_ascii_digit() || matches!(**byte, b'.' | b' ');
    let length = inside.iter().take_while(is_number).count();
    if length > 0 && inside[length..].starts_with(b"] ") { length + 3 } else { 0 }
}

/// Where the packet starts: the first `IN=` that `OUT=` follows. In front of it stands what the
/// rule gives, often without a space between.
fn find_start(text: &[u8]) -> Option<usize> {
    memmem::find_iter(text, b"IN=").find(|at| {
        let rest = &text[at + 3..];
        let interface = &rest[..rest.len().min(INTERFACE_BYTES_MAX)];
        let end = memchr(b' ', interface);
        end.is_some_and(|end| rest[end..].starts_with(b" OUT="))
    })
}

/// What the rule's prefix says: `BLOCK` of `[UFW BLOCK]`, or all of it without the signs
/// around it.
fn action(prefix: &[u8]) -> Option<&[u8]> {
    let is_sign = |byte: &u8| matches!(byte, b' ' | b':' | b'[' | b']' | b'-' | b',');
    let start = prefix.iter().position(|byte| !is_sign(byte))?;
    let end = prefix.iter().rposition(|byte| !is_sign(byte))? + 1;
    let text = &prefix[start..end];
    Some(text.strip_prefix(b"UFW ").unwrap_or(text))
}

/// Sets a key's value, where it is the first: later ones belong to other layers.
fn set<'a>(key: &[u8], value: &'a [u8], record: &mut Record<'a>) {
    let field = match key {
        b"SRC" => Field::Client,
        b"PROTO" => Field::Protocol,
        _ => {
            let own = KEYS.iter().find(|(name, _)| *name == key);
            if let Some((_, index)) = own
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
