//! Robots that do not call themselves so: against a naive implementation over the lines, and against
//! labels of real clients.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use weir_core::{Block, BlockLimits, BlockReader, Fold, Format, Values, format_by_name};
use weir_query::{RobotCensus, robot_census};
use weir_testkit::fixtures;
use weir_view::{RobotReason, Robots};

use crate::all_records;

const ASSETS: [&str; 16] = [
    "css", "js", "mjs", "png", "jpg", "jpeg", "gif", "svg", "ico", "webp", "avif", "woff", "woff2",
    "ttf", "otf", "eot",
];

/// A line in the combined format.
#[derive(Debug, Clone)]
struct Request {
    client: String,
    time_s: i64,
    path: String,
    status: u32,
    bytes: u64,
    referer: String,
    agent: String,
}

impl Request {
    fn is_asset(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| ASSETS.contains(&ending.as_str()))
    }

    fn pattern(&self) -> String {
        let mut parts = self.path.split('/');
        if parts.next() != Some("") {
            return self.path.chars().take(64).collect();
        }
        let first = parts.next().unwrap_or_default();
        let mut pattern = "/".to_owned();
        for letter in first.chars() {
            match letter.is_ascii_digit() {
                true if pattern.ends_with('N') => {}
                true => pattern.push('N'),
                false => pattern.push(letter),
            }
        }
        pattern.truncate(64);
        if parts.any(|part| !part.is_empty()) { pattern + "/*" } else { pattern }
    }
}

/// Requests of a seeded generator: people, robots of each kind, and a botnet with a few people of the
/// same agent.
fn made(seed: u64) -> Vec<Request> {
    let mut numbers = weir_testkit::numbers::Numbers::new(seed);
    let mut requests = Vec::new();
    for client in 0..300 {
        let kind = numbers.below(6);
        let agent = match kind {
            0 | 1 => "Botnet/1 (Windows)".to_owned(),
            2 => "Named bot".to_owned(),
            _ => format!("Browser {}", numbers.below(4)),
        };
        let count = if kind < 2 { 1 + numbers.below(5) } else { 1 + numbers.below(30) };
        let start_s = 1_700_000_000 + numbers.below(86_400) as i64;
        let (gap_s, has_assets) = (numbers.below(40) as i64, numbers.below(4) > 0 && kind > 0);
        let has_referer = numbers.below(3) > 0;
        for number in 0..count {
            let path = match (numbers.below(3), has_assets) {
                (0, true) => format!("/static/{}.css", numbers.below(5)),
                (1, _) => format!("/item-{}/x", numbers.below(1 + 10 * (kind + 1))),
                _ => numbers.one_of(&["/", "/robots.txt", "/login", "/a/b", "/7/c"]).to_owned(),
            };
            let path = if kind > 2 { path.replace("/robots.txt", "/") } else { path };
            let agent = match (kind, numbers.below(9)) {
                (5, 0) => "Other".to_owned(),
                (2, 0) if client % 2 == 0 => "Second bot".to_owned(),
                _ => agent.clone(),
            };
            requests.push(Request {
                client: format!("192.0.{}.{}", client / 200, client % 200),
                time_s: start_s + number as i64 * gap_s + numbers.below(2) as i64,
                path,
                status: numbers.one_of(&[200, 304, 404, 500]),
                bytes: numbers.below(9_000),
                referer: if has_referer { "http://e.example/".to_owned() } else { "-".to_owned() },
                agent,
            });
        }
    }
    requests
}

fn log(requests: &[Request]) -> String {
    let line = |it: &Request| {
        let time = weir_core::format_rfc3339(weir_core::Timestamp {
            unix_ns: it.time_s * 1_000_000_000,
            offset_s: 0,
        });
        let Request { client, path, status, bytes, referer, agent, .. } = it;
        format!(
            "{client} [{time}] \"GET {path} HTTP/1.1\" {status} {bytes} \"{referer}\" \"{agent}\"\n"
        )
    };
    requests.iter().map(line).collect()
}

const MADE: &str = "$remote_addr [$time_iso8601] \"$request\" $status $body_bytes_sent \"$http_referer\" \
                    \"$http_user_agent\"";

