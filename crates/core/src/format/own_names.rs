//! The names of the fields that only some formats have.
//!
//! Such a field has one name everywhere: in conditions, lists, lines of JSON and CSV, and the columns of
//! tables. So it can have neither the name of a known field, nor one that an output has for something else.
//! Programs that read tables often ignore the case of names, so it does not count here.

use crate::field::Field;

/// The names that outputs have for what is no field of a log: those of the lines of `weir grep`, and of
/// exports.
const OUTPUT_NAMES: [&str; 15] = [
    "file",
    "line",
    "raw",
    "raw_hex",
    "line_offset",
    "time_ns",
    "utc_offset_s",
    "other_fields",
    "escaped_columns",
    "request_time_ns",
    "upstream_time_ns",
    "upstream_connect_time_ns",
    "upstream_header_time_ns",
    "wait_time_ns",
    "body_time_ns",
];

/// The name of a format's own field that the log calls `name`. The name of an output's column gets the prefix
/// `log_`, and so does that of a known field in another case.
pub(in crate::format) fn own_name(name: &str) -> String {
    let is_same = |other: &str| other.eq_ignore_ascii_case(name);
    let is_known = || {
        let fields = Field::ALL.iter().map(|field| field.name()).chain(["status_code"]);
        Field::by_name(name).is_none() && fields.into_iter().any(is_same)
    };
    match OUTPUT_NAMES.into_iter().any(is_same) || is_known() {
        true => format!("log_{name}"),
        false => name.to_owned(),
    }
}

/// The same name, with a number if it is that of a known field or of one of the format's others.
pub(in crate::format) fn unique_name(name: &str, others: &[String]) -> String {
    let name = own_name(name);
    let is_taken = |name: &String| {
        Field::by_name(name).is_some()
            || others.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let unique = std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name));
    unique.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::{OUTPUT_NAMES, own_name, unique_name};
    use crate::field::Field;

    #[test]
    fn names_of_outputs_and_fields_get_a_prefix() {
        for (name, own) in [
            ("file", "log_file"),
            ("File", "log_File"),
            ("Time_ns", "log_Time_ns"),
            ("Path", "log_Path"),
            ("STATUS_CODE", "log_STATUS_CODE"),
            // An alias of a known field gets a number.
            ("path", "path"),
            ("remote_addr", "remote_addr"),
            ("log_file", "log_file"),
            ("tenant", "tenant"),
        ] {
            assert_eq!(own_name(name), own);
        }
        assert!(OUTPUT_NAMES.iter().all(|name| Field::by_name(name).is_none()));
    }

    #[test]
    fn durations_in_nanoseconds_have_names_of_their_own() {
        for field in Field::DURATIONS {
            let name = format!("{}_ns", field.name());
            assert_eq!(own_name(&name), format!("log_{name}"));
        }
    }

    #[test]
    fn names_are_unique_without_regard_to_case() {
        let others = ["a", "File", "log_file"].map(str::to_owned);
        for (name, unique) in [
            ("A", "A_2"),
            ("file", "log_file_2"),
            ("host", "host_2"),
            ("log_file", "log_file_2"),
            ("b", "b"),
        ] {
            assert_eq!(unique_name(name, &others), unique);
        }
    }
}
