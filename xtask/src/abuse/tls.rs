//! testssl.sh against a tls:// address: nothing above "low".

use std::fs;
use std::process::{Command, Stdio};

use super::server::Server;
use super::{Setting, Verdict, missing};
use crate::shell::{Outcome, execute, is_installed, target_folder};

/// Findings about the certificate, which this suite makes and signs itself.
const OF_THE_CERTIFICATE: &str = "cert_";

/// The severities that may not be found.
const SEVERE: [&str; 3] = ["MEDIUM", "HIGH", "CRITICAL"];

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    if let Some(why) = missing("testssl", "testssl.sh") {
        return Ok(Verdict::Skipped(why));
    }
    if !is_installed("openssl") {
        return Ok(Verdict::Skipped("openssl is not installed".to_owned()));
    }
    let folder = target_folder().join("testssl");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let [key, certificate, found] =
        ["key.pem", "cert.pem", "found.json"].map(|name| folder.join(name).display().to_string());
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-nodes", "-days", "90", "-subj", "/CN=localhost"]);
    openssl.args(["-addext", "subjectAltName=DNS:localhost", "-keyout", &key, "-out"]);
    execute(openssl.arg(&certificate).stderr(Stdio::null()))?;
    let listen = ["--listen", "tls://127.0.0.1:0", "--tls-cert", &certificate, "--tls-key", &key];
    let server = Server::start_with(&setting.weir, &listen)?;
    let mut testssl = Command::new("testssl");
    testssl.args(["--quiet", "--color", "0", "--warnings", "off", "--jsonfile", &found]);
    // Its exit status counts findings of every severity.
    testssl.arg(server.host()).stdout(Stdio::null()).status()?;
    let found: serde_json::Value = serde_json::from_str(&fs::read_to_string(&found)?)?;
    let findings = found.as_array().ok_or("testssl wrote no list")?;
    let text = |finding: &serde_json::Value, key: &str| {
        finding[key].as_str().unwrap_or_default().to_owned()
    };
    let severe = findings.iter().filter(|finding| {
        SEVERE.contains(&text(finding, "severity").as_str())
            && !text(finding, "id").starts_with(OF_THE_CERTIFICATE)
    });
    let severe: Vec<String> = severe
        .map(|finding| format!("{}: {}", text(finding, "id"), text(finding, "finding")))
        .collect();
    if !severe.is_empty() {
        return Err(severe.join("\n").into());
    }
    Ok(Verdict::Passed(vec![format!("{} checks, none above low", findings.len())]))
}
