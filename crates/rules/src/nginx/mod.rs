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
use crate::rule::{Family, Rule};

/// The limits of a configuration: those of requests, of connections, or both.
#[derive(Debug)]
pub(crate) struct NginxLimits {
    of_requests: Option<LimitReq>,
    of_connections: Option<LimitConn>,
}

impl NginxLimits {
    /// Reads a configuration.
    ///
    /// # Errors
    /// If the text is not a configuration, there is no limit, or one is not valid.
    pub(crate) fn read(text: &str, name: &str, budget: &PatternBudget) -> Result<Self, RuleError> {
        let directives = directives(text)?;
        let has = |limit| directive_place(&directives.list, limit).is_some();
        let (has_requests, has_connections) = (has("limit_req"), has("limit_conn"));
        let of_requests = match has_requests || !has_connections {
            true => Some(LimitReq::read(&directives, name, budget)?),
            false => None,
        };
        let mut of_connections = match has_connections {
            true => Some(LimitConn::read(&directives, name, budget)?),
            false => None,
        };
        if let (Some(of_requests), Some(of_connections)) = (&of_requests, &mut of_connections)
            && of_requests.name == of_connections.name
        {
            of_connections.name.push_str("-limit_conn");
        }
        Ok(Self { of_requests, of_connections })
    }

    /// The same limits, read from another language, with the notes about its text.
    pub(crate) fn of_family(mut self, family: Family, notes: &[RuleError]) -> Self {
        if let Some(rule) = &mut self.of_requests {
            rule.set_origin(family, notes);
        }
        if let Some(rule) = &mut self.of_connections {
            rule.set_origin(family, notes);
        }
        self
    }

    /// The rules.
    pub(crate) fn into_rules(self) -> Vec<Box<dyn Rule>> {
        let of_requests = self.of_requests.map(|rule| Box::new(rule) as Box<dyn Rule>);
        let of_connections = self.of_connections.map(|rule| Box::new(rule) as Box<dyn Rule>);
        of_requests.into_iter().chain(of_connections).collect()
    }
}

/// Reads the rules of a configuration.
///
/// # Errors
/// If the text is not a configuration, there is no limit, or one is not valid.
pub(crate) fn parse(
    text: &str,
    name: &str,
    budget: &PatternBudget,
) -> Result<Vec<Box<dyn Rule>>, RuleError> {
    Ok(NginxLimits::read(text, name, budget)?.into_rules())
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
