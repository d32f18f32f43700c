//! Where addresses are: country, city, and the operator of the network, from files on this machine.
//!
//! A [`Geography`] is a list of files and the fields that each answers. A file is a MaxMind DB, as
//! MaxMind, DB-IP and others publish them, or CSV ranges as ip-location-db publishes them. Nothing
//! is sent anywhere: what the files do not say is not known.
//!
//! [`Geography::derived_field`] makes a field of a log of what the files say about its clients.
//!
//! A file is read into memory as a whole. It is not mapped, because a file that is cut while it is
//! mapped ends the process, and updaters replace these files every week.
//!
//! ```
//! use weir_geo::{Geography, GeoField};
//!
//! let folder = std::env::temp_dir().join(format!("weir-geo-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("country.csv");
//! std::fs::write(&path, "192.0.2.0,192.0.2.127,NL\n")?;
//! let geography = Geography::open(&[path])?;
//! let mut value = Vec::new();
//! assert!(geography.append(GeoField::Country, "192.0.2.7".parse()?, &mut value));
//! assert_eq!(value, b"NL");
//! assert!(!geography.append(GeoField::Country, "192.0.2.200".parse()?, &mut value));
//! assert!(!geography.has(GeoField::City));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod csv;
mod database;
mod derivation;
mod error;
mod field;
mod geography;
mod mmdb;
mod ranges;
mod usual_places;

pub use database::{Database, DatabaseKind};
pub use error::OpenError;
pub use field::GeoField;
pub use geography::Geography;
pub use usual_places::{USUAL_FOLDERS, usual_files};
