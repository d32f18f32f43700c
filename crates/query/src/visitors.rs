//! The visitors of a query.

use std::collections::HashMap;

use weir_core::{ABSENT, Field, Values, Visitors};

use crate::question::{ParsedQuery, QueryError};

/// Creates the count of the visitors of the requests that match a query, by the days of its zone.
///
/// # Errors
/// Fails if the query is not valid for these values.
pub fn visitors(query: &ParsedQuery, values: &Values) -> Result<Visitors, QueryError> {
    Ok(Visitors::new(query.filter(values)?, query.zone.clone()))
}

/// Returns the visitors of a count, with those of robots among them. `declares` says of an agent whether it
/// calls itself a robot, and is asked once for each.
pub fn visitors_answer(
    counted: &Visitors,
    values: &Values,
    declares: impl Fn(&[u8]) -> bool,
) -> weir_view::Visitors {
    let agents = values.dictionary(Field::UserAgent.column());
    let mut known: HashMap<u32, bool> = HashMap::new();
    let robots = counted.counts_of_agents(|agent| {
        let read = || agent != ABSENT && agents.value(agent).is_some_and(&declares);
        *known.entry(agent).or_insert_with(read)
    });
    weir_view::Visitors::new(&counted.counts(), &robots)
}
