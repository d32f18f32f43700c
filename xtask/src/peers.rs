//! Clients and servers of other implementations on both sides of the gateway: Express by npm, Tomcat
//! by Maven, programs in Go, and a collector of OpenTelemetry.

use std::fs;
use std::path::PathBuf;

use crate::shell::{Outcome, command, execute, is_installed, root, target_folder};

const EXPRESS: &str = "express@5.1.0";

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
    for installed in [express(), tomcat(), go(), collector()] {
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
    let folder = folder().join("express");
    if folder.join("node_modules/express/package.json").exists() {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    let arguments =
        ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
    execute(command("npm", &arguments).arg(&folder).arg(EXPRESS))
        .map_err(|error| format!("Express cannot be installed: {error}").into())
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
