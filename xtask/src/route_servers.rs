//! Servers of other implementations, behind whose routes no spelling of a path may pass: Express by
//! npm, Tomcat by Maven, and Go's ServeMux.

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
    root().join(target_folder()).join("route-servers")
}

/// Installs what is missing. Prints what could not be installed.
///
/// # Errors
/// None: the tests with it are skipped then.
pub(crate) fn install() -> Outcome {
    for installed in [express(), tomcat(), mux()] {
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
    let arguments = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
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

/// The program with Go's ServeMux.
///
/// # Errors
/// If there is no Go.
pub(crate) fn mux() -> Outcome {
    let source = root().join("crates/gateway/tests/integration/servers/mux.go");
    let mut go = command("go", &["build", "-o"]);
    execute(go.arg(folder().join("mux")).arg(source))
        .map_err(|error| format!("the server in Go cannot be built: {error}").into())
}
