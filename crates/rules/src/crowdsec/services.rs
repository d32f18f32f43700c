//! Lines of services other than web servers, for the scenarios about them.
//!
//! CrowdSec has a parser for each service. Here, a service is a pattern whose named groups are
//! fields, plus some constant fields. The filter of a scenario names its service by the type of log
//! or the kind of message.

use regex::bytes::{Captures, Regex};
use weir_core::Timestamp;

use super::service_time::unix_ns;

/// A kind of line of a service.
struct Service {
    /// The texts in a filter that identify the service.
    markers: &'static [&'static str],
    pattern: &'static str,
    /// Texts that no line of the service contains.
    excluded: &'static [&'static str],
    /// Constant fields.
    constants: &'static [(&'static str, &'static str)],
}

const SERVICES: [Service; 13] = [
    Service {
        markers: &["CVE-2021-4034-xpl"],
        pattern: r"^(?P<time>\w{3} [ \d]\d [\d:]{8}) \S+ pkexec\[\d+\]: (?P<target_user>.*?): The value for the SHELL variable was not found the /etc/shells file",
        excluded: &[],
        constants: &[("log_type", "CVE-2021-4034-xpl")],
    },
    Service {
        markers: &["apache-guacamole_failed_auth"],
        pattern: r#"(?P<time>\d{4}-\d\d-\d\dT[\d:]{8}[.,]\d+Z?) .*Authentication attempt from \[?(?P<source_ip>[0-9A-Fa-f.:]+)[^\]]*\]? for user "(?P<target_user>[^"]*)" failed"#,
        excluded: &[],
        constants: &[("log_type", "apache-guacamole_failed_auth")],
    },
    Service {
        markers: &["ADMIN_LOGIN_FAILED", "magento"],
        pattern: r#"^\[(?P<time>[\d-]{10} [\d:]{8})\] crowdsec-events\.[^:]+:  \{"type":"(?P<log_type>[^"]*)","ip":"(?P<source_ip>[^"]*)""#,
        excluded: &[],
        constants: &[("service", "magento")],
    },
    Service {
        markers: &["iptables_drop"],
        pattern: r"^(?P<time>\w{3} [ \d]\d [\d:]{8}) .*IN=\S* (?:OUT=\S* )?(?:MAC=\S* )?SRC=(?P<source_ip>\S+) DST=(?P<dst_ip>\S+) LEN=\d+.*PROTO=(?P<proto>\w+) SPT=(?P<src_port>\d+) DPT=(?P<dst_port>\d+)",
        excluded: &["ACCEPT", "AUDIT"],
        constants: &[("log_type", "iptables_drop"), ("service", "tcp")],
    },
    Service {
        markers: &["mikrotik_failed_auth"],
        pattern: r"^(?P<time>\d{4}-\d\d-\d\dT\S+) .*login failure for user (?P<user>.*) from (?P<source_ip>[0-9A-Fa-f.:]+) via ",
        excluded: &[],
        constants: &[("log_type", "mikrotik_failed_auth"), ("service", "mikrotik")],
    },
    Service {
        markers: &["modsecurity"],
        pattern: r#"^(?P<time>\d{4}/\d\d/\d\d [\d:]{8}) .*ModSecurity: .*\[id "(?P<ruleid>\d+)"\].*?\[severity "(?P<ruleseverity>[^"]*)"\].*, client: (?P<source_ip>[^,]+), server: "#,
        excluded: &[],
        constants: &[("log_type", "modsecurity")],
    },
    Service {
        markers: &["modsecurity"],
        pattern: r#"^\{"level":"\w+","ts":(?P<time>[\d.]+),"logger":"http\.handlers\.waf","msg":"\[client \\"(?P<source_ip>[^\\]+)\\"\] .*?\[id \\"(?P<ruleid>\d+)\\"\].*?\[severity \\"(?P<ruleseverity>[^\\]*)\\"\]"#,
        excluded: &[],
        constants: &[("log_type", "modsecurity")],
    },
    Service {
        markers: &["modsecurity"],
        pattern: r#"^\[(?P<time>\w{3} \w{3} \d\d [\d:]{8}(?:\.\d+)? \d{4})\] .*\[client (?P<source_ip>[^\] ]+)\] ModSecurity: .*?\[id "(?P<ruleid>\d+)"\].*?\[severity "(?P<ruleseverity>[^"]*)"\]"#,
        excluded: &[],
        constants: &[("log_type", "modsecurity")],
    },
    Service {
        markers: &["opnsense-gui-failed-auth"],
        pattern: r"^<\d+>1 (?P<time>\S+) \S+ audit .*/index\.php: Web GUI authentication error for '(?P<username>[^']*)' from (?P<source_ip>\S+)",
        excluded: &[],
        constants: &[("log_type", "opnsense-gui-failed-auth"), ("service", "opnsense-gui")],
    },
    Service {
        markers: &["pfsense-gui-failed-auth"],
        pattern: r"^(?P<time>\w{3} [ \d]\d [\d:]{8}) \S+ php-fpm\[\d+\]: /index\.php: webConfigurator authentication error for user '(?P<username>[^']*)' from: (?P<source_ip>\S+)",
        excluded: &[],
        constants: &[("log_type", "pfsense-gui-failed-auth"), ("service", "pfsense-gui")],
    },
    Service {
        markers: &["traefik_tcpudp"],
        pattern: r#"^time="(?P<time>[^"]+)" level=\w+ msg="Handling (?:UDP stream|TCP connection) from (?P<source_ip>[^" ]+):(?P<source_port>\d+) to "#,
        excluded: &[],
        constants: &[("log_type", "traefik_tcpudp")],
    },
    Service {
        markers: &["zm_bad_password", "zm_bad_user", "zm_failed_auth"],
        pattern: r#"^(?P<time>\d\d[/-]\d\d[/-]\d\d,?[- ][\d:]+(?: [AP]M \w{3})?\.\d{6}) web_php\[\d+\]\.[A-Z]{3} \[(?P<source_ip>[^\]]+)\]\s\[Login denied for user "(?P<username>[^"]*)"\]"#,
        excluded: &[],
        constants: &[("log_type", "zm_failed_auth"), ("log_subtype", "zm_bad_password")],
    },
    Service {
        markers: &["zm_bad_password", "zm_bad_user", "zm_failed_auth"],
        pattern: r"^(?P<time>\d\d[/-]\d\d[/-]\d\d,?[- ][\d:]+(?: [AP]M \w{3})?\.\d{6}) web_php\[\d+\]\.[A-Z]{3} \[(?P<source_ip>[^\]]+)\]\s\[Could not retrieve user (?P<username>.*?) details\]",
        excluded: &[],
        constants: &[("log_type", "zm_failed_auth"), ("log_subtype", "zm_bad_user")],
    },
];

