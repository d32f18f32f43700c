//! One environment of Python for all tests that need modules from PyPI.

use std::path::PathBuf;

use crate::shell::{Outcome, command, execute, root, target_folder};

/// Modules that a test needs, and the packages that have them.
pub(crate) struct Modules {
    packages: &'static [&'static str],
    modules: &'static [&'static str],
}

/// Recomputes reports from exported tables.
pub(crate) const DUCKDB: Modules = Modules { packages: &["duckdb"], modules: &["duckdb"] };
/// Programs that read exported tables.
pub(crate) const TABLE_READERS: Modules = Modules {
    packages: &["datafusion", "duckdb", "pandas", "polars", "pyarrow"],
    modules: &["datafusion", "duckdb", "pandas", "polars", "pyarrow"],
};
/// Engines of data lakes, which read exported tables.
pub(crate) const CHDB: Modules =
    Modules { packages: &["chdb", "pyarrow"], modules: &["chdb", "pyarrow"] };
pub(crate) const SPARK: Modules =
    Modules { packages: &["pyspark", "pyarrow"], modules: &["pyspark", "pyarrow"] };
pub(crate) const ICEBERG: Modules = Modules {
    packages: &["pyiceberg[sql-sqlite]", "pyarrow"],
    modules: &["pyiceberg", "sqlalchemy", "pyarrow"],
};
/// Another implementation of tokens.
pub(crate) const PYJWT: Modules =
    Modules { packages: &["PyJWT", "cryptography"], modules: &["jwt", "cryptography"] };
/// Prometheus' own client library, which has a parser.
pub(crate) const PROMETHEUS: Modules =
    Modules { packages: &["prometheus-client"], modules: &["prometheus_client"] };
/// Clients and services of gRPC and of WebSockets.
pub(crate) const SERVICES: Modules =
    Modules { packages: &["grpcio", "websockets"], modules: &["grpc", "websockets"] };
/// The schema of spans.
pub(crate) const OTLP: Modules = Modules {
    packages: &["opentelemetry-proto"],
    modules: &["opentelemetry.proto.collector.trace.v1.trace_service_pb2"],
};
/// MaxMind's own reader of databases of addresses.
pub(crate) const MAXMINDDB: Modules = Modules { packages: &["maxminddb"], modules: &["maxminddb"] };

const ALL: [&Modules; 7] =
    [&DUCKDB, &TABLE_READERS, &PYJWT, &PROMETHEUS, &SERVICES, &OTLP, &MAXMINDDB];

/// The largest packages: pyspark has half a gigabyte, which pip packs anew.
const LAKES: [&Modules; 3] = [&CHDB, &ICEBERG, &SPARK];

/// The time after which pip is stopped, so that a slow download leaves out a test and not the run.
const PIP_MAX_S: &str = "900";

/// Installs the modules of all tests that are missing. Prints which cannot be installed.
pub(crate) fn install() -> Outcome {
    let missing: Vec<&Modules> = ALL.into_iter().filter(|it| !it.are_installed()).collect();
    let packages: Vec<&str> = missing.iter().flat_map(|it| it.packages).copied().collect();
    if packages.is_empty() || pip(&[], &packages).is_ok() {
        return Ok(());
    }
    // One that cannot be installed should not keep the others away.
    install_each(missing)
}

/// Installs the engines of data lakes that are missing, the smallest first.
pub(crate) fn install_lakes() -> Outcome {
    install_each(LAKES.into_iter().filter(|it| !it.are_installed()).collect())
}

fn install_each(missing: Vec<&Modules>) -> Outcome {
    for modules in missing {
        if let Err(error) = pip(&[], modules.packages) {
            println!("{error}");
        }
    }
    Ok(())
}

/// The Python that has these modules.
///
/// # Errors
/// If [`install`] has not installed them.
pub(crate) fn with(modules: &Modules) -> Outcome<PathBuf> {
    if modules.are_installed() {
        return Ok(python());
    }
    Err(format!("pip cannot install {}", modules.packages.join(" and ")).into())
}

/// Installs packages with these options of pip.
pub(crate) fn pip(options: &[&str], packages: &[&str]) -> Outcome {
    if !python().exists() {
        execute(command("python3", &["-m", "venv"]).arg(folder()))?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let mut limited = command("timeout", &[PIP_MAX_S]);
    execute(limited.arg(python()).args(pip).args(options).args(packages))
}

/// The folder of programs that come with packages.
pub(crate) fn programs() -> PathBuf {
    folder().join("bin")
}

fn python() -> PathBuf {
    programs().join("python")
}

/// The folder of the environment.
pub(crate) fn folder() -> PathBuf {
    root().join(target_folder()).join("python")
}

impl Modules {
    fn are_installed(&self) -> bool {
        let import = format!("import {}", self.modules.join(", "));
        python().exists()
            && command(&python().to_string_lossy(), &["-c", &import])
                .status()
                .is_ok_and(|status| status.success())
    }
}
