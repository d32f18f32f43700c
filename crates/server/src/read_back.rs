//! Lines that are read back from the files of their sources.

use weir_ingest::SourceProgress;

/// Returns why the lines of a source cannot be read again.
pub(crate) fn unreadable_reason(source: &SourceProgress) -> String {
    let name = source.name();
    match source.is_packed() {
        true => format!("{name} was unpacked while it was read, and its lines were not kept"),
        false => format!("{name} was a stream, or was truncated; its lines were not kept"),
    }
}

/// Returns whether a line may belong to a client: it must contain the client's address. Host names
/// can be spelled in several ways, so for them it returns true.
pub(crate) fn may_belong_to(client: Option<&str>, line: &[u8]) -> bool {
    let Some(client) = client.filter(|client| client.parse::<std::net::IpAddr>().is_ok()) else {
        return true;
    };
    line.windows(client.len()).any(|part| part == client.as_bytes())
}
