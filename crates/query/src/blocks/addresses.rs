//! The spellings of an address. A kernel writes IPv6 in full, a web server as RFC 5952 does.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use weir_core::{DecidedIds, Dictionary, REMAINDER};

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

/// The positions of the listed addresses, in any spelling, by the client ids of a data set.
///
/// Memory: one entry for each spelling of a listed address, and one bit for each client.
#[derive(Debug, Clone, Default)]
pub(super) struct ListedIds {
    decided: DecidedIds,
    is_listed: Vec<u64>,
    positions: std::collections::HashMap<u32, u32>,
}

impl ListedIds {
    /// Looks up the clients that were added since the last call. `position` returns the position of
    /// an address in the usual spelling.
    pub(super) fn refresh(
        &mut self,
        clients: &Dictionary,
        position: impl Fn(&[u8]) -> Option<usize>,
    ) {
        self.is_listed.resize(clients.ids().div_ceil(64), 0);
        for id in self.decided.update(clients) {
            let value = clients.value(id as u32).filter(|_| id as u32 != REMAINDER);
            if let Some(position) = value.and_then(|value| position(&usual_spelling(value))) {
                self.is_listed[id / 64] |= 1 << (id % 64);
                self.positions.insert(id as u32, position as u32);
            }
        }
    }

    /// Returns the position of the address with this id.
    #[inline]
    pub(super) fn position(&self, id: u32) -> Option<usize> {
        let bits = self.is_listed.get(id as usize / 64)?;
        if bits >> (id % 64) & 1 == 0 {
            return None;
        }
        self.positions.get(&id).map(|position| *position as usize)
    }
}

#[cfg(test)]
mod tests {
    use weir_core::Dictionary;

    use super::{ListedIds, usual_spelling};

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

    #[test]
    fn ids_are_learned_as_they_come() {
        let (mut clients, mut listed) = (Dictionary::new(), ListedIds::default());
        let position = |address: &[u8]| (address == b"2001:db8::1").then_some(7);
        let other = clients.intern(b"192.0.2.1");
        let short = clients.intern(b"2001:db8::1");
        listed.refresh(&clients, position);
        let long = clients.intern(b"2001:DB8:0::1");
        assert_eq!([other, short, long].map(|id| listed.position(id)), [None, Some(7), None]);
        listed.refresh(&clients, position);
        assert_eq!([other, short, long].map(|id| listed.position(id)), [None, Some(7), Some(7)]);
        assert_eq!(listed.position(9_999), None);
    }
}
