//! mod_evasive in Apache, in one process, because each counts alone.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_testkit::numbers::Numbers;

use super::{DISTANCE_MS, Program, REQUEST_TIME_MAX, TIMEOUT, apache, compare, wait_for};
use crate::support::{Folder, text};

/// The folder with the unpacked packages of Debian.
const ROOT: &str = "APACHE_ROOT";

/// The least number of requests that are compared.
const REQUESTS: usize = 700;

/// The number of clients at a time.
const CLIENTS: usize = 12;

const RULE: &str = "DOSPageCount 2\nDOSPageInterval 1\nDOSSiteCount 7\nDOSSiteInterval 1\n\
                    DOSBlockingPeriod 2\n";

const FORMAT: &str = "$remote_addr [$time_local] \"$request\" $status";

/// Apache with the module.
fn start(root: &Path, folder: &Path) -> Option<(Program, u16)> {
    let (here, pages) = (text(folder), folder.join("pages"));
    std::fs::create_dir_all(&pages).expect("a folder");
    let configuration = format!(
        "LoadModule evasive20_module modules/mod_evasive20.so\n\
         LogFormat \"%a %t \\\"%r\\\" %>s\" short\n\
         CustomLog {here}/access.log short\nDocumentRoot {here}/pages\n{RULE}DOSLogDir {here}\n"
    );
    apache::start(root, folder, &configuration)
}

/// Requests a path from an address of this machine.
fn request(address: Ipv4Addr, port: u16, path: &str) {
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    apache::request(address, port, head.as_bytes());
}

#[test]
#[ignore = "needs Apache and mod_evasive; `cargo xtask test` runs it"]
fn decisions_are_those_of_mod_evasive() {
    let root = PathBuf::from(std::env::var(ROOT).expect("the folder of the packages"));
    let folder = Folder::new();
    let here = folder.path("apache");
    std::fs::create_dir_all(&here).expect("a folder");
    let log = here.join("access.log");
    let (apache, port) = wait_for("a port", || start(&root, &here));

    let mut numbers = Numbers::new(20_260_303);
    let mut generations = [0; CLIENTS];
    let mut late = BTreeSet::new();
    let (mut sent, start) = (0, Instant::now());
    while sent - late.len() < REQUESTS {
        assert!(start.elapsed() < TIMEOUT, "{sent} requests were sent, {} late", late.len());
        let client = numbers.below(CLIENTS as u64) as usize;
        let pages = 1 + numbers.below(3);
        for _ in 0..=numbers.below(10) {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
            // The module counts in whole seconds.
            let in_second = u64::from(since.subsec_millis());
            if !(DISTANCE_MS..1_000 - DISTANCE_MS).contains(&in_second) {
                std::thread::sleep(Duration::from_millis(2 * DISTANCE_MS));
            }
            let begun = Instant::now();
            let address = Ipv4Addr::new(127, 1, client as u8, generations[client]);
            request(address, port, &format!("/p{}", numbers.below(pages)));
            sent += 1;
            if begun.elapsed() > REQUEST_TIME_MAX {
                late.insert(sent);
                generations[client] = generations[client].wrapping_add(1_u8);
            }
        }
        std::thread::sleep(Duration::from_millis(numbers.below(250)));
    }
    wait_for("the log", || {
        let lines = std::fs::read_to_string(&log).unwrap_or_default().lines().count();
        (lines == sent).then_some(())
    });
    drop(apache);
    let rule = here.join("rule.conf");
    std::fs::write(&rule, RULE).expect("a file");
    // A page that is not there has 404.
    let found = compare(&rule, &log, FORMAT, " 403", &late);
    assert_eq!(found.wrong, [""; 0], "{found:?}");
    println!("{} requests are decided as by mod_evasive", found.compared);
    assert!(found.compared >= REQUESTS && found.rejected > REQUESTS / 40, "{found:?}");
    assert!(found.compared - found.rejected > REQUESTS / 40, "{found:?}");
    assert_eq!(found.undecided, 0, "{found:?}");
}
