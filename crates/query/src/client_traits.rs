//! Classifies clients by their requests: whether they signed in, which agents they use, and whether
//! they load pages as browsers do.
//!
//! A client is judged by all of its requests in the data set, including those that a rule ignores.
//! Each distinct value is classified once, and requests are read by their ids alone.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};

use weir_core::{
    ABSENT, AddressBlock, Codes, CompiledFilter, Dictionary, Field, Filter, REMAINDER, RecordKind,
    SnapshotSegment, Snapshots, Values,
};
use weir_view::GoodReason;

use crate::snapshot_work::{Interruption, SnapshotWork};

pub(crate) const SIGNED_IN: u8 = 1;
pub(crate) const SEARCH_CRAWLER: u8 = 1 << 1;
pub(crate) const MONITOR: u8 = 1 << 2;
/// The user agent is a program other than a browser.
pub(crate) const ROBOT: u8 = 1 << 3;
/// A page that was served, or a file that pages embed.
pub(crate) const PAGE: u8 = 1 << 4;
pub(crate) const ASSET: u8 = 1 << 5;
/// Memory ran out, so a value of a request was not kept.
const UNKNOWN: u8 = 1 << 6;

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

/// The classification of all clients of a data set.
///
/// # Memory
///
/// One byte for each distinct client, and during the classification one byte for each distinct
/// agent, user, status and path.
pub(crate) struct ClientTraits {
    /// By client id.
    flags: Vec<u8>,
    networks: Vec<AddressBlock>,
}

/// The classification of one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAssessment {
    flags: u8,
    is_named: bool,
}

/// The flags of each value of a column, by id.
struct Classes {
    field: Field,
    flags: Vec<u8>,
}

impl ClientTraits {
    /// Classifies the clients of a snapshot on up to `jobs` threads. Clients in `networks` are
    /// good.
    ///
    /// # Errors
    /// Fails if ids of the snapshot are stale, or if `abandoned` becomes true.
    pub(crate) fn of<D: Snapshots>(
        work: &SnapshotWork<'_, D>,
        networks: &[AddressBlock],
    ) -> Result<Self, Interruption> {
        // The lock on the values is released here, because parsers wait for it.
        let (tables, clients) = work.with_values(|values| {
            (Tables::new(values), values.dictionary(Field::Client.column()).ids())
        })?;
        let flags: Vec<AtomicU8> = (0..clients).map(|_| AtomicU8::new(0)).collect();
        let is_request = |it: &&SnapshotSegment| it.segment.kind() == RecordKind::Request;
        let segments = work.snapshot.segments.iter().filter(is_request);
        let segments: Vec<&SnapshotSegment> = segments.collect();
        let all = CompiledFilter::new(&Filter::default());
        let judge = |segment: &SnapshotSegment| tables.judge(segment, &all, &flags);
        work.spread(segments.into_iter(), judge)?;
        let flags = flags.into_iter().map(AtomicU8::into_inner).collect();
        Ok(Self { flags, networks: networks.to_vec() })
    }

    /// Classifies the client with this key. Returns `None` if the key is not an address.
    pub(crate) fn assess(&self, key: &[u8], values: &Values) -> Option<ClientAssessment> {
        std::str::from_utf8(key).ok()?.parse::<IpAddr>().ok()?;
        let id = values.dictionary(Field::Client.column()).find(key);
        let flags = id.and_then(|id| self.flags.get(id as usize)).copied();
        let is_named = AddressBlock::any_contains(&self.networks, key);
        Some(ClientAssessment { flags: flags.unwrap_or(0), is_named })
    }

    /// Returns whether values of some requests were not kept.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.flags.iter().any(|flags| flags & UNKNOWN != 0)
    }
}

impl ClientAssessment {
    /// The assessment of a client with these flags.
    pub(crate) fn new(flags: u8, is_named: bool) -> Self {
        Self { flags, is_named }
    }

    /// Returns why the client is good; empty if it is not.
    pub(crate) fn reasons(self) -> Vec<GoodReason> {
        let has = |reason: &GoodReason| match reason {
            GoodReason::SignedIn => self.is_signed_in(),
            GoodReason::SearchCrawler => self.flags & SEARCH_CRAWLER != 0,
            GoodReason::Monitor => self.flags & MONITOR != 0,
            GoodReason::NamedNetwork => self.is_named,
        };
        GoodReason::ALL.into_iter().filter(has).collect()
    }

    pub(crate) fn is_good(self) -> bool {
        self.is_named || self.flags & (SIGNED_IN | SEARCH_CRAWLER | MONITOR) != 0
    }