/// Reads blocks of some bytes, folds every `folds`-th one apart, and merges in the reverse order.
fn census(format: &str, log: &[u8], block_bytes: usize, folds: usize) -> (Values, RobotCensus) {
    let known = format_by_name(format);
    let format = Arc::new(known.unwrap_or_else(|| Format::parse(format).expect("a format")));
    let mut values = Values::new(1 << 26);
    let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    let blank = robot_census(&all_records(), &values).expect("a valid query");
    let mut parts = vec![blank; folds];
    let mut rest = log;
    let mut number = 0;
    while !rest.is_empty() {
        let near = &rest[..block_bytes.min(rest.len())];
        let end = near.iter().rposition(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let block = Block::new(rest[..end].to_vec());
        let segment = reader.read_segment(&block, 0, &mut values);
        let part = &mut parts[number % folds];
        part.refresh(&values);
        part.update(&segment);
        (rest, number) = (&rest[end..], number + 1);
    }
    let mut whole = parts.pop().expect("one");
    whole.refresh(&values);
    parts.iter().rev().for_each(|part| whole.merge(part));
    (values, whole)
}

fn declares(agent: &[u8]) -> bool {
    agent.ends_with(b"bot")
}

/// Clients, requests, bytes, errors, and others of a cohort.
type Sums = (u64, u64, u64, u64, u64);

/// What the rule of docs/crawlers.md says of each client that is no member of a cohort, and the cohorts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Naive {
    single: BTreeMap<String, Vec<RobotReason>>,
    declared: usize,
    /// By agent and pattern.
    cohorts: BTreeMap<(String, String), Sums>,
}

fn reasons(own: &[Request], all: &[Request]) -> Vec<RobotReason> {
    let mut times: Vec<i64> = own.iter().map(|it| it.time_s).collect();
    times.sort_unstable();
    let mut gaps: Vec<i64> = times.windows(2).take(8).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let is_even = gaps.len() == 8 && gaps[4] >= 2 && {
        gaps.iter().filter(|gap| (*gap - gaps[4]).abs() <= (gaps[4] / 10).max(1)).count() >= 6
    };
    let mut pages: HashMap<&str, usize> = HashMap::new();
    own.iter().filter(|it| !it.is_asset()).for_each(|it| *pages.entry(&it.path).or_default() += 1);
    let again = pages.values().filter(|count| **count > 1).count();
    let has_referer = |it: &Request| it.referer != "-";
    let is_long = own.len() >= 5;
    let mut reasons = Vec::new();
    let mut add = |reason, holds: bool| reasons.extend(holds.then_some(reason));
    add(RobotReason::RobotsTxt, own.iter().any(|it| it.path == "/robots.txt"));
    let assets = |all: &[Request]| all.iter().any(Request::is_asset);
    add(RobotReason::NoAssets, is_long && assets(all) && !assets(own));
    let referers = |all: &[Request]| all.iter().any(has_referer);
    add(RobotReason::NoReferer, is_long && referers(all) && !referers(own));
    add(RobotReason::EvenGaps, is_even);
    // The census looks at eight paths, which are all of those here unless there are more.
    add(RobotReason::ManyPathsOnce, pages.len() == 8 && again <= 1);
    reasons
}

fn by_client(requests: &[Request]) -> BTreeMap<String, Vec<Request>> {
    let mut clients: BTreeMap<String, Vec<Request>> = BTreeMap::new();
    requests.iter().for_each(|it| clients.entry(it.client.clone()).or_default().push(it.clone()));
    clients
}