/// Whether any service has a field.
pub(super) fn has_field(name: &str) -> bool {
    let group = format!("(?P<{name}>");
    SERVICES.iter().any(|service| {
        service.constants.iter().any(|(known, _)| *known == name)
            || service.pattern.contains(&group)
    })
}

/// The services that a filter names, by their positions in [`SERVICES`].
pub(super) fn named_in(filter: &str) -> Vec<usize> {
    let names = |service: &Service| {
        service.markers.iter().any(|marker| {
            ["'", "\""].iter().any(|quote| filter.contains(&format!("{quote}{marker}{quote}")))
        })
    };
    (0..SERVICES.len()).filter(|position| names(&SERVICES[*position])).collect()
}

/// Reads the lines of some services.
#[derive(Debug)]
pub(super) struct ServiceLines(Vec<(usize, Regex)>);

impl ServiceLines {
    /// Makes a reader of the services at the positions that [`named_in`] returned.
    pub(super) fn new(positions: &[usize]) -> Self {
        let compile = |position: &usize| {
            let regex =
                regex::bytes::RegexBuilder::new(SERVICES[*position].pattern).unicode(false).build();
            regex.ok().map(|regex| (*position, regex))
        };
        Self(positions.iter().filter_map(compile).collect())
    }

    /// Parses a line; `None` if it is not a line of these services.
    pub(super) fn read<'l>(&self, line: &'l [u8]) -> Option<ServiceLine<'l>> {
        self.0.iter().find_map(|(position, regex)| {
            let Service { excluded, constants, .. } = &SERVICES[*position];
            let has = |part: &&str| memchr::memmem::find(line, part.as_bytes()).is_some();
            let groups = regex.captures(line).filter(|_| !excluded.iter().any(has))?;
            Some(ServiceLine { constants, groups })
        })
    }
}

/// A line of a service.
pub(super) struct ServiceLine<'l> {
    constants: &'static [(&'static str, &'static str)],
    groups: Captures<'l>,
}

impl<'l> ServiceLine<'l> {
    /// A field; empty if the line does not have it.
    pub(super) fn field(&self, name: &str) -> &[u8] {
        let constant = self.constants.iter().find(|(known, _)| *known == name);
        match constant {
            Some((_, value)) => value.as_bytes(),
            None => self.groups.name(name).map_or(b"", |group| group.as_bytes()),
        }
    }

    /// The time of the line. `record` is the time of the same line read as a record, which supplies
    /// the year if the stamp has none.
    pub(super) fn time_ns(&self, record: Option<Timestamp>) -> Option<i64> {
        record.map(|time| time.unix_ns).or_else(|| unix_ns(self.field("time")))
    }
}

#[cfg(test)]
mod tests {
    use super::{SERVICES, ServiceLines, has_field, named_in};

    #[test]
    fn patterns_are_valid() {
        let all: Vec<usize> = (0..SERVICES.len()).collect();
        assert_eq!(ServiceLines::new(&all).0.len(), SERVICES.len());
        assert!(has_field("username") && !has_field("nothing"));
    }

    #[test]
    fn a_filter_names_its_service() {
        let services = named_in("evt.Meta.log_type == 'pfsense-gui-failed-auth'");
        let lines = ServiceLines::new(&services);
        let line = b"Oct 26 14:50:21 pfSense php-fpm[374]: /index.php: webConfigurator \
                     authentication error for user 'toto' from: 10.0.0.1";
        let read = lines.read(line).expect("a line of the service");
        assert_eq!(read.field("source_ip"), b"10.0.0.1");
        assert_eq!(read.field("log_type"), b"pfsense-gui-failed-auth");
        assert!(read.time_ns(None).is_some());
        assert!(lines.read(b"another line").is_none());
        assert!(named_in("evt.Meta.log_type == 'http_access-log'").is_empty());
    }
}
