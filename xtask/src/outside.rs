//! The tests with programs of others. They are ignored by `cargo test`, which does not know where
//! these programs are.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{Outcome, output_of};
use crate::summary;
use crate::test::Program;
use crate::{debian, peers, python};

/// Ignored tests that need a program.
struct Tests<'a> {
    /// The program, in words.
    with: &'a str,
    package: &'a str,
    suite: &'a str,
    /// What the names of the tests begin with.
    start: &'a str,
}

/// A variable that says where a program is.
type Variable = (&'static str, PathBuf);

/// nginx as a sender and its limits.
pub(crate) fn nginx() -> Outcome {
    let found = debian::nginx().map(|()| None);
    Tests::of("nginx", "weir", "nginx::").run(found)
}

/// The system calls of an answer.
pub(crate) fn strace() -> Outcome {
    let found = debian::strace().map(|()| None);
    Tests::of("strace", "weir-net", "strace::").run(found)
}

/// A gateway whose clock is set.
pub(crate) fn clock() -> Outcome {
    let found = debian::faketime().map(|path| Some(("FAKETIME_LIBRARY", path)));
    Tests::of("libfaketime", "weir", "clock::").run(found)
}

/// Replayed jails.
pub(crate) fn fail2ban() -> Outcome {
    let found = debian::fail2ban().map(|()| None);
    Tests::of("fail2ban", "weir-rules", "fail2ban::itself").run(found)
}

/// Replayed scenarios.
pub(crate) fn crowdsec() -> Outcome {
    let found = debian::crowdsec().map(|path| Some(("CROWDSEC_ROOT", path)));
    Tests::of("CrowdSec", "weir", "crowdsec::").run(found)
}

/// Limits that other programs enforce.
pub(crate) fn limiters() -> Outcome {
    let haproxy = debian::haproxy().map(|()| None);
    Tests::of("HAProxy", "weir", "limiters::haproxy").run(haproxy)?;
    let apache = debian::apache().map(|path| Some(("APACHE_ROOT", path)));
    Tests::of("Apache and mod_evasive", "weir", "limiters::mod_evasive").run(apache)?;
    let modsecurity = debian::modsecurity().map(|path| Some(("MODSECURITY_ROOT", path)));
    Tests::of("Apache and ModSecurity", "weir", "limiters::core_rule_set").run(modsecurity)
}

/// Reports that are computed from exported tables.
pub(crate) fn duckdb() -> Outcome {
    let found = python::with(&python::DUCKDB).map(|path| Some(("DUCKDB_PYTHON", path)));
    Tests::of("DuckDB", "weir", "duckdb::").run(found)
}

/// Exported tables in all programs that read them.
pub(crate) fn table_readers() -> Outcome {
    let found = python::with(&python::TABLE_READERS).map(|path| Some(("TABLES_PYTHON", path)));
    Tests::of("pyarrow, pandas, Polars and DataFusion", "weir", "table_readers::").run(found)
}

/// Exported tables in the engines of data lakes. Each of them may be missing.
pub(crate) fn lake_readers() -> Outcome {
    let variable = |name: &'static str| move |path| Some((name, path));
    let chdb = python::with(&python::CHDB).map(variable("CHDB_PYTHON"));
    Tests::of("chDB", "weir", "lake_readers::chdb").run(chdb)?;
    let iceberg = python::with(&python::ICEBERG).map(variable("ICEBERG_PYTHON"));
    Tests::of("pyiceberg", "weir", "lake_readers::iceberg").run(iceberg)?;
    let spark = python::with(&python::SPARK).and_then(|path| debian::java().map(|()| path));
    let spark = spark.map(variable("SPARK_PYTHON"));
    Tests::of("Spark", "weir", "lake_readers::spark").run(spark)
}

/// Countries of addresses in published files.
pub(crate) fn geography() -> Outcome {
    let packages = peers::countries().map(|()| ("GEO_PACKAGES", peers::folder().join("countries")));
    let found = packages
        .and_then(|packages| Ok(vec![packages, ("GEO_PYTHON", python::with(&python::MAXMINDDB)?)]));
    Tests::of("maxminddb and published databases", "weir-geo", "published::").run_with(found)
}

/// Tokens that another implementation has signed.
pub(crate) fn pyjwt() -> Outcome {
    let found = python::with(&python::PYJWT).map(|path| Some(("PYJWT_PYTHON", path)));
    Tests { suite: "token", ..Tests::of("PyJWT", "weir-gateway", "pyjwt::") }.run(found)
}

/// Metrics, as Prometheus and its client library read them.
pub(crate) fn prometheus() -> Outcome {
    let found = python::with(&python::PROMETHEUS).map(|path| Some(("PROMETHEUS_PYTHON", path)));
    Tests::of("prometheus-client", "weir", "metrics::").run(found)?;
    let found = debian::nginx().and_then(|()| debian::prometheus());
    let found = found.map(|path| Some(("PROMETHEUS_ROOT", path)));
    Tests::of("nginx and Prometheus", "weir", "prometheus::").run(found)
}

/// Clients and services of other implementations, with the gateway between them.
pub(crate) fn services() -> Outcome {
    let found = python::with(&python::SERVICES).map(|path| Some(("SERVICES_PYTHON", path)));
    Tests::of("grpcio and websockets", "weir-gateway", "services::").run(found)
}

/// Spans by the schema of OpenTelemetry. A collector itself takes minutes to compile.
pub(crate) fn otlp() -> Outcome {
    let found = python::with(&python::OTLP).map(|path| Some(("OTLP_PYTHON", path)));
    Tests::of("opentelemetry-proto", "weir-gateway", "otlp::the_schema").run(found)?;
    let found = peers::collector().map(|()| Some(("PEERS_FOLDER", peers::folder())));
    Tests::of("a collector of OpenTelemetry", "weir-gateway", "otlp::a_collector").run(found)
}

/// The units of the documentation.
pub(crate) fn systemd() -> Outcome {
    let found = debian::systemd().map(|()| None);
    Tests::of("systemd", "weir", "systemd::").run(found)
}

/// Completions, in the shells themselves.
pub(crate) fn shells() -> Outcome {
    for (name, installed) in [("zsh", debian::zsh as fn() -> Outcome), ("fish", debian::fish)] {
        let found = installed().map(|()| None);
        Tests::of(name, "weir", &format!("shells::{name}")).run(found)?;
    }
    Ok(())
}

/// Routes in front of servers that read paths each in its own way, and answers that come before the
/// end of a request.
pub(crate) fn peers() -> Outcome {
    type Installed = fn() -> Outcome;
    let tests: [(&str, &str, Installed); 8] = [
        ("nginx", "documented_examples::methods_in_nginx", debian::nginx),
        ("nginx", "route_servers::no_spelling_passes_to_nginx", debian::nginx),
        ("Express", "route_servers::no_spelling_passes_to_express", peers::express),
        ("Tomcat", "route_servers::no_spelling_passes_to_tomcat", peers::tomcat),
        ("Go", "route_servers::no_spelling_passes_to_go", peers::go),
        ("Node.js", "early_answers::no_request_of_node_is_lost", || Ok(())),
        ("Python", "early_answers::no_request_of_python_is_lost", || Ok(())),
        ("Go", "early_answers::no_request_of_go_is_lost", peers::go),
    ];
    for (with, start, installed) in tests {
        let found = installed().map(|()| Some(("PEERS_FOLDER", peers::folder())));
        Tests::of(with, "weir-gateway", start).run(found)?;
    }
    let found = debian::nginx().map(|()| None);
    let start = "limits::nginx_variables::";
    Tests { suite: "unit", ..Tests::of("nginx", "weir-gateway", start) }.run(found)
}

impl<'a> Tests<'a> {
    fn of(with: &'a str, package: &'a str, start: &'a str) -> Self {
        Self { with, package, suite: "integration", start }
    }

    /// Runs them, or prints how many are skipped.
    fn run(&self, found: Outcome<Option<Variable>>) -> Outcome {
        self.run_with(found.map(|variable| variable.into_iter().collect()))
    }

    /// [`Self::run`] with several variables.
    fn run_with(&self, found: Outcome<Vec<Variable>>) -> Outcome {
        let mut tests = Program::named(self.package, self.suite)?.command();
        tests.args(["--ignored", self.start]);
        match found {
            Ok(variables) => summary::run_tests(tests.arg("--quiet").envs(variables)),
            Err(why) => self.skip(&mut tests, &why.to_string()),
        }
    }

    fn skip(&self, tests: &mut Command, why: &str) -> Outcome {
        let list = output_of(tests.arg("--list"))?;
        let count = list.lines().filter(|line| line.ends_with(": test")).count();
        println!("skipped: {count} with {}: {why}", self.with);
        Ok(())
    }
}
