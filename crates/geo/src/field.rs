//! The fields that a database can have.

use std::net::IpAddr;

/// The longest value of a field, in bytes. The longest name of a place has 85 letters.
pub(crate) const VALUE_BYTES_MAX: usize = 256;

/// What a database says about an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeoField {
    /// The code of the country in ISO 3166-1, such as `NL`.
    Country,
    /// The English name of the city.
    City,
    /// The number of the autonomous system that announces the network, such as `AS64500`.
    Asn,
    /// The name of the operator of that autonomous system.
    AsnName,
}

impl GeoField {
    /// All fields.
    pub const ALL: [Self; 4] = [Self::Country, Self::City, Self::Asn, Self::AsnName];

    /// The name in conditions and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Country => "country",
            Self::City => "city",
            Self::Asn => "asn",
            Self::AsnName => "asn_name",
        }
    }

    /// The field of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// The version of an address. Many files have addresses of one version only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) const ALL: [Self; 2] = [Self::V4, Self::V6];

    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// Appends the number of an autonomous system as `AS64500`, from such a text or the number alone.
/// Returns false if it is neither.
pub(crate) fn push_asn(text: &[u8], value: &mut Vec<u8>) -> bool {
    let digits = match text.split_first_chunk() {
        Some((b"AS" | b"as" | b"As" | b"aS", digits)) => digits,
        _ => text,
    };
    let is_number =
        !digits.is_empty() && digits.len() <= 10 && digits.iter().all(u8::is_ascii_digit);
    // Zero is reserved, and some files write it for networks without a system.
    if !is_number || digits.iter().all(|digit| *digit == b'0') {
        return false;
    }
    value.extend_from_slice(b"AS");
    value.extend_from_slice(digits);
    true
}
