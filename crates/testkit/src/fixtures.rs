//! Paths of the real logs in `fixtures/`. Each folder documents the origin of its logs.

use std::path::{Path, PathBuf};

/// The folder of all fixtures.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A file by its path in the folder of fixtures.
pub fn file(path: &str) -> PathBuf {
    root().join(path)
}

/// The first 2,000 lines of a sample in Apache's combined format. Some times decrease.
pub fn elastic_first_2000() -> PathBuf {
    root().join("apache-combined/elastic-first-2000.log")
}

/// 41 lines of the same sample. The 20th lacks its closing quote.
pub fn elastic_near_8899() -> PathBuf {
    root().join("apache-combined/elastic-near-8899.log")
}

/// The logs of two small sites in Apache's common format.
pub fn apache_common() -> Vec<PathBuf> {
    files("apache-mixed", ".common.log")
}

/// The logs of the same sites in Apache's combined format.
pub fn apache_combined() -> Vec<PathBuf> {
    files("apache-mixed", ".combined.log")
}

/// The log of one of them in Apache's combined format, after the virtual host and its port.
pub fn apache_vhost() -> Vec<PathBuf> {
    files("apache-mixed", ".vhost.log")
}

/// The daily logs of two virtual hosts in nginx's combined format.
pub fn nginx_combined() -> Vec<PathBuf> {
    let mut files = files("nginx-combined", "");
    files.retain(|path| path.to_string_lossy().contains(".access.log-"));
    files
}

/// 1,000 lines in combined format, all of attacks.
pub fn hackers_first_1000() -> PathBuf {
    root().join("attacks/hackers-first-1000.log")
}

/// 300 lines of an online shop in combined format with another quoted field, at +0330.
pub fn shop_first_300() -> PathBuf {
    root().join("w3c-and-json/shop-first-300.log")
}

/// Caddy's JSON. The first file has the prefix of docker compose.
pub fn caddy() -> Vec<PathBuf> {
    ["logfile_caddy_log.0", "logfile_caddy_log.1"].map(w3c_and_json).into()
}

/// A few lines in combined format.
pub fn access_logs() -> Vec<PathBuf> {
    ["logfile_access_log.0", "logfile_access_log.1"].map(w3c_and_json).into()
}

/// Three lines in combined format. The second lacks ident and user.
pub fn bad_access_log() -> PathBuf {
    w3c_and_json("logfile_bad_access_log.0")
}

/// Two lines with carriage returns, which are not of an access log.
pub fn crlf() -> PathBuf {
    w3c_and_json("logfile_crlf.0")
}

/// Lines that are not valid UTF-8, and not of an access log.
pub fn invalid_utf8() -> PathBuf {
    w3c_and_json("logfile_invalid_utf8.0")
}

/// Lines of nginx, apache2, haproxy and traefik with their expected fields, as JSON lines.
pub fn parser_cases() -> PathBuf {
    root().join("crowdsec/parser_cases.jsonl")
}

/// Tests of CrowdSec's scenarios as JSON lines, beside the folders that they name.
pub fn scenario_cases() -> PathBuf {
    root().join("crowdsec/scenario_cases.jsonl")
}

/// Dirty lines: kind, source and line, separated by the first two tabs.
pub fn dirt() -> PathBuf {
    root().join("dirt/lines.tsv")
}

fn w3c_and_json(name: &str) -> PathBuf {
    root().join("w3c-and-json").join(name)
}

/// The files of a folder whose names end with `ending`, sorted.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = root().join(folder);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    files.sort();
    files
}
