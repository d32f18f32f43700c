//! The fields that are not known yet when a request arrives.

use weir_core::{Field, RecordFields};

use super::CannotEnforce;

/// Names, or prefixes of names, of values that are only known after the response, besides those of
/// [`Field`].
const LATER: [&str; 7] = [
    "status_class",
    "bytes_sent",
    "request_completion",
    "limit_req_status",
    "upstream_",
    "sent_http_",
    "sent_trailer_",
];

/// Checks that the fields which a rule names are known when a request arrives.
///
/// # Errors
/// If a field is not known at that time, or the requests do not have it.
pub(crate) fn check_fields<'n>(
    names: impl IntoIterator<Item = &'n str>,
    fields: &RecordFields,
) -> Result<(), CannotEnforce> {
    for name in names {
        if is_later(name) || fields.accessor(name).is_err() {
            return Err(without_field(name));
        }
    }
    Ok(())
}

/// The reason why a rule that uses a field cannot be enforced.
pub(super) fn without_field(name: &str) -> CannotEnforce {
    if is_later(name) {
        CannotEnforce::before_answer(format_args!(
            "`{name}` is only known when the request has been answered, so the rule cannot be \
             enforced when it arrives"
        ))
    } else {
        CannotEnforce::new(format_args!(
            "`{name}` is not a field of a request when it arrives; headers are `http_NAME` and \
             cookies `cookie_NAME`, such as http_x_api_key"
        ))
    }
}

fn is_later(name: &str) -> bool {
    let is_later =
        |later: &&str| if later.ends_with('_') { name.starts_with(*later) } else { name == *later };
    let is_number = |field: Field| field.number_index().is_some();
    Field::by_name(name).is_some_and(|field| field == Field::Status || is_number(field))
        || LATER.iter().any(is_later)
}

#[cfg(test)]
mod tests {
    use weir_core::Format;

    use super::check_fields;

    #[test]
    fn fields_of_the_answer_are_named() {
        let format = Format::parse("$remote_addr $status $http_x_key").expect("a format");
        let fields = format.record_fields();
        assert_eq!(check_fields(["client", "remote_addr", "http_x_key"], &fields), Ok(()));
        for (name, reason) in [
            ("status", "`status` is only known when the request has been answered"),
            ("status_class", "`status_class` is only known"),
            ("body_bytes_sent", "`body_bytes_sent` is only known"),
            ("upstream_addr", "`upstream_addr` is only known"),
            ("http_x_other", "`http_x_other` is not a field of a request when it arrives"),
        ] {
            let error = check_fields(["client", name], &fields).expect_err(name);
            assert!(error.message.starts_with(reason), "{error}");
        }
    }
}
