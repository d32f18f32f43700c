//! Display texts for values and names, shared by the page, the terminal and files.

use weir_core::Field;

/// The displayed value of records without a field. Conditions use this word too.
pub const NO_VALUE: &str = "(none)";

/// The displayed form of an empty value. Conditions use this word too.
pub const EMPTY_VALUE: &str = "(empty)";

/// The displayed value of the remainder: the values that came after memory ran out.
pub const REMAINDER_VALUE: &str = "(all other values)";

/// The name of the values that a table leaves out.
pub const OTHERS: &str = "(others)";

/// The titles of the durations, in the order in which a report shows them.
pub const DURATION_TITLES: [(Field, &str); Field::DURATIONS.len()] = [
    (Field::RequestTime, "Request time"),
    (Field::UpstreamTime, "Upstream time"),
    (Field::WaitTime, "Wait time"),
    (Field::UpstreamConnectTime, "Upstream connect time"),
    (Field::UpstreamHeaderTime, "Upstream header time"),
    (Field::BodyTime, "Body time"),
];

/// The titles of the top lists by field name, in the order in which a report shows them; the
/// leading fields of a kind come first. The list of any other field has the field's name as its
/// title.
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
