//! Clients and servers of other implementations on both sides of the gateway: Express by npm, Tomcat
//! by Maven, programs in Go, and a collector of OpenTelemetry. Also published databases of addresses.

use std::fs;
use std::path::PathBuf;

use crate::shell::{Outcome, command, execute, is_installed, root, target_folder};

const EXPRESS: &str = "express@5.1.0";

/// Countries of addresses, as a MaxMind DB and as CSV, in their last version on npm.
const COUNTRIES: [&str; 2] = [
    "@ip-location-db/geo-whois-asn-country-mmdb@2.3.2026061719",
    "@ip-location-db/geo-whois-asn-country@2.3.2026061719",
];

/// The parts of Tomcat as Maven names them.
const TOMCAT: [&str; 2] = [
    "org.apache.tomcat.embed:tomcat-embed-core:10.1.34",
    "org.apache.tomcat:tomcat-annotations-api:10.1.34",
];

/// Where the tests find the servers.
pub(crate) fn folder() -> PathBuf {
    root().join(target_folder()).join("peers")
}

/// Installs what is missing. Prints what could not be installed.
///
/// # Errors
/// None: the tests with it are skipped then.
pub(crate) fn install() -> Outcome {
    for installed in [express(), tomcat(), go(), collector(), countries()] {
        if let Err(why) = installed {
            println!("{why}");
        }
    }
    Ok(())
}

/// Express.
///
/// # Errors
/// If it is not installed and cannot be.
pub(crate) fn express() -> Outcome {
    npm_packages("express", &[EXPRESS], "express")
        .map_err(|error| format!("Express cannot be installed: {error}").into())
}

/// Countries of addresses.
///
/// # Errors
/// If they are not there and cannot be fetched.
pub(crate) fn countries() -> Outcome {
    npm_packages("countries", &COUNTRIES, "@ip-location-db/geo-whois-asn-country")
        .map_err(|error| format!("databases of addresses cannot be fetched: {error}").into())
}

/// Installs packages of npm in a folder, unless the last of them is there.
fn npm_packages(folder_name: &str, packages: &[&str], last: &str) -> Outcome {
    let folder = folder().join(folder_name);
    if folder.join("node_modules").join(last).join("package.json").exists() {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    let arguments =
        ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
    execute(command("npm", &arguments).arg(&folder).args(packages))
}

/// Tomcat, and a Java that compiles its servlets.
///
/// # Errors
/// If it is not installed and cannot be.
pub(crate) fn tomcat() -> Outcome {
    if !is_installed("javac") {
        return Err("Tomcat needs a JDK".into());
    }
    let folder = folder().join("tomcat");
    for artifact in TOMCAT {
        let parts: Vec<&str> = artifact.split(':').skip(1).collect();
        if folder.join(format!("{}.jar", parts.join("-"))).exists() {
            continue;
        }
        let output = format!("-DoutputDirectory={}", folder.display());
        let artifact = format!("-Dartifact={artifact}");
        execute(&mut command("mvn", &["-q", "-B", "dependency:copy", &artifact, &output]))
            .map_err(|error| format!("Tomcat cannot be installed: {error}"))?;
    }
    Ok(())
}

/// The programs in Go: a server and a client.
///
/// # Errors
/// If there is no Go.
pub(crate) fn go() -> Outcome {
    for name in ["mux", "early_answers"] {
        let source = format!("crates/gateway/tests/integration/peers/{name}.go");
        let mut go = command("go", &["build", "-o"]);
        execute(go.arg(folder().join(name)).arg(root().join(source)))
            .map_err(|error| format!("the programs in Go cannot be built: {error}"))?;
    }
    Ok(())
}

/// A collector of OpenTelemetry, which Go builds of its modules.
///
/// # Errors
/// If there is no Go, or the modules cannot be had.
pub(crate) fn collector() -> Outcome {
    let source = root().join("crates/gateway/tests/integration/peers/collector");
    let mut go = command("go", &["build", "-o"]);
    execute(go.arg(folder().join("collector")).arg(".").current_dir(source))
        .map_err(|error| format!("the collector of OpenTelemetry cannot be built: {error}").into())
}
