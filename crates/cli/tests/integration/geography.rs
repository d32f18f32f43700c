//! The fields that a database of addresses adds.

use serde_json::Value;
use weir_testkit::mmdb::{MmdbData, MmdbFile};

use crate::support::{Folder, line, run, text};

/// A database of two countries, one of which has a city.
fn cities() -> Vec<u8> {
    let country = |code| MmdbData::at(&["country", "iso_code"], MmdbData::text(code));
    let city = MmdbData::at(&["city", "names", "en"], MmdbData::text("Den <Haag>"));
    let file = MmdbFile { database_type: "GeoLite2-City".to_owned(), ..MmdbFile::default() };
    let networks = [
        ("192.0.2.0/24", MmdbData::merged([country("NL"), city])),
        ("2001:db8::/32", country("DE")),
        ("198.51.100.0/24", country("DE")),
    ];
    file.with(networks).bytes()
}

/// Requests of these clients, one a second.
fn log(clients: &[&str]) -> Vec<u8> {
    let lines = clients.iter().enumerate().map(|(second, client)| {
        let time = format!("02/Nov/2026:00:00:{second:02} +0000");
        line(client, &time, "GET / HTTP/1.1", 200, "agent")
    });
    lines.collect::<String>().into_bytes()
}

const CLIENTS: [&str; 8] = [
    "192.0.2.1",
    "192.0.2.2",
    "2001:db8::1",
    "198.51.100.7",
    "::ffff:192.0.2.9",
    "10.0.0.1",
    "example.org",
    "203.0.113.5",
];

/// The CSV of a count.
fn counts(arguments: &[&str], log: &str) -> String {
    let found = run([&["count", "--csv"], arguments, &[log]].concat());
    assert_eq!(found.code, 0, "{}", found.stderr);
    found.stdout.replace("\r\n", "\n")
}

#[test]
fn clients_are_counted_by_country_and_city() {
    let folder = Folder::new();
    let cities = folder.file("cities.mmdb", &cities());
    let log = folder.file("access.log", &log(&CLIENTS));
    let by = |fields| counts(&["--geoip", text(&cities), "--by", fields], text(&log));
    assert_eq!(by("country"), "country,count\n(none),3\nNL,3\nDE,2\n");
    let by_city = "country by city,(none),Den <Haag>,total\n\
                   (none),3,0,3\nNL,0,3,3\nDE,2,0,2\ntotal,5,3,8\n";
    assert_eq!(by("country,city"), by_city);
}

