//! The kinds of limits that a configuration may have.

use std::fmt;

use super::template::Template;
use super::tokens::Directive;
use crate::error::RuleError;

/// A limit of one kind: the arguments of a directive such as `limit_req`.
pub(crate) trait LimitKind: Sized + Clone + PartialEq + fmt::Debug {
    /// What its limits count in.
    type Zone: ZoneKind;

    /// The name of the directive.
    const NAME: &'static str;

    /// The name of the directive that lets requests over the limit through.
    const DRY_RUN: &'static str;

    /// A zone and a limit, as they are written.
    const EXAMPLE: &'static str;

    /// Reads a directive.
    ///
    /// # Errors
    /// If it is not a valid limit of one of the zones.
    fn parse(directive: &Directive, zones: &[Self::Zone]) -> Result<Self, RuleError>;

    /// The number of its zone.
    fn zone(&self) -> usize;

    /// The limit in a few words.
    fn text(&self, zones: &[Self::Zone]) -> String;
}

/// A zone: the arguments of a directive such as `limit_req_zone`.
pub(crate) trait ZoneKind: Sized + fmt::Debug {
    /// The name of the directive.
    const NAME: &'static str;

    /// Reads a directive.
    ///
    /// # Errors
    /// If it is not a valid zone.
    fn parse(directive: &Directive) -> Result<Self, RuleError>;

    /// The name of the zone.
    fn name(&self) -> &str;

    /// What it counts by.
    fn key(&self) -> &Template;
}
