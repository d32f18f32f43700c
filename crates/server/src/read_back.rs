//! Lines that are read back from the files of their sources.

use std::net::IpAddr;

use weir_ingest::SourceProgress;

/// Returns why the lines of a source cannot be read again.
pub(crate) fn unreadable_reason(source: &SourceProgress) -> String {
    let name = source.name();
    if source.is_restored() {
        return format!(
            "{name} was read before it was saved, and a saved data set has no lines; open the log itself"
        );
    }
    let is_table = || source.snapshot().format.is_some_and(|format| format.is_packed());
    match source.is_packed() {
        true if is_table() => {
            format!("{name} is a table, which has no lines; save its records as CSV or JSON lines")
        }
        true => format!("{name} was unpacked while it was read, and its lines were not kept"),
        false => format!("{name} was a stream, or was truncated; its lines were not kept"),
    }
}

/// Returns whether a line may belong to a client: it must contain the client's address, in any of its
/// spellings. Host names can be spelled in several ways, so for them it returns true.
pub(crate) fn may_belong_to(client: Option<&str>, line: &[u8]) -> bool {
    let address = client.and_then(|client| Some((client, client.parse::<IpAddr>().ok()?)));
    let Some((client, address)) = address else { return true };
    line.windows(client.len()).any(|part| part == client.as_bytes()) || has_address(line, address)
}

/// Returns whether a line contains an address in a spelling of IPv6.
fn has_address(line: &[u8], address: IpAddr) -> bool {
    let is_of_address = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let mut parts = line.split(|byte| !is_of_address(byte)).filter(|part| part.contains(&b':'));
    parts.any(|part| {
        let part = part.strip_suffix(b":").filter(|it| !it.ends_with(b":")).unwrap_or(part);
        let parsed = std::str::from_utf8(part).ok().and_then(|it| it.parse::<IpAddr>().ok());
        parsed.is_some_and(|own| own.to_canonical() == address.to_canonical())
    })
}

#[cfg(test)]
mod tests {
    use super::may_belong_to;

    #[test]
    fn a_line_has_the_client_in_any_spelling() {
        for (client, line, expected) in [
            ("192.0.2.7", "192.0.2.7 - -", true),
            ("192.0.2.7", "::ffff:192.0.2.7 - -", true),
            ("192.0.2.7", "::FFFF:C000:207 - -", true),
            ("192.0.2.7", "192.0.2.8 - -", false),
            ("2001:db8::1", "client: [2001:DB8:0:0:0:0:0:1]:443, a", true),
            ("2001:db8::1", "2001:0db8::0001: refused", true),
            ("2001:db8::1", "2001:db8::2 - -", false),
            ("host.example", "anything", true),
        ] {
            assert_eq!(may_belong_to(Some(client), line.as_bytes()), expected, "{line}");
        }
    }
}
