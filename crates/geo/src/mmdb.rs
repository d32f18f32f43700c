//! MaxMind DB files.
//!
//! The format leaves the names of the data to the publisher. A database is asked for each name that
//! a field is known to have, over the first networks that it has data for, and answers by the name
//! that it knows. So a renamed file, or one of a company's own, works as well.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use maxminddb::PathElement::{self, Key};
use maxminddb::{LookupResult, MaxMindDbError, Reader, WithinOptions};

use crate::field::{Family, GeoField, VALUE_BYTES_MAX, push_asn};

/// The networks of each family that are looked at for names. The first networks of a database of
/// cities have a country only, but not this many.
const PROBED_NETWORKS_MAX: usize = 4096;

/// The networks of each family, without those of the other one.
const NETWORKS: [(Family, &[&str]); 2] =
    [(Family::V4, &["0.0.0.0/0"]), (Family::V6, &["2000::/3", "4000::/2", "8000::/1"])];

/// A place of a field in the data of a network.
#[derive(Debug, Clone, Copy)]
struct Place {
    field: GeoField,
    keys: &'static [PathElement<'static>],
    is_number: bool,
}

impl Place {
    const fn text(field: GeoField, keys: &'static [PathElement<'static>]) -> Self {
        Self { field, keys, is_number: false }
    }

    const fn number(field: GeoField, keys: &'static [PathElement<'static>]) -> Self {
        Self { field, keys, is_number: true }
    }

    /// Appends the value at this place. Returns false, and appends nothing, if there is none.
    ///
    /// # Errors
    /// If the data is damaged, or not of the kind of this place.
    fn push(
        self,
        data: &LookupResult<'_, Vec<u8>>,
        value: &mut Vec<u8>,
    ) -> Result<bool, MaxMindDbError> {
        if self.is_number {
            let number: Option<u32> = data.decode_path(self.keys)?;
            return Ok(number.is_some_and(|it| push_asn(it.to_string().as_bytes(), value)));
        }
        let text: Option<&str> = data.decode_path(self.keys)?;
        let text = text.filter(|text| !text.is_empty() && text.len() <= VALUE_BYTES_MAX);
        Ok(text.is_some_and(|text| match self.field {
            GeoField::Asn => push_asn(text.as_bytes(), value),
            _ => {
                value.extend_from_slice(text.as_bytes());
                true
            }
        }))
    }
}

/// The places in files of MaxMind and DB-IP, of ip-location-db, and of IPinfo, in this order.
const PLACES: [Place; 11] = [
    Place::text(GeoField::Country, &[Key("country"), Key("iso_code")]),
    Place::text(GeoField::Country, &[Key("country_code")]),
    Place::text(GeoField::Country, &[Key("country")]),
    Place::text(GeoField::City, &[Key("city"), Key("names"), Key("en")]),
    Place::text(GeoField::City, &[Key("city")]),
    Place::number(GeoField::Asn, &[Key("autonomous_system_number")]),
    Place::text(GeoField::Asn, &[Key("autonomous_system_number")]),
    Place::number(GeoField::Asn, &[Key("asn")]),
    Place::text(GeoField::Asn, &[Key("asn")]),
    Place::text(GeoField::AsnName, &[Key("autonomous_system_organization")]),
    Place::text(GeoField::AsnName, &[Key("as_name")]),
];

/// A MaxMind DB in memory.
#[derive(Debug)]
pub(crate) struct Mmdb {
    reader: Reader<Vec<u8>>,
    places: [Option<Place>; 4],
    has_family: [bool; 2],
    /// The lookups that met damaged data.
    damaged_lookups: AtomicU64,
}

impl Mmdb {
    /// # Errors
    /// If the metadata or the sizes in it are not valid.
    pub(crate) fn read(bytes: Vec<u8>) -> Result<Self, MaxMindDbError> {
        let mut database = Self {
            reader: Reader::from_source(bytes)?,
            places: [None; 4],
            has_family: [false; 2],
            damaged_lookups: AtomicU64::new(0),
        };
        for (family, networks) in NETWORKS {
            database.probe(family, networks);
        }
        Ok(database)
    }

    /// Whether the bytes have the mark of the metadata of a MaxMind DB.
    pub(crate) fn is_mmdb(bytes: &[u8]) -> bool {
        const MARK: &[u8] = b"\xab\xcd\xefMaxMind.com";
        /// The metadata is within the last bytes of a file, by the specification.
        const METADATA_BYTES_MAX: usize = 128 << 10;
        let end = &bytes[bytes.len().saturating_sub(METADATA_BYTES_MAX)..];
        end.windows(MARK.len()).any(|window| window == MARK)
    }

    /// Finds the places of the fields, and whether there is data for the family.
    fn probe(&mut self, family: Family, networks: &[&str]) {
        let mut places = self.places;
        let mut has_data = false;
        for network in networks {
            let Ok(network) = network.parse() else { continue };
            let found = self.reader.within(network, WithinOptions::default());
            // A database without IPv6 says so.
            let Ok(found) = found else { continue };
            // What is damaged here is met again, and counted, by the lookups.
            for data in found.take(PROBED_NETWORKS_MAX).flatten() {
                for place in PLACES {
                    let known = &mut places[place.field.index()];
                    let is_there = || matches!(place.push(&data, &mut Vec::new()), Ok(true));
                    if known.is_none() && is_there() {
                        *known = Some(place);
                    }
                }
                has_data = true;
                if places.iter().all(Option::is_some) {
                    break;
                }
            }
        }
        self.places = places;
        self.has_family[family.index()] = has_data;
    }

    /// Whether it may have values of this field for addresses of the family.
    pub(crate) fn has(&self, field: GeoField, family: Family) -> bool {
        self.has_family[family.index()] && self.places[field.index()].is_some()
    }

    /// Appends the value of a field for an address. Returns false, and appends nothing, if there is
    /// none.
    pub(crate) fn append(&self, field: GeoField, address: IpAddr, value: &mut Vec<u8>) -> bool {
        let (Some(place), true) =
            (self.places[field.index()], self.has(field, Family::of(address)))
        else {
            return false;
        };
        let found = self.reader.lookup(address).and_then(|data| place.push(&data, value));
        found.unwrap_or_else(|_| {
            self.damaged_lookups.fetch_add(1, Ordering::Relaxed);
            false
        })
    }

    /// How many lookups met damaged data, and had no answer.
    pub(crate) fn damaged_lookups(&self) -> u64 {
        self.damaged_lookups.load(Ordering::Relaxed)
    }

    /// The publisher's name for what is in the database.
    pub(crate) fn database_type(&self) -> &str {
        &self.reader.metadata().database_type
    }

    /// The publisher's sentence about the database.
    pub(crate) fn description(&self) -> Option<&str> {
        self.reader.metadata().description.get("en").map(String::as_str)
    }

    /// When it was built, in seconds since 1970.
    pub(crate) fn built_s(&self) -> Option<i64> {
        /// The last second of the year 9999.
        const LAST_S: i64 = 253_402_300_799;
        let seconds = i64::try_from(self.reader.metadata().build_epoch).ok()?;
        (1..=LAST_S).contains(&seconds).then_some(seconds)
    }
}
