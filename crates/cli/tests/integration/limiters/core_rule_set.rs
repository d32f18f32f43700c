//! The OWASP Core Rule Set in ModSecurity in Apache. The ids of the rules that it logs for a request
//! are compared with those that `weir rules --decisions` finds in the access log.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use weir_testkit::numbers::Numbers;

use super::payloads::{AGENTS, ATTACKS, HARMLESS};
use super::{Program, apache, wait_for};
use crate::support::{Folder, run, text};

/// The folder with the unpacked packages of Debian.
const ROOT: &str = "MODSECURITY_ROOT";

/// The paranoia levels, and the part of all requests that is sent at each, as one in so many.
const LEVELS: [(u8, usize); 4] = [(1, 1), (2, 3), (3, 3), (4, 1)];

/// What the log has.
const FORMAT: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
                      \"$http_referer\" \"$http_user_agent\" \"$http_host\" $request_id";

/// The ids that an access log does not decide, with the reason.
const EXCEPTIONS: [(&str, &str); 10] = [
    ("921180", "counts parameters in variables whose names are computed"),
    ("931130", "sets a variable whose name is computed"),
    ("941100", "libinjection"),
    ("941101", "libinjection"),
    ("942100", "libinjection"),
    ("942101", "libinjection"),
    ("949110", "the sum has the scores of the rules above"),
    ("949111", "the sum has the scores of the rules above"),
    ("980130", "reports the sum"),
    ("980140", "reports the sum"),
];

/// Apache with the rules at a paranoia level.
fn start(root: &Path, folder: &Path, level: u8) -> Option<(Program, u16)> {
    let (here, root_text) = (text(folder), text(root));
    std::fs::create_dir_all(folder.join("pages")).expect("a folder");
    let rules = format!(
        "SecRuleEngine On\n\
         SecAction \"id:900000,phase:1,nolog,pass,t:none,setvar:tx.paranoia_level={level}\"\n\
         Include {root_text}/etc/modsecurity/crs/crs-setup.conf\n\
         Include {root_text}/usr/share/modsecurity-crs/rules/*.conf\n"
    );
    std::fs::write(folder.join("rules.conf"), rules).expect("a file");
    let configuration = format!(
        "LoadModule unique_id_module modules/mod_unique_id.so\n\
         LoadModule security2_module modules/mod_security2.so\n\
         DocumentRoot {here}/pages\n\
         LogFormat \"%h - %u %t \\\"%r\\\" %>s %B \\\"%{{Referer}}i\\\" \\\"%{{User-Agent}}i\\\" \
         \\\"%{{Host}}i\\\" %{{UNIQUE_ID}}e\" with_id\n\
         CustomLog {here}/access.log with_id\n\
         SecDataDir {here}\nSecTmpDir {here}\nSecAuditEngine Off\nSecPcreMatchLimit 100000\n\
         SecPcreMatchLimitRecursion 100000\n\
         SecUnicodeMapFile {root_text}/etc/modsecurity/unicode.mapping 20127\n\
         Include {here}/rules.conf\n"
    );
    apache::start(root, folder, &configuration)
}

/// How a text is written in a part of a request.
#[derive(Debug, Clone, Copy)]
enum Encoding {
    /// Only what would end the part is escaped.
    Least,
    /// All but letters and digits are escaped.
    All,
    /// All but letters and digits are escaped twice.
    Twice,
}

fn encoded(value: &str, encoding: Encoding, kept: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        let is_kept = match encoding {
            Encoding::Least => byte.is_ascii_graphic() && !b"#%&+?".contains(&byte),
            Encoding::All | Encoding::Twice => byte.is_ascii_alphanumeric(),
        };
        if is_kept || kept.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let percent = if matches!(encoding, Encoding::Twice) { "%25" } else { "%" };
            encoded += &format!("{percent}{byte:02X}");
        }
    }
    encoded
}

