//! Several files that answer together.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::database::{Database, shown};
use crate::error::OpenError;
use crate::field::{Family, GeoField};
use crate::usual_places::usual_files;

/// A file that is older than this is worth a note, in seconds: addresses move between countries and
/// operators.
const OLD_S: i64 = 365 * 86_400;

/// Files that say where addresses are, and which of them answers what.
///
/// A field is answered by one file, for IPv4 and for IPv6 alike or by one for each: of files that
/// have the same, the one that was named last.
#[derive(Debug, Default)]
pub struct Geography {
    databases: Vec<Database>,
    /// The file that answers, by field and family.
    answering: [[Option<usize>; 2]; 4],
}

impl Geography {
    /// Reads files.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn open(paths: &[PathBuf]) -> Result<Self, OpenError> {
        paths.iter().map(|path| Database::open(path)).collect::<Result<Vec<_>, _>>().map(Self::of)
    }

    /// Reads the files of these folders that have one of the fields. Those that cannot be used are
    /// left out, with the reason.
    pub fn open_usual(folders: &[&Path], fields: &[GeoField]) -> (Self, Vec<OpenError>) {
        let mut databases = Vec::new();
        let mut errors = Vec::new();
        for path in usual_files(folders, fields) {
            match Database::open(&path) {
                Ok(database) => databases.push(database),
                Err(error) => errors.push(error),
            }
        }
        (Self::of(databases), errors)
    }

    /// These files, in the order in which they were named.
    pub fn of(databases: Vec<Database>) -> Self {
        let answering = GeoField::ALL.map(|field| {
            Family::ALL.map(|family| databases.iter().rposition(|it| it.has(field, family)))
        });
        Self { databases, answering }
    }

    /// The files.
    pub fn databases(&self) -> &[Database] {
        &self.databases
    }

    /// Whether a file has this field.
    pub fn has(&self, field: GeoField) -> bool {
        self.answering[field.index()].iter().any(Option::is_some)
    }

    /// Appends the value of a field for an address. Returns false, and appends nothing, if it is not
    /// known. An IPv4 address that is written as one of IPv6 is looked up as IPv4.
    pub fn append(&self, field: GeoField, address: IpAddr, value: &mut Vec<u8>) -> bool {
        let address = address.to_canonical();
        let answering = self.answering[field.index()][Family::of(address).index()];
        let database = answering.and_then(|place| self.databases.get(place));
        database.is_some_and(|database| database.append(field, address, value))
    }

    /// The memory that all files take.
    pub fn memory_bytes(&self) -> usize {
        self.databases.iter().map(Database::memory_bytes).sum()
    }

    /// Sentences about the files, for a person: which of them answers which of these fields, of which
    /// day it is and whose; those that are old at `now_s`, in seconds since 1970; those that are not
    /// used; those that are damaged.
    pub fn notes(&self, fields: &[GeoField], now_s: i64) -> Vec<String> {
        let mut notes = Vec::new();
        for (place, database) in self.databases.iter().enumerate() {
            let path = shown(&database.path().display().to_string());
            if let Some(shadow) = self.shadow_of(place) {
                let later = shown(&self.databases[shadow].path().display().to_string());
                notes
                    .push(format!("{path} is not used: {later}, named later, has the same fields"));
                continue;
            }
            let answered = self.answered_by(place, fields);
            if answered.is_empty() {
                continue;
            }
            notes.push(format!("{answered} by {path}, {}", about(database)));
            notes.extend(age_note(database, now_s).map(|note| format!("{path} {note}")));
            let damaged = database.damaged_lookups();
            if damaged > 0 {
                notes.push(format!(
                    "{path} is damaged: {damaged} lookups had no answer; fetch the file again"
                ));
            }
        }
        notes
    }

    /// The last file that has a field of this one, if this one answers nothing.
    fn shadow_of(&self, place: usize) -> Option<usize> {
        let mut all = self.answering.iter().flatten().flatten();
        if all.any(|answering| *answering == place) {
            return None;
        }
        let of_field =
            |field: GeoField| self.answering[field.index()].iter().flatten().max().copied();
        self.databases[place].fields().filter_map(of_field).max()
    }

    /// The names of those of the fields that a file answers.
    fn answered_by(&self, place: usize, fields: &[GeoField]) -> String {
        let names = fields.iter().filter_map(|field| {
            let answering = self.answering[field.index()];
            let is_by_all = answering.iter().all(|it| it.is_none() || *it == Some(place));
            let mut families =
                Family::ALL.into_iter().filter(|it| answering[it.index()] == Some(place));
            let family = families.next()?;
            Some(match is_by_all {
                true => field.name().to_owned(),
                false => format!("{} of {}", field.name(), family.name()),
            })
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// What a file is, of which day, and whose.
fn about(database: &Database) -> String {
    let mut about = shown(database.type_name());
    if let Some(date) = database.built_date() {
        about.push_str(&format!(" of {date}"));
    }
    if let Some(credit) = database.credit() {
        about.push_str(&format!(" ({credit})"));
    }
    about + ", " + &size(database.memory_bytes()) + " in memory"
}

/// A size for a person.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A note about a file that is too old.
fn age_note(database: &Database, now_s: i64) -> Option<String> {
    let age_s = now_s.checked_sub(database.built_s()?)?;
    let years = age_s / OLD_S;
    let years_text = if years == 1 { "a year".to_owned() } else { format!("{years} years") };
    (years > 0)
        .then(|| format!("is more than {years_text} old, and addresses move: fetch a newer one"))
}
