//! Checks which crates of the workspace depend on one another.

use std::fs;

use serde_json::Value;

use super::layers::LAYERS;
use super::used_by;
use crate::shell::{Outcome, command, output_of, root};

/// Reports every dependency that a crate's layer does not allow, except those of tests, and every
/// dependency whose users docs/decisions.md names wrongly.
pub(super) fn check(faults: &mut Vec<String>) -> Outcome {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let metadata: Value = serde_json::from_str(&output_of(&mut command("cargo", &arguments))?)?;
    check_metadata(&metadata, &LAYERS, faults);
    let decisions = fs::read_to_string(root().join("docs/decisions.md"))?;
    used_by::check(&decisions, &metadata, faults);
    Ok(())
}

fn check_metadata(metadata: &Value, layers: &[(&str, &[&str])], faults: &mut Vec<String>) {
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let mut folders = manifest.rsplit('/').skip(1);
        let (Some(name), Some("crates")) = (folders.next(), folders.next()) else { continue };
        let Some((_, allowed)) = layers.iter().find(|(known, _)| *known == name) else {
            faults.push(format!(
                "crates/{name} has no layer; add it to xtask/src/tidy/layers.rs and to \
                 ARCHITECTURE.md"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let dependency_name = dependency["name"].as_str().unwrap_or_default();
            let is_ours = dependency_name.starts_with("weir-") && dependency["kind"] != "dev";
            if is_ours && !allowed.contains(&dependency_name) {
                faults.push(format!(
                    "crates/{name} depends on {dependency_name}, which its layer does not allow; \
                     see ARCHITECTURE.md"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check_metadata;
    use serde_json::{Value, json};

    fn faults(name: &str, dependencies: &Value) -> Vec<String> {
        let path = format!("/somewhere/crates/{name}/Cargo.toml");
        let package = json!({"manifest_path": path, "dependencies": dependencies});
        let mut faults = Vec::new();
        let layers: [(&str, &[&str]); 1] = [("net", &["weir-core"])];
        check_metadata(&json!({"packages": [package]}), &layers, &mut faults);
        faults
    }

    #[test]
    fn a_dependency_has_to_be_in_the_table() {
        let dependency = |name: &str, kind: Value| json!([{"name": name, "kind": kind}]);
        assert!(faults("net", &dependency("weir-core", Value::Null)).is_empty());
        assert!(faults("net", &dependency("tokio", Value::Null)).is_empty());
        assert!(faults("net", &dependency("weir-view", json!("dev"))).is_empty());
        assert_eq!(faults("net", &dependency("weir-view", Value::Null)).len(), 1);
        assert_eq!(faults("net", &dependency("weir-view", json!("build"))).len(), 1);
    }

    #[test]
    fn a_crate_has_to_be_in_the_table() {
        assert_eq!(faults("query", &json!([])).len(), 1);
    }
}