/// The heads of requests, each with a text in one of their parts.
fn requests() -> Vec<String> {
    let mut numbers = Numbers::new(20_261_127);
    let mut heads = Vec::new();
    for value in ATTACKS.iter().chain(&HARMLESS) {
        for part in 0..5 {
            let encoding =
                numbers.one_of(&[Encoding::Least, Encoding::Least, Encoding::All, Encoding::Twice]);
            let query = encoded(value, encoding, b"");
            let plain: String = value.chars().filter(char::is_ascii_graphic).collect();
            let number = numbers.below(100);
            let agent = numbers.one_of(&AGENTS);
            let (target, agent, referer) = match part {
                0 => (format!("/index.php?id={number}&q={query}"), agent, None),
                1 => (format!("/?{query}={number}"), agent, None),
                2 => (format!("/a/{}", encoded(value, encoding, b"/")), agent, None),
                3 => (format!("/p{number}"), &*plain, None),
                _ => (format!("/p{number}.html"), agent, Some(format!("http://a.example/{query}"))),
            };
            let method = numbers.one_of(&["GET", "GET", "GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
            let referer = referer.map_or_else(String::new, |it| format!("Referer: {it}\r\n"));
            heads.push(format!(
                "{method} {target} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\
                 User-Agent: {agent}\r\n{referer}Content-Length: 0\r\nConnection: close\r\n\r\n"
            ));
        }
    }
    heads
}

/// The ids that ModSecurity has logged, by the id of the request.
fn logged_ids(log: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let log = std::fs::read(log).expect("a log");
    let log = String::from_utf8_lossy(&log).into_owned();
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in log.lines() {
        let part = |name: &str| {
            let from = line.rfind(&format!("[{name} \""))? + name.len() + 3;
            Some(line[from..].split('"').next()?.to_owned())
        };
        if let (Some(request), Some(id)) = (part("unique_id"), part("id")) {
            ids.entry(request).or_default().insert(id);
        }
    }
    ids
}

/// What was compared.
#[derive(Debug, Default)]
struct Comparison {
    requests: usize,
    /// Requests that Apache refuses after phase 1.
    refused: usize,
    /// The ids that both have.
    ids: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Comparison {
    fn add(&mut self, folder: &Path) {
        let log = folder.join("access.log");
        let (rules, lines) = (folder.join("rules.conf"), std::fs::read(&log).expect("a log"));
        let lines = String::from_utf8_lossy(&lines).into_owned();
        let logged = logged_ids(&folder.join("error.log"));
        let arguments = ["--decisions", "--format", FORMAT, "--rule", text(&rules), text(&log)];
        let replayed = run([&["rules"], &arguments[..]].concat());
        assert!(matches!(replayed.code, 0 | 3), "{}", replayed.stderr);
        for (line, decision) in lines.lines().zip(replayed.stdout.lines()) {
            let decision: serde_json::Value = serde_json::from_str(decision).expect("JSON");
            let found = decision["rules"].as_array().expect("a list").iter();
            let found: BTreeSet<String> =
                found.map(|id| id.as_str().expect("text").to_owned()).collect();
            let request = line.rsplit(' ').next().expect("an id");
            let nothing = BTreeSet::new();
            let expected = logged.get(request).unwrap_or(&nothing);
            self.requests += 1;
            if line.contains("\" 400 ") {
                self.refused += 1;
                continue;
            }
            let is_decided = |id: &&String| !EXCEPTIONS.iter().any(|(known, _)| known == *id);
            let differing = expected.symmetric_difference(&found).filter(is_decided);
            let differing: Vec<&String> = differing.collect();
            self.ids.extend(expected.intersection(&found).cloned());
            if !differing.is_empty() {
                self.wrong.push(format!("{line}: {differing:?}, found {found:?}"));
            }
        }
    }
}

#[test]
#[ignore = "needs Apache and ModSecurity; `cargo xtask test` runs it"]
fn ids_are_those_that_modsecurity_logs() {
    let root = PathBuf::from(std::env::var(ROOT).expect("the folder of the packages"));
    let folder = Folder::new();
    let mut comparison = Comparison::default();
    for (level, share) in LEVELS {
        let here = folder.path(&format!("level-{level}"));
        std::fs::create_dir_all(&here).expect("a folder");
        let (apache, port) = wait_for("a port", || start(&root, &here, level));
        let mut sent = 0;
        for head in requests().iter().skip(usize::from(level) % share).step_by(share) {
            apache::request(Ipv4Addr::LOCALHOST, port, head.as_bytes());
            sent += 1;
        }
        wait_for("the log", || {
            let log = std::fs::read(here.join("access.log")).unwrap_or_default();
            (log.iter().filter(|byte| **byte == b'\n').count() == sent).then_some(())
        });
        drop(apache);
        comparison.add(&here);
    }
    let Comparison { requests, refused, ids, wrong } = comparison;
    println!(
        "{requests} requests, {refused} of them refused by Apache itself, trip {} rules alike",
        ids.len()
    );
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(requests > 1_500 && refused * 20 < requests && ids.len() > 100, "{ids:?}");
}
