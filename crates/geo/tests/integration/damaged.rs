//! Files that cannot be used.

use weir_geo::{Database, GeoField, Geography};
use weir_testkit::mmdb::{MmdbData, MmdbFile};
use weir_testkit::numbers::Numbers;

use crate::{Folder, refusal};

fn country_file() -> Vec<u8> {
    let country = |code| MmdbData::at(&["country", "iso_code"], MmdbData::text(code));
    let networks = [("192.0.2.0/24", country("NL")), ("2001:db8::/32", country("DE"))];
    MmdbFile { description: Some("A test".to_owned()), ..MmdbFile::default() }
        .with(networks)
        .bytes()
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let folder = Folder::new();
    let whole = country_file();
    for length in 0..whole.len() {
        let reason = refusal(&folder.file("cut.mmdb", &whole[..length]));
        let is_told = ["is empty", "is neither a MaxMind DB", "the database is damaged: "];
        assert!(is_told.iter().any(|part| reason.contains(part)), "{length}: {reason}");
    }
    assert!(Database::open(&folder.file("whole.mmdb", &whole)).is_ok());
}

/// Changed bytes may give other answers, but neither a panic nor an endless one.
#[test]
fn a_file_with_changed_bytes_ends_every_lookup() {
    let folder = Folder::new();
    let whole = country_file();
    let mut numbers = Numbers::new(5);
    let mut counted = 0;
    for _ in 0..2_000 {
        let mut changed = whole.clone();
        for _ in 0..=numbers.below(3) {
            let place = numbers.below(changed.len() as u64) as usize;
            changed[place] = numbers.below(256) as u8;
        }
        let Ok(database) = Database::open(&folder.file("a.mmdb", &changed)) else { continue };
        let geography = Geography::of(vec![database]);
        for address in ["192.0.2.7", "2001:db8::1", "::", "255.255.255.255"] {
            for field in GeoField::ALL {
                let mut value = Vec::new();
                geography.append(field, address.parse().expect("an address"), &mut value);
                assert!(value.len() <= 256);
            }
        }
        counted += geography.databases()[0].damaged_lookups();
        let notes = geography.notes(&GeoField::ALL, 0);
        let is_told = notes.iter().any(|note| note.contains("is damaged"));
        assert_eq!(is_told, geography.databases()[0].damaged_lookups() > 0, "{notes:?}");
    }
    assert!(counted > 0);
}

#[test]
fn other_files_are_refused_with_their_reason() {
    let folder = Folder::new();
    let user = MmdbData::at(&["user_type"], MmdbData::text("hosting"));
    let foreign = MmdbFile { database_type: "Users\u{1b}[2J".to_owned(), ..MmdbFile::default() };
    let foreign = foreign.with([("192.0.2.0/24", user)]).bytes();
    let mut huge = country_file();
    let records = b"\x4brecord_size\xa1\x18";
    let place =
        huge.windows(records.len()).position(|window| window == records).expect("it is there");
    huge[place + records.len() - 1] = 20;
    for (name, content, reason) in [
        ("a.mmdb", &b""[..], "the file is empty"),
        ("b.mmdb", b"192.0.2.0,192.0.2.255,NL\n", "this is neither a MaxMind DB nor CSV ranges"),
        ("b.bin", b"\x00\x01", "this is neither a MaxMind DB nor CSV ranges"),
        ("GeoIP.dat", b"\xff\xff", "this is GeoIP's legacy format, which ended in 2022"),
        ("c.mmdb.gz", b"\x1f\x8b\x08", "the file is compressed or an archive; unpack it"),
        (
            "c.csv",
            b"192.0.2.1,192.0.2.0,NL",
            "line 1: the range 192.0.2.1 to 192.0.2.0 is not one. ",
        ),
        ("d.csv", b"# nothing\n", "the database, of type `ranges`, has no country, city or"),
        ("e.mmdb", &foreign, "the database, of type `Users[2J`, has no country, city or"),
        ("f.mmdb", &huge, "the database is damaged: "),
    ] {
        let found = refusal(&folder.file(name, content));
        assert!(found.starts_with(reason), "{name}: {found}");
    }
    assert_eq!(refusal(&folder.0), "this is not a file");
    assert!(refusal(&folder.0.join("none.mmdb")).starts_with("No such file"));
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_is_read_without_end() {
    assert_eq!(refusal(std::path::Path::new("/dev/zero")), "this is not a file");
    let folder = Folder::new();
    let path = folder.file("sparse.mmdb", "");
    let file = std::fs::File::options().write(true).open(&path).expect("it opens");
    file.set_len((1 << 30) + 1).expect("it has no blocks");
    assert!(refusal(&path).starts_with("the file is larger than 1024 MiB"));
}
