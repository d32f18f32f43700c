//! One file of addresses.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use weir_core::Date;

use crate::csv::CsvRanges;
use crate::error::{OpenError, Problem};
use crate::field::{Family, GeoField};
use crate::mmdb::Mmdb;

/// The largest file. The largest databases of cities that are sold have a few hundred megabytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The most letters that are shown of a text in a file.
const SHOWN_CHARS_MAX: usize = 200;

/// Seconds in a day.
const DAY_S: i64 = 86_400;

/// A file that says where addresses are, in memory.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    content: Content,
    built_s: Option<i64>,
    memory_bytes: usize,
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// A MaxMind DB.
    Mmdb,
    /// Ranges as CSV.
    Csv,
}

#[derive(Debug)]
enum Content {
    Mmdb(Box<Mmdb>),
    Csv(CsvRanges),
}

impl Database {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is larger than 1 GiB, is damaged, or has none of the fields.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let fail = |problem| OpenError::new(path, problem);
        let io = |error| OpenError::new(path, Problem::Io(error));
        // Opening a pipe would wait for its writer.
        let metadata = std::fs::metadata(path).map_err(io)?;
        if !metadata.is_file() {
            return Err(fail(Problem::NotAFile));
        }
        let too_large = || fail(Problem::TooLarge { bytes_max: FILE_BYTES_MAX });
        if metadata.len() > FILE_BYTES_MAX {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
        let file = File::open(path).map_err(io)?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(too_large());
        }
        let modified = metadata.modified().ok();
        let modified_s = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_s = modified_s.and_then(|time| i64::try_from(time.as_secs()).ok());
        Self::read(path, bytes, modified_s)
    }

    fn read(path: &Path, bytes: Vec<u8>, modified_s: Option<i64>) -> Result<Self, OpenError> {
        let fail = |problem| OpenError::new(path, problem);
        let bytes_len = bytes.len();
        let (content, built_s, memory_bytes) = if Mmdb::is_mmdb(&bytes) {
            let mmdb = Mmdb::read(bytes).map_err(|error| fail(Problem::Mmdb(error)))?;
            let built_s = mmdb.built_s();
            (Content::Mmdb(Box::new(mmdb)), built_s, bytes_len)
        } else {
            if let Some(problem) = problem_of(path, &bytes) {
                return Err(fail(problem));
            }
            let csv = CsvRanges::read(&bytes).map_err(|error| fail(Problem::Csv(error)))?;
            let memory_bytes = csv.memory_bytes();
            (Content::Csv(csv), modified_s, memory_bytes)
        };
        let database = Self { path: path.to_owned(), content, built_s, memory_bytes };
        if database.fields().next().is_none() {
            return Err(fail(Problem::NoField { about: database.type_name().to_owned() }));
        }
        Ok(database)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of file.
    pub fn kind(&self) -> DatabaseKind {
        match &self.content {
            Content::Mmdb(_) => DatabaseKind::Mmdb,
            Content::Csv(_) => DatabaseKind::Csv,
        }
    }

    /// The fields that it has.
    pub fn fields(&self) -> impl Iterator<Item = GeoField> + '_ {
        let has = |field: &GeoField| Family::ALL.iter().any(|family| self.has(*field, *family));
        GeoField::ALL.into_iter().filter(has)
    }

    pub(crate) fn has(&self, field: GeoField, family: Family) -> bool {
        match &self.content {
            Content::Mmdb(mmdb) => mmdb.has(field, family),
            Content::Csv(csv) => csv.has(field, family),
        }
    }

    /// Appends the value of a field for an address. Returns false, and appends nothing, if the file
    /// has none.
    pub fn append(&self, field: GeoField, address: IpAddr, value: &mut Vec<u8>) -> bool {
        match &self.content {
            Content::Mmdb(mmdb) => mmdb.append(field, address, value),
            Content::Csv(csv) => csv.append(field, address, value),
        }
    }

    /// When it was built, in seconds since 1970; of CSV, when the file was written.
    pub fn built_s(&self) -> Option<i64> {
        self.built_s
    }

    /// The day on which it was built, as `2026-11-28`.
    pub fn built_date(&self) -> Option<String> {
        let Date { year, month, day } = Date::from_days(self.built_s?.div_euclid(DAY_S));
        Some(format!("{year:04}-{month:02}-{day:02}"))
    }

    /// The publisher's name for what is in it, such as `GeoLite2-City`.
    pub fn type_name(&self) -> &str {
        match &self.content {
            Content::Mmdb(mmdb) => mmdb.database_type(),
            Content::Csv(_) => "ranges",
        }
    }

    /// What its publisher asks everyone to show who uses it, or else the publisher's description.
    /// Few files state their licence.
    pub fn credit(&self) -> Option<String> {
        let Content::Mmdb(mmdb) = &self.content else { return None };
        let name = self.type_name();
        if name.starts_with("GeoLite2") {
            let text = "GeoLite2 data created by MaxMind, https://www.maxmind.com; GeoLite licence";
            return Some(text.to_owned());
        }
        if name.starts_with("DBIP-") {
            let text = "IP Geolocation by DB-IP, https://db-ip.com; the free files are CC BY 4.0";
            return Some(text.to_owned());
        }
        mmdb.description().map(shown).filter(|text| !text.is_empty())
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// How many lookups had no answer because they met damaged data.
    pub fn damaged_lookups(&self) -> u64 {
        match &self.content {
            Content::Mmdb(mmdb) => mmdb.damaged_lookups(),
            Content::Csv(_) => 0,
        }
    }
}

/// Why bytes without the mark of a MaxMind DB cannot be CSV either.
fn problem_of(path: &Path, bytes: &[u8]) -> Option<Problem> {
    const PACKED: [&[u8]; 5] =
        [b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ"];
    let has_ending = |ending| path.extension().is_some_and(|it| it.eq_ignore_ascii_case(ending));
    if bytes.is_empty() {
        Some(Problem::Empty)
    } else if PACKED.iter().any(|start| bytes.starts_with(start)) {
        Some(Problem::Compressed)
    } else if has_ending("dat") {
        Some(Problem::LegacyFormat)
    } else if has_ending("mmdb") || bytes.contains(&0) {
        Some(Problem::Unknown)
    } else {
        None
    }
}

/// A text of a file without control characters, and not too long.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(SHOWN_CHARS_MAX).collect()
}