fn naive(requests: &[Request]) -> Naive {
    let clients = by_client(requests);
    let agent_of = |own: &[Request]| {
        let agents: BTreeSet<&String> = own.iter().map(|it| &it.agent).collect();
        (agents.len() == 1).then(|| own[0].agent.clone())
    };
    let is_declared = |own: &[Request]| own.iter().all(|it| declares(it.agent.as_bytes()));
    let patterns_of = |own: &[Request]| -> BTreeSet<String> {
        own.iter().filter(|it| !it.is_asset()).map(Request::pattern).collect()
    };
    let has_assets = |own: &[Request]| own.iter().any(Request::is_asset);
    let (mut sharing, mut candidates) = (HashMap::<_, (u64, u64)>::new(), Vec::new());
    for (client, own) in &clients {
        let Some(agent) = agent_of(own).filter(|_| !is_declared(own)) else { continue };
        let is_candidate = own.len() <= 5 && !has_assets(own) && has_assets(requests);
        for pattern in patterns_of(own) {
            let (members, others) = sharing.entry((agent.clone(), pattern)).or_default();
            *members += u64::from(is_candidate);
            *others += u64::from(has_assets(own));
        }
        if is_candidate {
            candidates.push((client, agent));
        }
    }
    let mut members: BTreeMap<(String, String), Vec<&String>> = BTreeMap::new();
    for (client, agent) in candidates {
        let mut best: Option<String> = None;
        for pattern in patterns_of(&clients[client]) {
            let size = |pattern: &String| sharing[&(agent.clone(), pattern.clone())].0;
            if best.as_ref().is_none_or(|best| size(&pattern) > size(best)) {
                best = Some(pattern);
            }
        }
        members.entry((agent, best.expect("a page"))).or_default().push(client);
    }
    members.retain(|key, own| own.len() >= 10 && own.len() as u64 >= 3 * sharing[key].1);
    let mut found = Naive::default();
    let in_cohorts: BTreeSet<&String> = members.values().flatten().copied().collect();
    for (client, own) in &clients {
        let reasons = reasons(own, requests);
        let is_like = reasons.contains(&RobotReason::RobotsTxt) || reasons.len() >= 2;
        if is_like && !in_cohorts.contains(client) {
            match is_declared(own) {
                true => found.declared += 1,
                false => drop(found.single.insert(client.clone(), reasons)),
            }
        }
    }
    for (key, own) in members {
        let rows: Vec<&Request> = own.iter().flat_map(|client| &clients[*client]).collect();
        let errors = rows.iter().filter(|it| it.status >= 400).count() as u64;
        let bytes = rows.iter().map(|it| it.bytes).sum();
        let others = sharing[&key].1;
        found.cohorts.insert(key, (own.len() as u64, rows.len() as u64, bytes, errors, others));
    }
    found
}

fn found(robots: &Robots) -> Naive {
    let single = robots.rows.iter().map(|row| (row.value.text.clone(), row.reasons.clone()));
    let cohorts = robots.cohort_rows.iter().map(|row| {
        let sums =
            (row.sums.clients, row.sums.requests, row.sums.bytes_sent, row.sums.errors, row.others);
        ((row.value.text.clone(), row.pattern.clone()), sums)
    });
    Naive {
        single: single.collect(),
        declared: robots.declared.clients as usize,
        cohorts: cohorts.collect(),
    }
}

#[test]
fn the_census_finds_what_the_naive_rule_finds() {
    let mut cohorts = 0;
    for seed in 1..=8 {
        // The naive rule knows all paths, so clients with more than the census keeps are left out.
        let mut requests = made(seed);
        let few = |own: &Vec<Request>| {
            let pages = own.iter().filter(|it| !it.is_asset()).map(|it| &it.path);
            pages.collect::<BTreeSet<_>>().len() <= 8
        };
        let clients = by_client(&requests);
        requests.retain(|it| few(&clients[&it.client]));
        let expected = naive(&requests);
        let log = log(&requests);
        for (block_bytes, folds) in [(1 << 20, 1), (3_000, 1), (3_000, 3), (700, 7)] {
            let (values, census) = census(MADE, log.as_bytes(), block_bytes, folds);
            let robots = census.robots(&values, usize::MAX, declares);
            assert_eq!(found(&robots), expected, "seed {seed}, {block_bytes} bytes, {folds} folds");
            assert_eq!(robots.clients.clients, expected.single.len() as u64);
            assert_eq!(robots.cohorts, expected.cohorts.len() as u64);
            let requests = expected.cohorts.values().map(|sums| sums.1).sum::<u64>();
            assert_eq!((robots.cohort_clients.requests, robots.sampled), (requests, 0));
        }
        assert!(expected.single.len() > 20 && expected.declared > 5, "{expected:?}");
        cohorts += expected.cohorts.len();
    }
    assert!(cohorts >= 8, "{cohorts}");
}

