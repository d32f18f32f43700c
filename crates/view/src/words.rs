//! The words in place of values and names, the same on the page, on the terminal and in files.

use weir_core::Field;

/// The value that is shown for records without a field. Conditions call it by this word, too.
pub const NO_VALUE: &str = "(none)";

/// What is shown in place of an empty value. Conditions call it by this word, too.
pub const EMPTY_VALUE: &str = "(empty)";

/// The value that is shown for the remainder: the values that came after memory ran out.
pub const REMAINDER_VALUE: &str = "(all other values)";

/// The titles of the durations, in the order in which a report shows them.
pub const DURATION_TITLES: [(Field, &str); Field::DURATIONS.len()] = [
    (Field::RequestTime, "Request time"),
    (Field::UpstreamTime, "Upstream time"),
    (Field::WaitTime, "Wait time"),
    (Field::UpstreamConnectTime, "Upstream connect time"),
    (Field::UpstreamHeaderTime, "Upstream header time"),
    (Field::BodyTime, "Body time"),
];

/// The titles of the top lists by the names of their fields, in the order in which a report shows
/// them; the leading fields of a kind come first. The list of any other field has the field's name for its title, unchanged.
pub const LIST_TITLES: [(&str, &str); 14] = [
    ("path", "Paths"),
    ("client", "Clients"),
    ("status", "Status"),
    ("method", "Methods"),
    ("host", "Hosts"),
    ("referer", "Referers"),
    ("user_agent", "User agents"),
    ("request", "Malformed requests"),
    ("query", "Query strings"),
    ("user", "Users"),
    ("protocol", "Protocols"),
    ("message", "Messages"),
    ("level", "Levels"),
    ("action", "Actions"),
];
