//! Which route a request belongs to, in every way in which servers read its path, and what the route
//! changes.

pub(crate) mod changes;
pub(crate) mod condition;
pub(crate) mod path_reading;
pub(crate) mod route_match;
pub(crate) mod weight;
