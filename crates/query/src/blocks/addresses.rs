//! The spellings of an address. A kernel writes IPv6 in full, a web server as RFC 5952 does.

use std::borrow::Cow;
use std::net::Ipv6Addr;

/// Returns an address in its canonical spelling (RFC 5952), and any other text unchanged.
pub(super) fn usual_spelling(address: &[u8]) -> Cow<'_, [u8]> {
    if !address.contains(&b':') {
        return Cow::Borrowed(address);
    }
    let parsed = std::str::from_utf8(address).ok().and_then(|text| text.parse::<Ipv6Addr>().ok());
    parsed.map_or(Cow::Borrowed(address), |address| {
        Cow::Owned(address.to_canonical().to_string().into_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::usual_spelling;

    #[test]
    fn spellings_of_an_address_are_one() {
        for (address, usual) in [
            ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"),
            ("::FFFF:192.0.2.1", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.1"),
            ("unix:", "unix:"),
            ("example.com", "example.com"),
        ] {
            assert_eq!(*usual_spelling(address.as_bytes()), *usual.as_bytes(), "{address}");
        }
    }
}
