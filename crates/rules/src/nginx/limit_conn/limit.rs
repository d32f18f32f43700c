//! `limit_conn_zone` and `limit_conn`.

use crate::arrivals::ZoneLimit;
use crate::error::RuleError;
use crate::nginx::configuration::{
    Directive, LimitKind, Template, ZoneKind, find_zone, unknown_parameter, whole_number,
    zone_bytes, zone_name,
};

/// The highest limit that nginx takes.
const CONNECTIONS_MAX: i64 = 65_535;

/// A `limit_conn_zone`: the key by which requests are counted.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionZone {
    pub(super) name: String,
    key: Template,
    /// The size in bytes, if it is configured.
    pub(super) bytes: Option<usize>,
}

/// A `limit_conn`: the most concurrent requests of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionLimit {
    /// The number of the zone.
    pub(super) zone: usize,
    pub(super) connections: u64,
}

impl ZoneKind for ConnectionZone {
    const NAME: &'static str = "limit_conn_zone";

    /// Reads `limit_conn_zone KEY zone=NAME:SIZE`.
    fn parse(directive: &Directive) -> Result<Self, RuleError> {
        let missing = |what: &str| {
            directive.name.error(format_args!(
                "{what} is missing; write: limit_conn_zone $binary_remote_addr zone=one:10m;"
            ))
        };
        let (mut key, mut name, mut bytes) = (None, None, None);
        for word in &directive.arguments {
            if let Some(value) = word.text.strip_prefix("zone=") {
                name = Some(zone_name(value, word)?);
                bytes = zone_bytes(value);
            } else if key.is_none() && !word.text.contains('=') {
                key = Some(Template::parse(word)?);
            } else {
                return Err(unknown_parameter(word, &["zone"]));
            }
        }
        Ok(Self {
            name: name.ok_or_else(|| missing("zone=NAME:SIZE"))?,
            key: key.ok_or_else(|| missing("the key"))?,
            bytes,
        })
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> &Template {
        &self.key
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
    fn parse(directive: &Directive, zones: &[ConnectionZone]) -> Result<Self, RuleError> {
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

    fn text(&self, zones: &[ConnectionZone]) -> String {
        format!("limit_conn {} {}", zones[self.zone].name, self.connections)
    }
}
