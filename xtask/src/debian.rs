//! The programs that tests take from Debian.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_tools::{browsers, packages};

use crate::shell::{Outcome, is_installed, root, target_folder};
use crate::wasm;

/// Where Debian has the modules of fail2ban.
const FAIL2BAN: &str = "/usr/lib/python3/dist-packages/fail2ban";

/// The library for programs with threads, in the folders of its Debian package.
const FAKETIME: &str = "faketime/libfaketimeMT.so.1";

/// Apache, mod_evasive, and the libraries of Apache that other programs seldom need. They are
/// unpacked and not installed, because an installed Apache takes the port 80.
const APACHE: [&str; 4] = ["apache2-bin", "libapache2-mod-evasive", "libapr1", "libaprutil1"];

/// Apache with ModSecurity and the OWASP Core Rule Set, and their libraries, unpacked as well.
const MODSECURITY: [&str; 9] = [
    "apache2-bin",
    "libapache2-mod-security2",
    "modsecurity-crs",
    "libapr1",
    "libaprutil1",
    "libcurl3-gnutls",
    "liblua5.1-0",
    "libxml2",
    "libyajl2",
];

/// Prometheus with its linter, unpacked and not installed, because its package starts a service.
const PROMETHEUS: [&str; 1] = ["prometheus"];

/// Installs the programs that are missing. Prints which cannot be installed.
pub(crate) fn install() -> Outcome {
    let mut missing = browsers::missing();
    let others = [
        ("nginx-light", nginx().is_ok()),
        ("strace", strace().is_ok()),
        ("systemd", systemd().is_ok()),
        ("zsh", zsh().is_ok()),
        ("fish", fish().is_ok()),
        ("fail2ban", fail2ban().is_ok()),
        ("haproxy", haproxy().is_ok()),
        ("libfaketime", faketime().is_ok()),
        ("default-jre-headless", java().is_ok()),
        // The tests are content with the browser that has windows too, but it takes twice as long.
        ("chromium-headless-shell", is_installed("chromium-headless-shell")),
    ];
    missing.extend(others.iter().filter(|(_, has)| !has).map(|(package, _)| *package));
    if packages::install(&missing).is_err() {
        // One that cannot be installed should not keep the others away.
        for package in missing {
            if let Err(error) = packages::install(&[package]) {
                println!("{error}");
            }
        }
    }
    let unpacked: [(bool, &[&str], PathBuf); 4] = [
        (crowdsec().is_ok(), &["crowdsec"], crowdsec_folder()),
        (apache().is_ok(), &APACHE, apache_folder()),
        (modsecurity().is_ok(), &MODSECURITY, modsecurity_folder()),
        (prometheus().is_ok(), &PROMETHEUS, prometheus_folder()),
    ];
    for (is_there, names, folder) in unpacked {
        if !is_there && let Err(error) = packages::unpack(names, &folder) {
            println!("{error}");
        }
    }
    wasm::fetch_compiler()
}

/// Whether nginx can be started. Debian installs it outside of the search path of users.
pub(crate) fn nginx() -> Outcome {
    found(is_installed("nginx") || Path::new("/usr/sbin/nginx").exists())
}

/// Whether HAProxy can be started. Debian installs it outside of the search path of users.
pub(crate) fn haproxy() -> Outcome {
    found(is_installed("haproxy") || Path::new("/usr/sbin/haproxy").exists())
}

/// Whether Java can be started.
pub(crate) fn java() -> Outcome {
    found(is_installed("java"))
}

/// Whether strace can be started.
pub(crate) fn strace() -> Outcome {
    found(is_installed("strace"))
}

/// Whether units can be verified.
pub(crate) fn systemd() -> Outcome {
    found(is_installed("systemd-analyze"))
}

/// Whether zsh can be started.
pub(crate) fn zsh() -> Outcome {
    found(is_installed("zsh"))
}

/// Whether fish can be started.
pub(crate) fn fish() -> Outcome {
    found(is_installed("fish"))
}

/// Whether fail2ban can be imported.
pub(crate) fn fail2ban() -> Outcome {
    found(Path::new(FAIL2BAN).exists())
}

/// The library of libfaketime for this processor.
pub(crate) fn faketime() -> Outcome<PathBuf> {
    let machine = Command::new("gcc").arg("-dumpmachine").output().ok();
    let machine = machine.and_then(|output| String::from_utf8(output.stdout).ok());
    let machine = machine.unwrap_or_else(|| format!("{}-linux-gnu", std::env::consts::ARCH));
    let path = Path::new("/usr/lib").join(machine.trim()).join(FAKETIME);
    found(path.exists())?;
    Ok(path)
}

/// The folder of Debian's package of CrowdSec, which is unpacked and not installed, because its
/// set-up needs a network.
pub(crate) fn crowdsec() -> Outcome<PathBuf> {
    let folder = crowdsec_folder();
    found(folder.join("usr/bin/crowdsec").exists())?;
    Ok(folder)
}

fn crowdsec_folder() -> PathBuf {
    root().join(target_folder()).join("crowdsec")
}

/// The folder of Apache with mod_evasive.
pub(crate) fn apache() -> Outcome<PathBuf> {
    let folder = apache_folder();
    found(folder.join("usr/lib/apache2/modules/mod_evasive20.so").exists())?;
    Ok(folder)
}

fn apache_folder() -> PathBuf {
    root().join(target_folder()).join("apache")
}

/// The folder of Apache with ModSecurity and the OWASP Core Rule Set.
pub(crate) fn modsecurity() -> Outcome<PathBuf> {
    let folder = modsecurity_folder();
    let needed = ["lib/apache2/modules/mod_security2.so", "share/modsecurity-crs/rules"];
    found(needed.iter().all(|path| folder.join("usr").join(path).exists()))?;
    Ok(folder)
}

fn modsecurity_folder() -> PathBuf {
    root().join(target_folder()).join("modsecurity")
}

/// The folder of Prometheus.
pub(crate) fn prometheus() -> Outcome<PathBuf> {
    let folder = prometheus_folder();
    found(
        ["prometheus", "promtool"].iter().all(|name| folder.join("usr/bin").join(name).exists()),
    )?;
    Ok(folder)
}

fn prometheus_folder() -> PathBuf {
    root().join(target_folder()).join("prometheus")
}

fn found(is_found: bool) -> Outcome {
    if is_found { Ok(()) } else { Err("it is not installed and cannot be".into()) }
}
