//! Compares alerts with those of CrowdSec itself, which must be installed; `cargo xtask test` uses
//! Debian's package, unpacked into a folder. Where CrowdSec is installed:
//! `CROWDSEC_ROOT=/ cargo test -p weir --test integration crowdsec:: -- --ignored`.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use weir_testkit::fixtures;

use crate::support::{Folder, run, text};

/// The folder with the unpacked package.
const ROOT: &str = "CROWDSEC_ROOT";

/// The scenarios of the package that are about web logs and need no databases, by the start of
/// their names.
const SCENARIOS: [&str; 8] =
    ["http-", "CVE-202", "apache_", "f5-", "fortinet", "grafana", "spring4", "thinkphp"];

/// Scenarios that need databases of networks and places.
const WITH_DATABASES: [&str; 2] =
    ["http-magento-ccs-by-as.yaml", "http-magento-ccs-by-country.yaml"];

/// The time limit of a program, in seconds. CrowdSec takes up to half a minute for a log on a
/// busy machine.
const TIME_MAX_S: u32 = 300;

/// Alerts by scenario, source, number of events and time.
type Alerts = BTreeMap<(String, String, u64, String), usize>;

/// CrowdSec with a configuration of its own.
struct CrowdSec<'f> {
    root: PathBuf,
    folder: &'f Folder,
}

impl<'f> CrowdSec<'f> {
    fn new(root: PathBuf, folder: &'f Folder) -> Self {
        let crowdsec = Self { root, folder };
        crowdsec.configure();
        crowdsec
    }

    /// Puts parsers, scenarios, data and the configuration into the folder.
    fn configure(&self) {
        let hub = self.root.join("usr/share/crowdsec/hub");
        let config = self.folder.path("config");
        for folder in ["postoverflows", "notifications"] {
            fs::create_dir_all(config.join(folder)).expect("a folder");
        }
        let parsers = [
            ("s00-raw", "syslog-logs"),
            ("s01-parse", "nginx-logs"),
            ("s01-parse", "apache2-logs"),
            ("s02-enrich", "dateparse-enrich"),
            ("s02-enrich", "http-logs"),
        ];
        for (stage, name) in parsers {
            let file = format!("{stage}/crowdsecurity/{name}.yaml");
            let target = config.join("parsers").join(stage);
            copy(&hub.join("parsers").join(file), &target, &format!("{name}.yaml"));
        }
        copy_folder(&self.root.join("etc/crowdsec/patterns"), &config.join("patterns"));
        let data = self.folder.path("data");
        copy_folder(&self.root.join("usr/share/crowdsec/data"), &data);
        // The scenarios use another name for the file than the package.
        copy(&data.join("path_traversal.txt"), &data, "http_path_traversal.txt");
        let scenarios = hub.join("scenarios/crowdsecurity");
        for entry in fs::read_dir(&scenarios).expect("the scenarios").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_used = SCENARIOS.iter().any(|start| name.starts_with(start))
                && name.ends_with(".yaml")
                && !WITH_DATABASES.contains(&&name[..]);
            if is_used {
                copy(&entry.path(), &config.join("scenarios"), &name);
            }
        }
        fs::create_dir_all(self.folder.path("hub")).expect("a folder");
        for (name, content) in [
            ("config/simulation.yaml", "simulation: off\n"),
            ("config/console.yaml", "share_manual_decisions: false\n"),
            ("config/profiles.yaml", PROFILES),
            ("config/acquis.yaml", ""),
            ("hub/.index.json", INDEX),
        ] {
            self.folder.file(name, content.as_bytes());
        }
        // A free port; nothing else takes it in the short time until CrowdSec does.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let here = self.folder.path("");
        let here = text(&here).trim_end_matches('/').to_owned();
        let configuration = CONFIGURATION.replace("HERE", &here).replace("PORT", &port.to_string());
        self.folder.file("config.yaml", configuration.as_bytes());
        let credentials = format!("{here}/config/credentials.yaml");
        let arguments =
            ["machines", "add", "test", "--password", "test", "--force", "-f", &credentials];
        let added = self.command("cscli").args(arguments).output().expect("cscli runs");
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    }

    /// A program of the package, which is ended if it takes too long.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("timeout");
        command.arg(TIME_MAX_S.to_string()).arg(self.root.join("usr/bin").join(program));
        command.arg("-c").arg(self.folder.path("config.yaml"));
        command
    }

    /// The alerts over a log.
    fn alerts(&self, log: &Path, kind: &str) -> Alerts {
        let source = format!("file://{}", text(log));
        let output = self.command("crowdsec").args(["-dsn", &source, "-type", kind]).output();
        let output = output.expect("crowdsec runs");
        let messages =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(messages.contains("Acquisition is finished"), "{messages}");
        let mut alerts = Alerts::new();
        for line in messages.lines().filter(|line| line.contains(" performed '")) {
            let alert = alert_of(line).unwrap_or_else(|| panic!("{line}"));
            *alerts.entry(alert).or_insert(0) += 1;
        }
        alerts
    }
}

