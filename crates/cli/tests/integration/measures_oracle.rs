//! Measures of groups of real logs, against a program in Python that reads the same lines.

use serde_json::{Value, json};
use weir_testkit::fixtures;

use crate::python_jobs::PythonJobs;
use crate::support::{run, text};

const MEASURES: &str = "requests,bytes,errors,visitors,visits,clients,max:bytes,p95:bytes,first_seen,\
                        last_seen";

#[test]
fn python_computes_the_same_measures_from_real_logs() {
    let mut logs = fixtures::apache_combined();
    logs.extend([fixtures::elastic_first_2000(), fixtures::hackers_first_1000()]);
    let mut jobs = PythonJobs::new("measures.py", "PYTHON");
    for log in &logs {
        for (by, zone) in [
            ("path", "UTC"),
            ("client", "Europe/Berlin"),
            ("date", "America/New_York"),
            ("status,hour", "Europe/Berlin"),
            ("path,status,date", "UTC"),
            ("time/1h", "America/New_York"),
            ("time/1m,client", "Europe/Berlin"),
        ] {
            let options = ["count", "--json", "--by", by, "--measure", MEASURES, "--tz", zone];
            let run = run([&options[..], &["--format", "combined", text(log)]].concat());
            assert_eq!(run.code, 0, "{}", run.stderr);
            let counted: Value = serde_json::from_str(&run.stdout).expect("JSON");
            let fields: Vec<&str> = by.split(',').collect();
            let job = json!({"log": text(log), "zone": zone, "by": fields, "counted": counted});
            jobs.push(format!("{} by {by}", text(log)), job);
        }
    }
    let mut compared = 0;
    for (name, result) in jobs.run() {
        assert_eq!(result["differences"], json!([]), "{name}");
        compared += result["compared"].as_u64().expect("a number");
    }
    assert!(compared > 10_000, "{compared} numbers");
}
