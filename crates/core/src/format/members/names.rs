//! The names of members that become fields.

use crate::format::own_names::unique_name;

/// Members that collectors write beside a line, and the names of their fields. A member that a log has in
/// two forms keeps its path in the second.
const KNOWN: [(&str, &[&str]); 6] = [
    (
        "pod",
        &[
            "kubernetes.pod_name",
            "kubernetes.pod.name",
            "kubernetes.labels.pod",
            "resource.labels.pod_name",
            "k8s.pod.name",
            "pod_name",
        ],
    ),
    (
        "container",
        &[
            "kubernetes.container_name",
            "kubernetes.container.name",
            "resource.labels.container_name",
            "docker.container.name",
            "container.name",
            "container_name",
            "CONTAINER_NAME",
        ],
    ),
    ("unit", &["_SYSTEMD_UNIT", "systemd.unit"]),
    ("syslog_host", &["_HOSTNAME", "host.name", "kubernetes.host", "agent.hostname", "hostname"]),
    ("syslog_tag", &["SYSLOG_IDENTIFIER"]),
    ("stream", &["stream"]),
];

/// The name of a member beside a line.
pub(super) fn name_beside_line(path: &str) -> String {
    let known = KNOWN.iter().find(|(_, paths)| paths.contains(&path));
    known.map_or_else(|| field_name(path), |(name, _)| (*name).to_owned())
}

/// The name of a member, as conditions can have it: letters, digits, `_`, `-` and `.`.
pub(super) fn field_name(path: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.') => letter,
        _ => '_',
    };
    let name: String = path.trim_start_matches('@').chars().map(letter).collect();
    // A condition would take a number or a sign for something else.
    let is_word = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if is_word { name } else { format!("_{name}") }
}

/// Names that a format can add to the fields that it has.
pub(super) fn make_unique(names: &mut [String], taken: &[String]) {
    let mut taken = taken.to_vec();
    for name in names {
        *name = unique_name(name, &taken);
        taken.push(name.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::{field_name, make_unique, name_beside_line};

    #[test]
    fn names_can_stand_in_conditions() {
        for (path, name) in [
            ("request.headers.User-Agent", "request.headers.User-Agent"),
            ("@timestamp", "timestamp"),
            ("a b(c)", "a_b_c_"),
            ("1xx", "_1xx"),
            ("", "_"),
        ] {
            assert_eq!(field_name(path), name);
        }
        assert_eq!(name_beside_line("_SYSTEMD_UNIT"), "unit");
    }

    #[test]
    fn no_two_names_are_equal() {
        let mut names = ["a", "host", "A", "b", "file"].map(str::to_owned);
        make_unique(&mut names, &["b".to_owned()]);
        assert_eq!(names, ["a", "host_2", "A_2", "b_2", "log_file"]);
    }
}
