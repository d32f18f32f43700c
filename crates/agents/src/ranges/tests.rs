//! Files of the shapes that operators publish, and files that are not.

use std::net::IpAddr;

use proptest::prelude::*;

use super::operators::PUBLISHED;
use super::{CrawlerRanges, Verdict, file};
use crate::reader::AgentLists;

const GOOGLE: &[u8] = br#"{
  "creationTime": "2026-04-01T12:00:00.000000",
  "prefixes": [
    {"ipv6Prefix": "2001:db8:4801:10::/64"},
    {"ipv4Prefix": "192.0.2.64/27"}
  ]
}"#;

/// 2026-04-01T12:00:00Z
const MADE_S: i64 = 1_775_044_800;

const DAY_S: i64 = 86_400;

fn google() -> CrawlerRanges {
    let mut ranges = CrawlerRanges::default();
    ranges.add("googlebot.json", GOOGLE, None).expect("it is a file of Google");
    ranges
}

fn verdict(ranges: &CrawlerRanges, crawler: &str, address: &str, time_s: i64) -> Verdict {
    ranges.verdict(crawler, address.parse().ok(), Some(time_s))
}

#[test]
fn a_crawler_is_compared_with_the_addresses_of_its_operator() {
    let ranges = google();
    for (crawler, address, expected) in [
        ("Googlebot", "192.0.2.64", Verdict::Verified),
        ("Googlebot", "192.0.2.95", Verdict::Verified),
        ("Googlebot-Image", "192.0.2.70", Verdict::Verified),
        ("Googlebot", "::ffff:192.0.2.70", Verdict::Verified),
        ("Googlebot", "2001:db8:4801:10::5", Verdict::Verified),
        ("Googlebot", "192.0.2.63", Verdict::Contradicted),
        ("Googlebot", "192.0.2.96", Verdict::Contradicted),
        ("Googlebot", "2001:db8:4801:11::5", Verdict::Contradicted),
        ("Googlebot", "host.example", Verdict::CannotBeVerified),
        // An address of Google, though no file is about this crawler.
        ("AdsBot-Google", "192.0.2.70", Verdict::CannotBeVerified),
        ("AdsBot-Google", "192.0.2.1", Verdict::CannotBeVerified),
        ("GPTBot", "192.0.2.70", Verdict::CannotBeVerified),
        ("Bytespider", "192.0.2.70", Verdict::CannotBeVerified),
    ] {
        assert_eq!(verdict(&ranges, crawler, address, MADE_S), expected, "{crawler} {address}");
    }
    assert_eq!(
        ranges.verdict("Googlebot", "192.0.2.70".parse().ok(), None),
        Verdict::CannotBeVerified
    );
}

#[test]
fn a_file_is_used_for_ninety_days() {
    let ranges = google();
    for (days, expected) in [(0, true), (90, true), (-90, true), (91, false), (-91, false)] {
        let found = verdict(&ranges, "Googlebot", "192.0.2.70", MADE_S + days * DAY_S);
        assert_eq!(found == Verdict::Verified, expected, "{days} days");
        let found = verdict(&ranges, "Googlebot", "203.0.113.1", MADE_S + days * DAY_S);
        assert_eq!(found == Verdict::Contradicted, expected, "{days} days");
    }
}

