//! What single values of a request say about its client, as flags.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// A request with a user was served where the server lets only users in.
pub(crate) const SIGNED_IN: u16 = 1;
pub(crate) const SEARCH_CRAWLER: u16 = 1 << 1;
pub(crate) const MONITOR: u16 = 1 << 2;
/// The user agent is a program other than a browser.
pub(crate) const ROBOT: u16 = 1 << 3;
/// A page that was served, or a file that pages embed.
pub(crate) const PAGE: u16 = 1 << 4;
pub(crate) const ASSET: u16 = 1 << 5;
/// Memory ran out, so a value of a request was not kept.
pub(crate) const UNKNOWN: u16 = 1 << 6;
/// A path that only scanners ask for.
pub(crate) const SCANNED: u16 = 1 << 7;
/// A request with a user was served. Anyone can name one.
pub(crate) const USER_CLAIMED: u16 = 1 << 8;

/// The status of an answer: below 400; from 400 to 499; from 400; with what was asked for; 401.
pub(crate) const SERVED: u16 = 1;
pub(crate) const REFUSED: u16 = 1 << 1;
pub(crate) const FAILED: u16 = 1 << 2;
pub(crate) const SUCCEEDED: u16 = 1 << 3;
pub(crate) const CHALLENGED: u16 = 1 << 4;

/// The method of a request that reads.
pub(crate) const READS: u16 = 1;

/// Crawlers of search engines. Rejecting them costs visitors.
const SEARCH_CRAWLERS: [&[u8]; 10] = [
    b"googlebot",
    b"google-inspectiontool",
    b"bingbot",
    b"applebot",
    b"duckduckbot",
    b"yandexbot",
    b"baiduspider",
    b"qwantbot",
    b"seznambot",
    b"yahoo! slurp",
];

/// Monitors and health checks. Rejecting them raises an alarm.
const MONITORS: [&[u8]; 14] = [
    b"uptimerobot",
    b"pingdom",
    b"statuscake",
    b"site24x7",
    b"better uptime",
    b"better stack",
    b"nodeping",
    b"datadog/synthetics",
    b"googlestackdrivermonitoring",
    b"elb-healthchecker",
    b"kube-probe",
    b"amazon-route53-health-check",
    b"blackbox exporter",
    b"check_http",
];

/// Substrings of the user agents of programs other than browsers.
const ROBOTS: [&[u8]; 18] = [
    b"bot",
    b"crawl",
    b"spider",
    b"slurp",
    b"curl",
    b"wget",
    b"python",
    b"go-http",
    b"java/",
    b"libwww",
    b"http-client",
    b"httpclient",
    b"okhttp",
    b"scrapy",
    b"headless",
    b"scan",
    b"nikto",
    b"sqlmap",
];

/// The file name extensions of files that pages embed.
const ASSET_ENDINGS: [&[u8]; 16] = [
    b"css", b"js", b"mjs", b"png", b"jpg", b"jpeg", b"gif", b"svg", b"ico", b"webp", b"avif",
    b"woff", b"woff2", b"ttf", b"otf", b"eot",
];

/// The file name extensions of pages; a page may have none.
const PAGE_ENDINGS: [&[u8]; 8] =
    [b"html", b"htm", b"xhtml", b"php", b"asp", b"aspx", b"jsp", b"cgi"];

/// Parts of paths that only scanners ask for, in lower case.
const SCANNED_PARTS: [&[u8]; 16] = [
    b"/.env",
    b"/.git/",
    b"/.aws/",
    b"/.ssh/",
    b"/phpunit",
    b"/phpmyadmin",
    b"/cgi-bin/",
    b"/boaform",
    b"/actuator/",
    b"/etc/passwd",
    b"/../",
    b"/wp-config.php",
    b"/hnap1",
    b"/solr/admin",
    b"/dump.sql",
    b"/backup.zip",
];

/// The search for all of these parts of agents at once.
static AGENT_PARTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let parts = SEARCH_CRAWLERS.iter().chain(&MONITORS).chain(&ROBOTS);
    AhoCorasick::builder().ascii_case_insensitive(true).build(parts).ok()
});

/// Classifies a user agent. A missing one counts as a program's, if the log has agents at all.
pub(crate) fn agent_flags(agent: &[u8]) -> u16 {
    let of_missing = if is_set(agent) { 0 } else { ROBOT };
    let found = AGENT_PARTS.iter().flat_map(|parts| parts.find_overlapping_iter(agent));
    found.fold(of_missing, |flags, part| flags | flags_of_part(part.pattern().as_usize()))
}

/// What a part of an agent says, by its number among [`AGENT_PARTS`].
fn flags_of_part(number: usize) -> u16 {
    const SEARCH_CRAWLERS_END: usize = SEARCH_CRAWLERS.len();
    const MONITORS_END: usize = SEARCH_CRAWLERS_END + MONITORS.len();
    match number {
        ..SEARCH_CRAWLERS_END => SEARCH_CRAWLER | ROBOT,
        SEARCH_CRAWLERS_END..MONITORS_END => MONITOR | ROBOT,
        MONITORS_END.. => ROBOT,
    }
}

/// Classifies a path, as if it was answered with a status below 400.
pub(crate) fn path_flags(path: &[u8]) -> u16 {
    let scanned = if is_scanned(path) { SCANNED } else { 0 };
    scanned | kind_of_path(path)
}

