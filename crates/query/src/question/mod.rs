//! How a query is understood: its texts become trees once, when it arrives.
//!
//! | step | module |
//! |---|---|
//! | a query with its texts, limits checked, times relative to a clock | `written_query`, `limits` |
//! | the question that is answered, with instants | `parsed_query` |
//! | the groups and their measures | `group_question` |
//! | a clicked clause as a condition | `clause` |
//! | a filter for display: clauses in place of conditions | `normal_form` |
//! | times and zones as people write them | `moment`, `zone` |

mod clause;
mod group_question;
mod limits;
mod moment;
mod normal_form;
mod parsed_query;
mod query_error;
mod written_query;
mod zone;

pub use group_question::GroupQuestion;
pub use moment::{Moment, Now};
pub use parsed_query::{ParsedQuery, PeriodBounds};
pub use query_error::{InvalidCondition, QueryError};
pub use written_query::WrittenQuery;
pub(crate) use written_query::missing_field;
pub use zone::{UnknownZone, find_zone, log_zone};