#[test]
fn many_paths_are_sampled() {
    let page = |number: usize, client: &str| Request {
        client: client.to_owned(),
        time_s: 1_700_000_000 + number as i64,
        path: format!("/page/{number}"),
        status: 200,
        bytes: 1,
        referer: "http://e.example/".to_owned(),
        agent: "Browser".to_owned(),
    };
    let mut requests: Vec<Request> = (0..500).map(|number| page(number, "192.0.2.1")).collect();
    // Each path three times.
    requests.extend((0..500).map(|number| page(number % 166, "192.0.2.2")));
    let asset = Request { path: "/a.css".to_owned(), ..page(0, "192.0.2.3") };
    requests.push(asset);
    let (values, census) = census(MADE, log(&requests).as_bytes(), 5_000, 3);
    let robots = census.robots(&values, 10, declares);
    let rows: Vec<_> = robots.rows.iter().map(|row| (&*row.value.text, &row.reasons[..])).collect();
    let both = [RobotReason::NoAssets, RobotReason::ManyPathsOnce];
    assert_eq!(rows, [("192.0.2.1", &both[..])]);
}

/// The lines of the labelled logs in a folder.
fn labelled(folder: &str) -> Vec<u8> {
    let paths = match folder {
        "nginx-combined" => fixtures::nginx_combined(),
        _ => vec![fixtures::elastic_first_2000()],
    };
    let read = |path| std::fs::read(path).expect("a fixture");
    paths.into_iter().flat_map(read).collect()
}

/// The numbers of docs/crawlers.md.
#[test]
fn labelled_clients_are_judged_as_documented() {
    let labels = std::fs::read_to_string(fixtures::file("robots.tsv")).expect("labels");
    for (folder, expected) in
        [("nginx-combined", [18, 5, 2, 0]), ("apache-combined", [2, 0, 100, 0])]
    {
        let (values, census) = census("COMBINED", &labelled(folder), 1 << 20, 1);
        let robots = census.robots(&values, usize::MAX, |_| false);
        let like: BTreeSet<&str> = robots.rows.iter().map(|row| &*row.value.text).collect();
        let mut counts = [0; 4];
        for line in labels.lines().filter(|line| line.starts_with(folder)) {
            let columns: Vec<&str> = line.split('\t').collect();
            let is_like = like.contains(columns[1]);
            match columns[2] {
                "robot" => counts[usize::from(!is_like)] += 1,
                "person" => counts[2 + usize::from(is_like)] += 1,
                _ => {}
            }
        }
        assert_eq!(counts, expected, "{folder}: robots found, missed, people left, accused");
    }
}

/// A real botnet of 171 addresses among the requests of another site, which have assets.
#[test]
fn a_real_botnet_is_found_as_cohorts() {
    let attack = std::fs::read(fixtures::hackers_first_1000()).expect("a fixture");
    let attackers: BTreeSet<&[u8]> = attack
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').next().filter(|it| !it.is_empty()))
        .collect();
    let log = [labelled("apache-combined"), attack.clone()].concat();
    let (values, census) = census("COMBINED", &log, 1 << 20, 1);
    let robots = census.robots(&values, usize::MAX, |_| false);
    let is_attacker = |client: &str| attackers.contains(client.as_bytes());
    let single = robots.rows.iter().filter(|row| is_attacker(&row.value.text)).count();
    // Nobody else asked for these.
    let is_attack = |pattern: &str| ["/acl_users/*", "/join_form"].contains(&pattern);
    let cohorts = robots.cohort_rows.iter().filter(|row| is_attack(&row.pattern));
    let cohorts: Vec<_> =
        cohorts.map(|row| (row.sums.clients, row.sums.requests, row.others)).collect();
    assert_eq!((attackers.len(), single), (171, 4));
    assert_eq!(cohorts, [(33, 104, 0), (16, 55, 0)]);
}