/// `Ip 192.0.2.1 performed 'name' (11 events over 0s) at 2021-09-29 14:37:05 +0200 +0200`
fn alert_of(line: &str) -> Option<(String, String, u64, String)> {
    let (_, rest) = line.split_once("Ip ")?;
    let (source, rest) = rest.split_once(" performed '")?;
    let (scenario, rest) = rest.split_once("' (")?;
    let (events, rest) = rest.split_once(" events over ")?;
    let (_, time) = rest.split_once(" at ")?;
    let (clock, offset) = (time.get(11..)?.split(' ').next()?, time.split(' ').nth(2)?);
    let (hours, minutes) = offset.split_at_checked(3)?;
    let time = format!("{}T{clock}{hours}:{minutes}", time.get(..10)?);
    let time = weir_core::parse_rfc3339(time.as_bytes())?;
    let time = weir_core::format_rfc3339(weir_core::Timestamp { offset_s: 0, ..time });
    Some((scenario.to_owned(), source.to_owned(), events.parse().ok()?, time))
}

fn copy(from: &Path, folder: &Path, name: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let content = fs::read(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    fs::write(folder.join(name), content).expect("a file");
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        copy(&entry.path(), to, &entry.file_name().to_string_lossy());
    }
}

/// The alerts of Weir.
fn weir_alerts(folder: &Folder, log: &Path) -> Alerts {
    let (rules, data) = (folder.path("config/scenarios"), folder.path("data"));
    let options = ["rules", "--rule", text(&rules), "--data-dir", text(&data), "--json"];
    let replayed = run([&options[..], &[text(log)]].concat());
    let object: Value = serde_json::from_str(&replayed.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", replayed.stderr));
    let mut alerts = Alerts::new();
    for rule in object["rules"].as_array().expect("a list") {
        for alert in rule["alerts"].as_array().expect("a list") {
            let field = |name: &str| alert[name].as_str().expect("a text").to_owned();
            let events = alert["events"].as_u64().expect("a number");
            let key = (field("scenario"), field("source"), events, field("time"));
            *alerts.entry(key).or_insert(0) += 1;
        }
    }
    alerts
}

/// Files one after another.
fn joined(folder: &Folder, name: &str, files: &[PathBuf]) -> PathBuf {
    let mut all = Vec::new();
    for file in files {
        all.extend(fs::read(file).expect("a log"));
        if !all.ends_with(b"\n") {
            all.push(b'\n');
        }
    }
    folder.file(name, &all)
}

/// The logs of the hub's own tests of a kind. Debian's version does not read malformed requests.
fn logs_of(kind: &str) -> Vec<PathBuf> {
    let cases = fixtures::scenario_cases();
    let mut logs = Vec::new();
    for line in fs::read_to_string(&cases).expect("the cases").lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let log = cases.with_file_name(case["log"].as_str().expect("a name"));
        let is_read = case["log_type"] == kind && !text(&log).contains("malformed");
        if is_read && !logs.contains(&log) {
            logs.push(log);
        }
    }
    logs
}

#[test]
#[ignore = "needs CrowdSec; `cargo xtask test` runs it"]
fn alerts_are_those_of_crowdsec() {
    let root = std::env::var_os(ROOT).unwrap_or_else(|| panic!("{ROOT} is the unpacked package"));
    let folder = Folder::new();
    let crowdsec = CrowdSec::new(PathBuf::from(root), &folder);
    let mut compared = 0;
    let logs = [
        (fixtures::elastic_first_2000(), "apache2"),
        (joined(&folder, "nginx.log", &fixtures::nginx_combined()), "nginx"),
        (joined(&folder, "hub-nginx.log", &logs_of("nginx")), "nginx"),
        (joined(&folder, "hub-apache2.log", &logs_of("apache2")), "apache2"),
    ];
    for (log, kind) in logs {
        let expected = crowdsec.alerts(&log, kind);
        compared += expected.values().sum::<usize>();
        assert_eq!(weir_alerts(&folder, &log), expected, "{}", log.display());
    }
    println!("{compared} alerts are the same");
    assert!(compared >= 20, "{compared}");
}

const PROFILES: &str = "name: default\nfilters:\n  - Alert.Remediation == true\n\
    decisions:\n  - type: ban\n    duration: 4h\non_success: break\n";

const INDEX: &str = r#"{"parsers":{},"postoverflows":{},"scenarios":{},"collections":{}}"#;

const CONFIGURATION: &str = "\
common: {daemonize: false, log_media: stdout, log_level: info, working_dir: .}
config_paths:
  config_dir: HERE/config/
  data_dir: HERE/data/
  simulation_path: HERE/config/simulation.yaml
  hub_dir: HERE/hub/
  index_path: HERE/hub/.index.json
  notification_dir: HERE/config/notifications/
  plugin_dir: HERE/
crowdsec_service: {acquisition_path: HERE/config/acquis.yaml, parser_routines: 1, buckets_routines: 1}
cscli: {output: human}
db_config: {log_level: info, type: sqlite, db_path: HERE/crowdsec.db}
api:
  client: {insecure_skip_verify: false, credentials_path: HERE/config/credentials.yaml}
  server:
    log_level: info
    listen_uri: 127.0.0.1:PORT
    profiles_path: HERE/config/profiles.yaml
    console_path: HERE/config/console.yaml
prometheus: {enabled: false}
";