fn kind_of_path(path: &[u8]) -> u16 {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else { return PAGE };
    let ending = name[dot + 1..].to_ascii_lowercase();
    match ending.as_slice() {
        ending if ASSET_ENDINGS.contains(&ending) => ASSET,
        ending if PAGE_ENDINGS.contains(&ending) => PAGE,
        _ => 0,
    }
}

pub(crate) fn is_set(value: &[u8]) -> bool {
    !matches!(value, b"" | b"-")
}

/// Whether a path contains what only scanners ask for. All of that begins with a slash.
fn is_scanned(path: &[u8]) -> bool {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut rests = slashes.map(|(at, _)| &path[at..]);
    rests.any(|rest| {
        SCANNED_PARTS.iter().any(|part| {
            rest.get(..part.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(part))
        })
    })
}

/// Classifies a status, with flags of its own.
pub(crate) fn status_flags(status: &[u8]) -> u16 {
    match status {
        b"304" | [b'2', b'0'..=b'9', b'0'..=b'9'] => SERVED | SUCCEEDED,
        [b'1'..=b'3', b'0'..=b'9', b'0'..=b'9'] => SERVED,
        b"401" => REFUSED | FAILED | CHALLENGED,
        [b'4', _, _] => REFUSED | FAILED,
        [b'5'..=b'9', _, _] => FAILED,
        _ => 0,
    }
}

/// Classifies a method, with flags of its own.
pub(crate) fn method_flags(method: &[u8]) -> u16 {
    if matches!(method, b"GET" | b"HEAD") { READS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{
        ASSET, CHALLENGED, FAILED, MONITOR, MONITORS, PAGE, REFUSED, ROBOT, ROBOTS, SCANNED,
        SEARCH_CRAWLER, SEARCH_CRAWLERS, SERVED, SUCCEEDED, agent_flags, path_flags, status_flags,
    };

    #[test]
    fn agents_are_told_apart() {
        for (agent, flags) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", 0),
            ("Mozilla/5.0 (compatible; Googlebot/2.1)", SEARCH_CRAWLER | ROBOT),
            ("Mozilla/5.0 (compatible; Yahoo! Slurp)", SEARCH_CRAWLER | ROBOT),
            ("Mozilla/5.0+(compatible; UptimeRobot/2.0)", MONITOR | ROBOT),
            ("GPTBot/1.2", ROBOT),
            ("curl/8.5.0", ROBOT),
            ("-", ROBOT),
            ("", ROBOT),
        ] {
            assert_eq!(agent_flags(agent.as_bytes()), flags, "{agent}");
        }
    }

    #[test]
    fn each_part_of_an_agent_has_its_flags() {
        for (parts, flags) in [
            (&SEARCH_CRAWLERS[..], SEARCH_CRAWLER | ROBOT),
            (&MONITORS[..], MONITOR | ROBOT),
            (&ROBOTS[..], ROBOT),
        ] {
            for part in parts {
                let agent = [b"Mozilla/5.0 (", part.to_ascii_uppercase().as_slice(), b")"].concat();
                assert_eq!(agent_flags(&agent), naive_agent_flags(&agent), "{agent:?}");
                assert_eq!(agent_flags(&agent) & flags, flags, "{agent:?}");
            }
        }
    }

    /// Searches for one part after the other.
    fn naive_agent_flags(agent: &[u8]) -> u16 {
        let agent = agent.to_ascii_lowercase();
        let has_one = |parts: &[&[u8]]| {
            parts.iter().any(|part| agent.windows(part.len()).any(|window| window == *part))
        };
        let flags = [
            (SEARCH_CRAWLER | ROBOT, has_one(&SEARCH_CRAWLERS)),
            (MONITOR | ROBOT, has_one(&MONITORS)),
            (ROBOT, has_one(&ROBOTS)),
        ];
        flags.into_iter().filter(|(_, has_one)| *has_one).fold(0, |sum, (flags, _)| sum | flags)
    }

    #[test]
    fn pages_their_files_and_what_scanners_ask_for_are_told_apart() {
        for (path, flags) in [
            ("/", PAGE),
            ("/a.b/c", PAGE),
            ("/index.HTML", PAGE),
            ("/a/site.css", ASSET),
            ("/a.b.JS", ASSET),
            ("/feed.xml", 0),
            ("/a.", 0),
            ("", PAGE),
            ("/.env", SCANNED),
            ("/a/.GIT/config", SCANNED | PAGE),
            ("/a/../site.css", SCANNED | ASSET),
            ("/environment", PAGE),
            (".env", 0),
        ] {
            assert_eq!(path_flags(path.as_bytes()), flags, "{path}");
        }
    }

    #[test]
    fn statuses_are_told_apart() {
        for (status, flags) in [
            ("200", SERVED | SUCCEEDED),
            ("304", SERVED | SUCCEEDED),
            ("301", SERVED),
            ("401", REFUSED | FAILED | CHALLENGED),
            ("404", REFUSED | FAILED),
            ("503", FAILED),
            ("-", 0),
            ("2000", 0),
        ] {
            assert_eq!(status_flags(status.as_bytes()), flags, "{status}");
        }
    }
}
