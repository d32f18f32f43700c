//! The folders in which updaters and packages put databases.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::field::GeoField;

/// The folders in which updaters and packages put databases, the first one first.
pub const USUAL_FOLDERS: [&str; 3] =
    ["/usr/share/GeoIP", "/var/lib/GeoIP", "/usr/local/share/GeoIP"];

/// The most entries of a folder that are looked at.
const ENTRIES_MAX: usize = 1_000;

/// The files in these folders that answer the fields by their names, each once.
///
/// A file is taken if its name ends in `.mmdb` and says what is in it, as `GeoLite2-City.mmdb` and
/// `dbip-city-lite-2026-11.mmdb` do. Of several in the first folder that has one, it is the file that
/// was written last. Nothing is opened.
pub fn usual_files(folders: &[&Path], fields: &[GeoField]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for field in fields {
        if let Some(file) = file_of(folders, *field)
            && !found.contains(&file)
        {
            found.push(file);
        }
    }
    found
}

/// The words in names of files that have a field, the smallest files first.
fn words(field: GeoField) -> &'static [&'static str] {
    match field {
        GeoField::Country => &["country", "city"],
        GeoField::City => &["city"],
        GeoField::Asn | GeoField::AsnName => &["asn"],
    }
}

fn file_of(folders: &[&Path], field: GeoField) -> Option<PathBuf> {
    let of_word = |word: &&str| folders.iter().find_map(|folder| newest(folder, word));
    words(field).iter().find_map(of_word)
}

/// The file of this word in a folder that was written last.
fn newest(folder: &Path, word: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.take(ENTRIES_MAX).flatten();
    let named = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        name.ends_with(".mmdb") && name.contains(word)
    });
    let files = named.filter_map(|entry| {
        let metadata = std::fs::metadata(entry.path()).ok().filter(std::fs::Metadata::is_file)?;
        let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some((written, entry.path()))
    });
    files.max().map(|(_, path)| path)
}
