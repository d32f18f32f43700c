//! The kinds of limits that a configuration may have.

use std::fmt;

use super::tokens::Directive;
use super::zone::{Zone, ZoneParameters};
use crate::arrivals::ZoneLimit;
use crate::error::RuleError;

/// A limit of one kind: the arguments of a directive such as `limit_req`.
pub(crate) trait LimitKind:
    ZoneLimit + Sized + Clone + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// The parameters of its zones.
    type Zone: ZoneParameters;

    /// The name of the directive.
    const NAME: &'static str;

    /// The name of the directive that makes the limit a dry run.
    const DRY_RUN: &'static str;

    /// An example of a zone and a limit, for messages.
    const EXAMPLE: &'static str;

    /// A directive that decides about requests before this limit, with a note about it.
    const DECIDES_BEFORE: Option<(&'static str, &'static str)> = None;

    /// Reads a directive.
    ///
    /// # Errors
    /// If the directive is not a valid limit of one of the zones.
    fn parse(directive: &Directive, zones: &[Zone<Self::Zone>]) -> Result<Self, RuleError>;

    /// A short description of the limit.
    fn text(&self, zones: &[Zone<Self::Zone>]) -> String;
}
