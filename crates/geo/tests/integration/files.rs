//! Several files, their notes, and where they are.

use std::path::Path;
use std::time::{Duration, SystemTime};

use weir_geo::{DatabaseKind, GeoField, Geography, usual_files};
use weir_testkit::mmdb::{MmdbData, MmdbFile};

use crate::{Folder, open, value};

/// The day on which the files of these tests were built, 2026-09-21.
const BUILT_S: i64 = 1_790_000_000;

fn country(code: &str) -> MmdbData {
    MmdbData::at(&["country", "iso_code"], MmdbData::text(code))
}

fn mmdb(database_type: &str, network: &str, data: MmdbData) -> Vec<u8> {
    let file = MmdbFile { database_type: database_type.to_owned(), ..MmdbFile::default() };
    file.with([(network, data)]).bytes()
}

#[test]
fn of_two_files_with_a_field_the_later_one_answers_and_a_note_says_so() {
    let folder = Folder::new();
    let first = folder.file("first.mmdb", mmdb("GeoLite2-Country", "192.0.2.0/24", country("NL")));
    let second = folder.file("second.csv", "192.0.2.0,192.0.2.127,DE\n");
    let geography = open(&[&first, &second]);
    assert_eq!(value(&geography, GeoField::Country, "192.0.2.1").as_deref(), Some("DE"));
    // The first one does not answer for what the second lacks: one file says one thing.
    assert_eq!(value(&geography, GeoField::Country, "192.0.2.200"), None);
    let notes = geography.notes(&[GeoField::Country], BUILT_S);
    let unused = format!(
        "{} is not used: {}, named later, has the same fields",
        first.display(),
        second.display()
    );
    assert_eq!(notes[0], unused);
    assert!(
        notes[1].starts_with(&format!("country by {}, ranges of 2", second.display())),
        "{notes:?}"
    );
    let geography = open(&[&second, &first]);
    assert_eq!(value(&geography, GeoField::Country, "192.0.2.1").as_deref(), Some("NL"));
}

#[test]
fn files_of_one_family_each_answer_together() {
    let folder = Folder::new();
    let v4 = folder.file("v4.csv", "192.0.2.0,192.0.2.255,64500,Four\n");
    let v6 = folder.file("v6.csv", "2001:db8::,2001:db8::ffff,64600,Six\n");
    let both = folder.file("country.mmdb", mmdb("Country", "192.0.2.0/24", country("NL")));
    let geography = open(&[&both, &v4, &v6]);
    assert_eq!(value(&geography, GeoField::Asn, "192.0.2.1").as_deref(), Some("AS64500"));
    assert_eq!(value(&geography, GeoField::AsnName, "2001:db8::1").as_deref(), Some("Six"));
    assert_eq!(value(&geography, GeoField::Country, "192.0.2.1").as_deref(), Some("NL"));
    let notes = geography.notes(&[GeoField::Asn], BUILT_S);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("asn of IPv4 by ") && notes[1].starts_with("asn of IPv6 by "));
    let sizes = geography.databases().iter().map(|database| database.memory_bytes()).sum::<usize>();
    assert!(geography.memory_bytes() == sizes && sizes > 0);
}

#[test]
fn a_note_has_the_day_and_whose_the_data_is() {
    let folder = Folder::new();
    for (name, database_type, credit) in [
        ("a", "GeoLite2-City", "(GeoLite2 data created by MaxMind, https://www.maxmind.com; "),
        ("b", "DBIP-City-Lite", "(IP Geolocation by DB-IP, https://db-ip.com; "),
        ("c", "Own", "(Networks of the office"),
    ] {
        let description = Some("Networks of the\u{1b} office".to_owned());
        let file = MmdbFile {
            database_type: database_type.to_owned(),
            description,
            ..MmdbFile::default()
        };
        let path = folder.file(name, file.with([("192.0.2.0/24", country("NL"))]).bytes());
        let geography = open(&[&path]);
        let [note] = &geography.notes(&[GeoField::Country], BUILT_S)[..] else {
            panic!("one note")
        };
        let start =
            format!("country by {}, {database_type} of 2026-09-21 {credit}", path.display());
        assert!(note.starts_with(&start) && note.ends_with(", 1 kB in memory"), "{note}");
        assert_eq!(geography.databases()[0].kind(), DatabaseKind::Mmdb);
        // No question, no note.
        assert_eq!(geography.notes(&[GeoField::City], BUILT_S), Vec::<String>::new());
    }
}

#[test]
fn a_file_of_more_than_a_year_has_a_note() {
    let folder = Folder::new();
    let path = folder.file("a.mmdb", mmdb("Own", "192.0.2.0/24", country("NL")));
    let geography = open(&[&path]);
    for (days, age) in
        [(-9_000, None), (0, None), (364, None), (366, Some("a year")), (800, Some("2 years"))]
    {
        let notes = geography.notes(&[GeoField::Country], BUILT_S + days * 86_400);
        let expected = age.map(|age| {
            format!(
                "{} is more than {age} old, and addresses move: fetch a newer one",
                path.display()
            )
        });
        assert_eq!(notes.get(1), expected.as_ref(), "{days}");
    }
}

#[test]
fn the_usual_folders_have_the_newest_file_of_each_field() {
    let (first, second) = (Folder::new(), Folder::new());
    let written = |folder: &Folder, name: &str, hours: u64| {
        let path = folder.file(name, mmdb("GeoLite2", "192.0.2.0/24", country("NL")));
        let file = std::fs::File::options().write(true).open(&path).expect("it opens");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + hours * 3_600);
        file.set_modified(time).expect("it has a time");
        path
    };
    written(&first, "dbip-city-lite-2026-10.mmdb", 1);
    let city = written(&first, "dbip-city-lite-2026-11.mmdb", 2);
    written(&first, "GeoLite2-Country.mmdb.bak", 3);
    std::fs::create_dir(first.0.join("asn.mmdb")).expect("a folder");
    let country = written(&second, "GeoLite2-Country.mmdb", 0);
    let asn = written(&second, "GeoLite2-ASN.mmdb", 0);
    let missing = first.0.join("none");
    let folders: [&Path; 3] = [&missing, &first.0, &second.0];
    let found = |fields: &[GeoField]| usual_files(&folders, fields);
    assert_eq!(found(&GeoField::ALL), [country.clone(), city.clone(), asn.clone()]);
    assert_eq!(found(&[GeoField::City]), std::slice::from_ref(&city));
    assert_eq!(found(&[GeoField::AsnName, GeoField::Asn]), [asn]);
    assert_eq!(found(&[]), Vec::<std::path::PathBuf>::new());
    // A file of cities has countries too.
    assert_eq!(usual_files(&[&first.0], &[GeoField::Country]), [city]);
}

#[test]
fn a_broken_file_in_a_usual_folder_is_told() {
    let folder = Folder::new();
    folder.file("GeoLite2-Country.mmdb", mmdb("GeoLite2-Country", "192.0.2.0/24", country("NL")));
    folder.file("GeoLite2-ASN.mmdb", "cut");
    let (geography, errors) = Geography::open_usual(&[&folder.0], &GeoField::ALL);
    assert!(geography.has(GeoField::Country) && !geography.has(GeoField::Asn));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("GeoLite2-ASN.mmdb: this is neither"), "{}", errors[0]);
}
