//! The arguments of `weir rules`.

use std::path::PathBuf;

use clap::{Args, FromArgMatches, ValueEnum};
use weir_rules::Family;

use crate::scan::LogArguments;

/// Replay firewall rules over logs: who would have tripped them, when, and by how much
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RulesArguments {
    /// A file with rules, as their own software reads it, such as an nginx.conf, or a folder with
    /// such files
    #[arg(long = "rule", value_name = "FILE")]
    pub(super) rule_files: Vec<PathBuf>,

    /// The text of a rule, such as the lines of a limit in an nginx.conf
    #[arg(long = "rule-text", value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) rule_texts: Vec<String>,

    /// The language of the rules [default: detected from their text]
    #[arg(long, value_enum, value_name = "FAMILY")]
    pub(super) family: Option<FamilyArgument>,

    /// A folder with the files that rules name: the filters of fail2ban's jails, or the lists of
    /// words of ModSecurity [default for jails: the folder of the jail, then
    /// /etc/fail2ban/filter.d]
    #[arg(long = "filter-dir", value_name = "DIR")]
    pub(super) filter_dirs: Vec<PathBuf>,

    /// A folder with the data files that scenarios of CrowdSec name, such as
    /// /var/lib/crowdsec/data
    #[arg(long = "data-dir", value_name = "DIR")]
    pub(super) data_dirs: Vec<PathBuf>,

    /// Print JSON, one object; docs/json.md describes it
    #[arg(long)]
    pub(super) json: bool,

    /// Print a line of JSON for each request that a rule sees, with what would have happened to it
    #[arg(long, conflicts_with = "json")]
    pub(super) decisions: bool,

    /// Print the threshold curve too: how many keys and requests every burst of a limit catches
    #[arg(long, conflicts_with = "decisions")]
    pub(super) sweep: bool,

    /// Print the numbers that the log suggests for a limit or a jail, as text to paste with the
    /// figures in comments; no client that looks like a person or is good is over them
    #[arg(long, conflicts_with = "decisions")]
    pub(super) suggest: bool,

    /// An address or a network whose clients are good, such as an office or a monitor
    #[arg(long = "good", value_name = "NETWORK")]
    pub(super) good: Vec<String>,

    /// When to exit with 3: if a request is rejected for certain, or also if that is likely or
    /// possible where the log only bounds the times
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = FailOn::Certain)]
    pub(super) fail_on: FailOn,

    /// Print this many clients or other keys of each rule
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) top: usize,

    /// The most memory that a replay may take, such as 512MiB or 2G; requests after that are
    /// counted but not replayed [default: half of what the machine, the container or `ulimit -v`
    /// allows beyond 64MiB, at most 4GiB]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<String>,

    #[command(flatten)]
    pub(super) logs: LogArguments,
}

impl RulesArguments {
    /// The arguments with these rules, and the defaults.
    pub(super) fn of_rules(files: &[PathBuf], texts: &[String]) -> Self {
        let command = Self::augment_args(clap::Command::new("rules"));
        let matches = command.get_matches_from(["rules"]);
        // All arguments are optional.
        let defaults = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self { rule_files: files.to_vec(), rule_texts: texts.to_vec(), ..defaults }
    }
}

/// How sure a rejection has to be for exit code 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// A request is rejected, however its time lies within its second
    Certain,
    /// A request is rejected at the likeliest times
    Likely,
    /// The log does not rule it out
    Possible,
}

/// A family of rules, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FamilyArgument {
    /// limit_req and limit_conn of nginx
    Nginx,
    /// limit_req of nginx alone
    #[value(name = "limit_req")]
    LimitReq,
    /// limit_conn of nginx alone
    #[value(name = "limit_conn")]
    LimitConn,
    /// Annotations of ingress-nginx, such as limit-rps
    IngressNginx,
    /// Lines such as `limit 100 requests in 1m by client`; docs/rules.md describes them
    Limit,
    /// Zones of rate_limit in a Caddyfile
    Caddy,
    /// Counters of HAProxy's stick tables
    Haproxy,
    /// The middleware RateLimit of Traefik
    Traefik,
    /// The local rate limit of Envoy
    Envoy,
    /// vsthrottle of Varnish
    Varnish,
    /// hashlimit, recent and limit of iptables
    Iptables,
    /// limit rate of nft
    Nft,
    /// Directives of mod_evasive of Apache
    ModEvasive,
    /// Rate limits of AWS WAF, Cloudflare and Azure
    Cloud,
    /// Lists of networks, and allow and deny lines
    DenyList,
    /// SecRule lines of ModSecurity
    Modsecurity,
    /// Policies of Anubis
    Anubis,
    /// Jails and filters of fail2ban
    Fail2ban,
    /// Scenarios of CrowdSec
    Crowdsec,
}

impl From<FamilyArgument> for Family {
    fn from(argument: FamilyArgument) -> Self {
        match argument {
            FamilyArgument::Nginx | FamilyArgument::LimitReq => Self::LimitReq,
            FamilyArgument::LimitConn => Self::LimitConn,
            FamilyArgument::IngressNginx => Self::IngressNginx,
            FamilyArgument::Limit => Self::Windows,
            FamilyArgument::Caddy => Self::Caddy,
            FamilyArgument::Haproxy => Self::Haproxy,
            FamilyArgument::Traefik => Self::Traefik,
            FamilyArgument::Envoy => Self::Envoy,
            FamilyArgument::Varnish => Self::Varnish,
            FamilyArgument::Iptables => Self::Iptables,
            FamilyArgument::Nft => Self::Nft,
            FamilyArgument::ModEvasive => Self::ModEvasive,
            FamilyArgument::Cloud => Self::Cloud,
            FamilyArgument::DenyList => Self::Lists,
            FamilyArgument::Modsecurity => Self::ModSecurity,
            FamilyArgument::Anubis => Self::Anubis,
            FamilyArgument::Fail2ban => Self::Fail2ban,
            FamilyArgument::Crowdsec => Self::CrowdSec,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  weir rules --rule nginx.conf access.log
  weir rules --rule-text 'limit 100 requests in 1m by client where path^=/login' access.log
  weir rules --family deny-list --rule blocked-networks.txt access.log
  weir rules --rule limits.conf --json access.log.*.gz | jq '.rules[].trips[].key'
  weir rules access.log error.log fail2ban.log
  weir rules --rule-text 'limit_req_zone $binary_remote_addr zone=one:10m rate=5r/s;
    limit_req zone=one burst=20 nodelay;' access.log

Without a rule, the logs beside the access log say what tripped the rules in force, and the answer
has lines that would let an address pass.
Traffic that was recorded behind a firewall already lacks what it blocked.
Exit codes: 0 the rules would have let everything through; 1 they saw no request; 2 wrong usage,
or a file could not be read to its end; 3 a request would have been rejected.";
