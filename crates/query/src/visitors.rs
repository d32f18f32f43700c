//! The visitors of a query.

use weir_core::{Values, Visitors};

use crate::question::{ParsedQuery, QueryError};

/// Creates the count of the visitors of the requests that match a query, by the days of its zone.
///
/// # Errors
/// Fails if the query is not valid for these values.
pub fn visitors(query: &ParsedQuery, values: &Values) -> Result<Visitors, QueryError> {
    Ok(Visitors::new(query.filter(values)?, query.zone.clone()))
}