    pub(crate) fn is_signed_in(self) -> bool {
        self.flags & SIGNED_IN != 0
    }

    /// Returns whether the client looks human: it has no robot's agent, and it signed in or loaded
    /// both a page and a file that pages embed.
    pub(crate) fn is_human(self) -> bool {
        let has_page = self.flags & PAGE != 0 && self.flags & ASSET != 0;
        self.flags & ROBOT == 0 && (has_page || self.is_signed_in())
    }
}

/// The flags of the values in each column that says something about a client.
struct Tables {
    agents: Classes,
    users: Classes,
    /// 1 if the status is below 400.
    statuses: Classes,
    paths: Classes,
}

impl Tables {
    fn new(values: &Values) -> Self {
        let classes = |field: Field, classify: fn(&[u8]) -> u8| {
            let dictionary: &Dictionary = values.dictionary(field.column());
            let ids = 0..dictionary.ids() as u32;
            let flags = ids.map(|id| dictionary.value(id).map_or(0, classify)).collect();
            Classes { field, flags }
        };
        Self {
            agents: classes(Field::UserAgent, agent_flags),
            users: classes(Field::User, |user| if is_set(user) { SIGNED_IN } else { 0 }),
            statuses: classes(Field::Status, |status| u8::from(is_below_400(status))),
            paths: classes(Field::Path, path_flags),
        }
    }

    fn judge(&self, segment: &SnapshotSegment, all: &CompiledFilter, clients: &[AtomicU8]) {
        let SnapshotSegment { segment, bounds, .. } = segment;
        let Some(of_rows) = segment.text(Field::Client.column()) else { return };
        let [agents, users, statuses, paths] =
            [&self.agents, &self.users, &self.statuses, &self.paths]
                .map(|classes| (classes, segment.text(classes.field.column())));
        all.pass_within(segment, bounds).selection().for_each(|row| {
            let Some(client) = clients.get(of_rows.get(row) as usize) else { return };
            let mut flags = flags_at(agents, row);
            let status = flags_at(statuses, row);
            if status & 1 != 0 {
                flags |= flags_at(users, row) | flags_at(paths, row);
            }
            flags |= status & UNKNOWN;
            if client.load(Ordering::Relaxed) & flags != flags {
                client.fetch_or(flags, Ordering::Relaxed);
            }
        });
    }
}

/// Returns the flags of the value that a row has in a column.
fn flags_at((classes, codes): (&Classes, Option<&Codes>), row: usize) -> u8 {
    let Some(codes) = codes else { return 0 };
    match codes.get(row) as u32 {
        ABSENT => 0,
        REMAINDER => UNKNOWN,
        id => classes.flags.get(id as usize).copied().unwrap_or(0),
    }
}

/// Classifies a user agent. A missing agent counts as a program's.
pub(crate) fn agent_flags(agent: &[u8]) -> u8 {
    let agent = agent.to_ascii_lowercase();
    let has_one = |parts: &[&[u8]]| {
        parts.iter().any(|part| agent.windows(part.len()).any(|window| window == *part))
    };
    let mut flags = 0;
    if has_one(&SEARCH_CRAWLERS) {
        flags |= SEARCH_CRAWLER | ROBOT;
    }
    if has_one(&MONITORS) {
        flags |= MONITOR | ROBOT;
    }
    if !is_set(&agent) || has_one(&ROBOTS) {
        flags |= ROBOT;
    }
    flags
}

pub(crate) fn path_flags(path: &[u8]) -> u8 {
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

pub(crate) fn is_below_400(status: &[u8]) -> bool {
    matches!(status, [b'1'..=b'3', b'0'..=b'9', b'0'..=b'9'])
}

#[cfg(test)]
mod tests {
    use super::{
        ASSET, MONITOR, PAGE, ROBOT, SEARCH_CRAWLER, agent_flags, is_below_400, path_flags,
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
    fn pages_and_their_files_are_told_apart() {
        for (path, flags) in [
            ("/", PAGE),
            ("/a.b/c", PAGE),
            ("/index.HTML", PAGE),
            ("/a/site.css", ASSET),
            ("/a.b.JS", ASSET),
            ("/feed.xml", 0),
            ("/a.", 0),
            ("", PAGE),
        ] {
            assert_eq!(path_flags(path.as_bytes()), flags, "{path}");
        }
        assert!(is_below_400(b"200") && is_below_400(b"304"));
        assert!(!is_below_400(b"404") && !is_below_400(b"-") && !is_below_400(b"2000"));
    }
}
