//! The name and the paths of an Ingress.

use std::fmt::Write;
use std::ops::Range;

use crate::error::RuleError;
use crate::yaml::{self, Yaml, YamlValue};

/// The most paths that are followed.
const PATHS_MAX: usize = 1_000;

/// What a manifest says about the requests that it is for.
#[derive(Default)]
pub(super) struct Manifest {
    pub(super) name: Option<String>,
    /// The heads of the locations of its paths; empty if it is for all requests.
    locations: Vec<String>,
    pub(super) notes: Vec<RuleError>,
}

impl Manifest {
    /// Reads the document at a place of a text, if it is an Ingress. A few lines of one, and a
    /// template, are for all requests.
    pub(super) fn read(text: &str, document: Range<usize>) -> Self {
        let mut manifest = Self::default();
        let source = &text[document.clone()];
        if !source.contains("kind:") || !source.contains("Ingress") {
            return manifest;
        }
        let parsed = yaml::documents(source);
        let ingress = match &parsed {
            Ok(documents) => documents.first(),
            Err(error) => {
                let error = error.clone().moved_by(document.start);
                let message =
                    format!("{}; the paths are not followed: all requests count", error.message);
                manifest.notes.push(RuleError::new(error.range, message));
                None
            }
        };
        if let Some(ingress) = ingress {
            manifest.name = name(ingress);
            manifest.read_rules(ingress, document.start);
        }
        manifest
    }

    fn read_rules(&mut self, ingress: &Yaml, offset: usize) {
        let place = |value: &Yaml| offset + value.range.start..offset + value.range.end;
        let rules = ingress.member("spec").and_then(|spec| spec.member("rules"));
        let rules = rules.map(Yaml::items).unwrap_or_default();
        if let Some(host) = rules.iter().find_map(|rule| rule.member("host")) {
            let shown = host.scalar().unwrap_or_default();
            self.notes.push(RuleError::new(
                place(host),
                format_args!(
                    "the host is not followed: requests to all hosts count; if the log has it, add \
                     --where 'host={shown}'"
                ),
            ));
        }
        let is_expression = is_expression(ingress);
        let mut is_for_all = rules.is_empty();
        for rule in rules {
            let paths = rule.member("http").and_then(|http| http.member("paths"));
            let paths = paths.map(Yaml::items).unwrap_or_default();
            is_for_all |= paths.is_empty();
            for entry in paths {
                let path = entry.member("path").and_then(Yaml::scalar).unwrap_or("/");
                let kind = entry.member("pathType").and_then(Yaml::scalar).unwrap_or_default();
                is_for_all |= path == "/" && kind != "Exact";
                if path.contains(['"', '\\', '$', '\n']) && !is_expression {
                    self.notes.push(RuleError::new(place(entry), "the path is not followed"));
                } else {
                    self.add(path, kind, is_expression);
                }
            }
        }
        if is_for_all {
            self.locations.clear();
        } else if self.locations.len() > PATHS_MAX {
            let message = format!("it has more than {PATHS_MAX} paths, which are not followed");
            self.notes.push(RuleError::new(place(ingress), message));
            self.locations.clear();
        }
    }

    /// Adds the locations of a path, as `updateServerLocations` and `buildLocation` make them.
    fn add(&mut self, path: &str, kind: &str, is_expression: bool) {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        if is_expression {
            self.locations.push(format!("~* {}", quoted(&format!("^{path}"))));
            return;
        }
        if matches!(kind, "Exact" | "Prefix") {
            self.locations.push(format!("= {}", quoted(path)));
        }
        match kind {
            "Exact" => {}
            "Prefix" => self.locations.push(quoted(&format!("{}/", path.trim_end_matches('/')))),
            _ => self.locations.push(quoted(path)),
        }
    }

    /// The lines of a configuration with limits for the requests of the manifest.
    pub(super) fn locations(&self, limits: &str) -> String {
        if self.locations.is_empty() {
            return limits.to_owned();
        }
        let (mut lines, mut seen) = (String::new(), std::collections::HashSet::new());
        for head in self.locations.iter().filter(|head| seen.insert(head.as_str())) {
            let _ = writeln!(lines, "location {head} {{\n{limits}}}");
        }
        lines
    }
}

/// The name of an Ingress, if it can be the name of a zone.
fn name(ingress: &Yaml) -> Option<String> {
    let name = ingress.member("metadata")?.member("name")?.scalar()?;
    let is_name = |next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '.');
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// Whether the paths are expressions: with `use-regex`, or with a target for rewritten requests.
fn is_expression(ingress: &Yaml) -> bool {
    let annotations = ingress.member("metadata").and_then(|it| it.member("annotations"));
    let Some(YamlValue::Mapping(pairs)) = annotations.map(|it| &it.value) else { return false };
    pairs.iter().any(|(key, value)| {
        let (key, value) = (key.scalar().unwrap_or_default(), value.scalar().unwrap_or_default());
        key.ends_with("/use-regex") && value == "true"
            || key.ends_with("/rewrite-target") && !value.is_empty()
    })
}
