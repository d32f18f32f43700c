//! The limits of nginx, read from its configuration.
//!
//! [`configuration`] finds the limits of one kind in a text, and which of them apply to a request.
//! [`key`] and [`observer`] find the keys of the requests of a log. [`limit_req`] and [`limit_conn`]
//! are the two kinds: their directives, their arithmetic, their replays and their gates. [`rule`]
//! makes a rule of either.

mod configuration;
mod key;
mod limit_conn;
mod limit_req;
mod observer;
mod rule;

use weir_core::PatternBudget;

use self::configuration::{directive_place, directives};
use self::limit_conn::LimitConn;
use self::limit_req::LimitReq;
use crate::error::RuleError;
use crate::rule::Rule;

/// Reads the rules of a configuration: its limits of requests, of connections, or both.
///
/// # Errors
/// If the text is not a configuration, there is no limit, or one is not valid.
pub(crate) fn parse(
    text: &str,
    name: &str,
    budget: &PatternBudget,
) -> Result<Vec<Box<dyn Rule>>, RuleError> {
    let directives = directives(text)?;
    let has = |limit| directive_place(&directives.list, limit).is_some();
    let (has_requests, has_connections) = (has("limit_req"), has("limit_conn"));
    let mut rules: Vec<Box<dyn Rule>> = Vec::new();
    let mut own_name = None;
    if has_requests || !has_connections {
        let of_requests = LimitReq::read(&directives, name, budget)?;
        own_name = Some(of_requests.name.clone());
        rules.push(Box::new(of_requests));
    }
    if has_connections {
        let mut of_connections = LimitConn::read(&directives, name, budget)?;
        if own_name.is_some_and(|own| own == of_connections.name) {
            of_connections.name.push_str("-limit_conn");
        }
        rules.push(Box::new(of_connections));
    }
    Ok(rules)
}

/// Reads the limits of connections of a configuration.
///
/// # Errors
/// If the text is not a configuration, there is no limit, or one is not valid.
pub(crate) fn parse_limit_conn(
    text: &str,
    name: &str,
    budget: &PatternBudget,
) -> Result<Box<dyn Rule>, RuleError> {
    Ok(Box::new(LimitConn::read(&directives(text)?, name, budget)?))
}
