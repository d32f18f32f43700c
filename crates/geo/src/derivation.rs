//! The fields of a geography as fields of a log.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use weir_core::{Derivation, DerivedField, DerivedInputs, Field};

use crate::field::GeoField;
use crate::geography::Geography;

impl Geography {
    /// The field of the client's place. It has no value for a client that is a host name.
    pub fn derived_field(self: &Arc<Self>, field: GeoField) -> DerivedField {
        let place = Place { geography: self.clone(), field };
        DerivedField::of_field(field.name(), Field::Client, place)
    }
}

/// One field of a geography.
#[derive(Debug)]
struct Place {
    geography: Arc<Geography>,
    field: GeoField,
}

impl Derivation for Place {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let address = inputs.text(0).and_then(address_of);
        address.is_some_and(|address| self.geography.append(self.field, address, value))
    }
}

/// The address of a client, which may have a port.
fn address_of(client: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(client).ok()?;
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    text.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::address_of;

    #[test]
    fn only_addresses_have_a_place() {
        for (client, address) in [
            ("192.0.2.1", Some("192.0.2.1")),
            ("192.0.2.1:443", Some("192.0.2.1")),
            ("[2001:db8::1]:443", Some("2001:db8::1")),
            ("::ffff:192.0.2.1", Some("::ffff:192.0.2.1")),
            ("example.org", None),
            ("unix:", None),
            ("-", None),
            ("", None),
            ("192.0.2.1, 192.0.2.2", None),
        ] {
            let address = address.map(|address| address.parse().expect("an address"));
            assert_eq!(address_of(client.as_bytes()), address, "{client}");
        }
        assert_eq!(address_of(b"\xff"), None);
    }
}