#[test]
fn lists_without_a_time_have_that_of_the_file() {
    for bytes in
        [&b"# ours\n192.0.2.0/24\n\n2001:db8::/32\r\n203.0.113.7\n"[..], br#"["192.0.2.0/24"]"#]
    {
        let mut ranges = CrawlerRanges::default();
        let error = ranges.add("gptbot.txt", bytes, None).expect_err("there is no time");
        assert!(error.to_string().contains("creationTime"), "{error}");
        ranges.add("GPTBot", bytes, Some(MADE_S)).expect("it is a list");
        assert_eq!(verdict(&ranges, "GPTBot", "192.0.2.1", MADE_S), Verdict::Verified);
        assert_eq!(verdict(&ranges, "GPTBot", "192.0.3.1", MADE_S), Verdict::Contradicted);
    }
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let large = vec![b' '; file::RANGE_FILE_BYTES_MAX + 1];
    let many = "192.0.2.1\n".repeat(100_001);
    let deep = "[".repeat(100_000);
    for (name, bytes, expected) in [
        ("googlebot.json", &b""[..], "has no prefix"),
        ("googlebot.json", b"{}", "no list `prefixes`"),
        ("googlebot.json", br#"{"prefixes": []}"#, "has no prefix"),
        ("googlebot.json", br#"{"prefixes": [{"ip": "192.0.2.0/24"}]}"#, "`ipv4Prefix`"),
        ("googlebot.json", br#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/33"}]}"#, "192.0.2.0/33"),
        ("googlebot.json", br#"{"prefixes": [{"ipv4Prefix": "0.0.0.0/0"}]}"#, "0.0.0.0/0"),
        ("googlebot.json", br#"{"prefixes": [{"ipv6Prefix": "::/0"}]}"#, "::/0"),
        ("googlebot.json", br#"{"prefixes": ["192.0.2.1"], "creationTime": "today"}"#, "`today`"),
        ("googlebot.json", b"<!DOCTYPE html>", "<!DOCTYPE html>"),
        ("googlebot.json", b"{\"prefixes\": [", "another shape"),
        ("googlebot.json", deep.as_bytes(), "another shape"),
        ("googlebot.json", b"\xff\xfe", "not UTF-8"),
        ("googlebot.json", &large, "4 MiB"),
        ("googlebot.json", many.as_bytes(), "more than 100000"),
        ("ours.json", GOOGLE, "googlebot.json, "),
    ] {
        let error = CrawlerRanges::default().add(name, bytes, Some(0)).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// The table names crawlers as the list does.
#[test]
fn each_crawler_of_a_published_file_is_in_the_list() {
    let lists = AgentLists::embedded();
    for published in &PUBLISHED {
        for name in published.crawlers {
            let agent = format!("Mozilla/5.0 (compatible; {name}/1.0)");
            let found = lists
                .crawler(agent.as_bytes())
                .map(|it| (it.name.to_owned(), it.operator.is_some()));
            let expected = Some(((*name).to_owned(), true));
            assert_eq!(found, expected, "{name}");
        }
    }
}

proptest! {
    #[test]
    fn addresses_are_found_as_one_by_one(
        prefixes in proptest::collection::vec((any::<u32>(), 8u8..=32), 1..20),
        near in proptest::collection::vec((any::<proptest::sample::Index>(), -2i64..3), 1..40),
    ) {
        let texts: Vec<String> = prefixes
            .iter()
            .map(|(bits, length)| format!("{}/{length}", std::net::Ipv4Addr::from_bits(*bits)))
            .collect();
        let mut ranges = CrawlerRanges::default();
        ranges.add("gptbot", texts.join("\n").as_bytes(), Some(0)).expect("they are prefixes");
        for (index, distance) in near {
            let (bits, length) = prefixes[index.index(prefixes.len())];
            let size = 1i64 << (32 - length);
            let start = i64::from(bits) & !(size - 1);
            let at = if distance < 0 { start + distance } else { start + size - 1 + distance };
            let Ok(at) = u32::try_from(at) else { continue };
            let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(at));
            let expected = prefixes.iter().any(|(bits, length)| {
                let mask = u32::MAX.checked_shl(32 - u32::from(*length)).unwrap_or(0);
                bits & mask == at & mask
            });
            let found = ranges.verdict("GPTBot", Some(address), Some(0));
            prop_assert_eq!(found == Verdict::Verified, expected);
        }
    }
}

#[test]
fn no_text_of_a_file_begins_a_line_of_a_message() {
    for text in [
        r#"{"creationTime": "2026-04-01\nweir: forged", "prefixes": ["192.0.2.0/24"]}"#,
        r#"{"prefixes": [{"\nweir: forged": 1}]}"#,
        r#"{"prefixes": ["192.0.2.0/24\nweir: forged"]}"#,
    ] {
        let error = CrawlerRanges::default().add("googlebot.json", text.as_bytes(), None);
        let message = error.expect_err("it is wrong").to_string();
        assert!(message.contains("forged") && !message.contains('\n'), "{message}");
    }
}
