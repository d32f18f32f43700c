//! The network of an address.

use std::net::IpAddr;

use super::{Derivation, DerivedField, DerivedInputs};
use crate::field::Field;
use crate::value::Client;

/// The usual lengths of the prefix of a network that one customer has, in bits.
pub(super) const USUAL_BITS: Prefix = Prefix { v4_bits: 24, v6_bits: 48 };

/// How long the prefix of a network is, by the version of the address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefix {
    pub(super) v4_bits: u8,
    pub(super) v6_bits: u8,
}

pub(super) fn field(name: &str, prefix: Prefix) -> DerivedField {
    DerivedField::of_field(name, Field::Client, prefix)
}

impl Derivation for Prefix {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let host = inputs.text(0).and_then(Client::of_address).map(|client| client.host);
        let address = host.and_then(|host| std::str::from_utf8(host).ok()?.parse::<IpAddr>().ok());
        let text = match address.map(|address| address.to_canonical()) {
            None => return false,
            Some(IpAddr::V4(address)) => {
                let bits = self.v4_bits.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                format!("{}/{bits}", std::net::Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            Some(IpAddr::V6(address)) => {
                let bits = self.v6_bits.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                format!("{}/{bits}", std::net::Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        value.extend_from_slice(text.as_bytes());
        true
    }
}
