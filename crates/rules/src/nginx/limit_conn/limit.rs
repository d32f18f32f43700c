//! `limit_conn_zone` and `limit_conn`.

use crate::arrivals::ZoneLimit;
use crate::error::RuleError;
use crate::nginx::configuration::{
    Directive, LimitKind, Word, Zone, ZoneParameters, find_zone, whole_number,
};

/// The highest limit that nginx takes.
const CONNECTIONS_MAX: i64 = 65_535;

/// A `limit_conn_zone`, which has no parameters of its own.
#[derive(Debug, Default)]
pub(crate) struct ConnectionZone;

/// A `limit_conn`: the most concurrent requests of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionLimit {
    /// The number of the zone.
    pub(super) zone: usize,
    pub(super) connections: u64,
}

impl ZoneParameters for ConnectionZone {
    const DIRECTIVE: &'static str = "limit_conn_zone";
    const EXAMPLE: &'static str = "limit_conn_zone $binary_remote_addr zone=one:10m;";
    const NAMES: &'static [&'static str] = &["zone"];

    fn read(&mut self, _: &Word) -> Result<bool, RuleError> {
        Ok(false)
    }
}

impl ZoneLimit for ConnectionLimit {
    fn zone(&self) -> usize {
        self.zone
    }
}

impl LimitKind for ConnectionLimit {
    type Zone = ConnectionZone;

    const NAME: &'static str = "limit_conn";
    const DRY_RUN: &'static str = "limit_conn_dry_run";
    const EXAMPLE: &'static str =
        "limit_conn_zone $binary_remote_addr zone=one:10m; limit_conn one 10;";

    const DECIDES_BEFORE: Option<(&'static str, &'static str)> = Some((
        "limit_req",
        "`limit_req`: nginx applies it before `limit_conn`; requests that it rejects or delays \
         are counted from their arrival",
    ));

    /// Reads `limit_conn NAME NUMBER`.
    fn parse(directive: &Directive, zones: &[Zone<ConnectionZone>]) -> Result<Self, RuleError> {
        let [name, number] = &directive.arguments[..] else {
            return Err(directive
                .name
                .error("write the name of a zone and a number: limit_conn one 10;"));
        };
        let zone = find_zone(&name.text, name, zones)?;
        let valid = whole_number(&number.text).filter(|it| (1..=CONNECTIONS_MAX).contains(it));
        let connections = valid.ok_or_else(|| {
            number.error(format_args!(
                "`{}` is not a number of connections from 1 to {CONNECTIONS_MAX}",
                number.text
            ))
        })?;
        Ok(Self { zone, connections: connections.unsigned_abs() })
    }

    fn text(&self, zones: &[Zone<ConnectionZone>]) -> String {
        format!("limit_conn {} {}", zones[self.zone].name, self.connections)
    }
}