#[test]
fn places_are_fields_in_every_command() {
    let folder = Folder::new();
    let cities = folder.file("cities.mmdb", &cities());
    let log = folder.file("access.log", &log(&CLIENTS));
    let (cities, log) = (text(&cities), text(&log));
    let output = |arguments: &[&str]| {
        let found = run([arguments, &["--geoip", cities, log]].concat());
        // A rule that would have rejected something ends with 3.
        let expected = if arguments[0] == "rules" { 3 } else { 0 };
        assert_eq!(found.code, expected, "{}", found.stderr);
        let credit = "cities.mmdb, GeoLite2-City of 2026-09-21 (GeoLite2 data created by MaxMind";
        assert!(found.stderr.contains(credit), "{}", found.stderr);
        found.stdout
    };
    assert_eq!(output(&["grep", "--count", "--where", "country=DE"]), "2\n");
    assert_eq!(output(&["count", "--where", "country=(none)"]), "3\n");
    let rows = output(&["export", "--to", "csv", "--columns", "client,country,city"]);
    assert_eq!(rows.lines().nth(1), Some("192.0.2.1,NL,Den <Haag>"));
    assert_eq!(rows.lines().nth(7), Some("example.org,,"));
    let report =
        output(&["report", "--json", "--where", "city='Den <Haag>'", "--group", "country"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["matching"], 3);
    let rule = "limit 1 requests in 1m by country as sliding";
    let rules = output(&["rules", "--json", "--rule-text", rule]);
    let rules: Value = serde_json::from_str(&rules).expect("JSON");
    // One of each country passes.
    assert_eq!(rules["rules"][0]["requests"]["rejected"], 3, "{rules}");
}

#[test]
fn a_file_is_opened_only_if_its_fields_are_asked_for() {
    let folder = Folder::new();
    let log = folder.file("access.log", &log(&CLIENTS));
    let missing = folder.path("none.mmdb");
    let by = |field, geoip| run(["count", "--by", field, "--geoip", geoip, text(&log)]);
    let (asked, not_asked) = (by("country", text(&missing)), by("status", text(&missing)));
    assert_eq!((asked.code, not_asked.code), (2, 0));
    let reason = format!("weir: --geoip: {}: No such file", missing.display());
    assert!(asked.stderr.starts_with(&reason), "{}", asked.stderr);
    assert_eq!(not_asked.stderr, "");
    // Without a file there is no such field, and the message names the option.
    let nowhere = by("country", "none");
    assert_eq!(nowhere.code, 2);
    assert!(
        nowhere.stderr.contains("no field `country`, which --geoip FILE adds;"),
        "{}",
        nowhere.stderr
    );
}

#[test]
fn a_field_of_the_log_goes_before_that_of_a_file() {
    let folder = Folder::new();
    let cities = folder.file("cities.mmdb", &cities());
    let line = r#"{"time":"2026-11-02T00:00:00Z","remote_addr":"192.0.2.1","request":"GET / HTTP/1.1","status":200,"country":"XX"}"#;
    let log = folder.file("access.json", format!("{line}\n").as_bytes());
    let found = counts(&["--geoip", text(&cities), "--by", "country,city"], text(&log));
    assert_eq!(found, "country by city,Den <Haag>,total\nXX,1,1\ntotal,1,1\n");
}

#[test]
fn the_file_that_is_named_last_answers() {
    let folder = Folder::new();
    let cities = folder.file("cities.mmdb", &cities());
    let countries =
        folder.file("countries.csv", b"192.0.2.0,192.0.2.255,BE\n2001:db8::,2001:db8::9,FR\n");
    let log = folder.file("access.log", &log(&CLIENTS));
    let files = ["--geoip", text(&cities), "--geoip", text(&countries)];
    let found = run([&["count", "--by", "country"], &files[..], &[text(&log)]].concat());
    assert_eq!(found.code, 0, "{}", found.stderr);
    // The file of cities still has `city`, so it is not called unused.
    assert!(!found.stderr.contains("is not used"), "{}", found.stderr);
    assert!(found.stderr.contains(&format!("country by {}, ranges of ", countries.display())));
    assert_eq!(
        counts(&[&files[..], &["--by", "country"]].concat(), text(&log)),
        "country,count\n(none),4\nBE,3\nFR,1\n"
    );
}

#[test]
fn a_file_is_read_once_for_what_is_listed_and_selected() {
    let folder = Folder::new();
    let cities = folder.file("cities.mmdb", &cities());
    let log = folder.file("access.log", &log(&CLIENTS));
    let arguments = ["report", "--json", "--fields", "country", "--where", "country=NL"];
    let found = run([&arguments[..], &["--geoip", text(&cities), text(&log)]].concat());
    assert_eq!(found.stderr.matches("country by ").count(), 1, "{}", found.stderr);
    let report: Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!(report["top"]["country"][0]["count"], 3, "{report}");
    let without = run(["report", "--fields", "country", "--geoip", "none", text(&log)]);
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("`country` needs a file"), "{}", without.stderr);
    // A field of one's own needs no file.
    let own = ["report", "--fields", "country", "--geoip", "none", "--derive"];
    let own = run([&own[..], &["country = extract path '/(.*)'", text(&log)]].concat());
    assert_eq!((own.code, own.stderr.as_str()), (0, ""));
}
