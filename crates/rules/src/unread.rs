//! Texts in none of the languages that are read: the error names the language if it is known, and
//! the nearest one that is read.

use weir_core::nearest_name;

use crate::error::RuleError;
use crate::plain_rate;
use crate::windows::{Word, lines};

/// The number of words of a text that are compared with those of known languages.
const WORDS_MAX: usize = 2_000;

/// Words by which languages are known that are not read, in lower case: the beginning of a word,
/// the name of its language, and a rule that comes near.
const UNREAD: [(&str, &str, &str); 26] = [
    ("qs_", "mod_qos of Apache", LOGIN),
    ("nginx.org/limit-req", "the annotations of NGINX's own ingress controller", NGINX),
    ("ratelimit.check_rate", "VCL of Fastly", CLIENT),
    ("redis-rate-limiter", "Spring Cloud Gateway", BUCKET),
    ("requestratelimiter", "Spring Cloud Gateway", BUCKET),
    ("ratelimitpolicy", "a policy of Kubernetes' gateways", CLIENT),
    ("backendtrafficpolicy", "a policy of Kubernetes' gateways", CLIENT),
    ("rate-limiting", "Kong", CLIENT),
    ("x-kong", "Kong", CLIENT),
    ("rate-limit-by-key", "Azure API Management", CLIENT),
    ("spike-arrest", "Apigee", CLIENT),
    ("spikearrest", "Apigee", CLIENT),
    ("setoutputfilter", "mod_ratelimit of Apache, which limits bytes", CLIENT),
    ("dynamicipsecurity", "IIS", CLIENT),
    ("evasive.max-conns", "lighttpd", "limit 10 requests at once by client"),
    ("max-src-conn-rate", "pf", CLIENT),
    ("ufw", "UFW", UFW),
    ("firewall-cmd", "firewalld", CLIENT),
    ("delay_pools", "Squid", CLIENT),
    ("throttle(", "Rack::Attack", CLIENT),
    ("ratelimit({", "a library for Node.js", CLIENT),
    ("limit-req\"", "APISIX", BUCKET),
    ("limit-count\"", "APISIX", CLIENT),
    ("cloudflare.ratelimit", "the former rate limits of Cloudflare", CLIENT),
    ("cloudflare_rate_limit", "the former rate limits of Cloudflare", CLIENT),
    ("whitelist:", "a whitelist of CrowdSec (a parser)", "allow 192.0.2.0/24;"),
];

const CLIENT: &str = "limit 100 requests in 1m by client";
const UFW: &str =
    "iptables -A INPUT -p tcp --dport 443 -m recent --update --seconds 30 --hitcount 6 -j DROP";
const LOGIN: &str = "limit 20 requests in 10m by client where path~'^/login'";
const BUCKET: &str = "limit 10 requests in 1s by client as token-bucket burst 20";
const NGINX: &str =
    "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s; limit_req zone=one burst=20;";

/// Words of the languages that are read, with a whole rule of each. A text that has one of them and
/// is in none of the languages lacks a part; a word that is nearly one of them is a slip.
const READ: [(&[&str], &str, &str); 9] = [
    (&["limit_req_zone", "limit_req", "limit_conn_zone", "limit_conn"], "nginx", NGINX),
    (&["limit-rps"], "ingress-nginx", "nginx.ingress.kubernetes.io/limit-rps: \"5\""),
    (
        &["rate_limit"],
        "Caddy, in which a `{` ends its line",
        "rate_limit {\n  zone NAME {\n    key {remote_host}\n    events 10\n    window 10s\n  }\n}",
    ),
    (
        &["stick-table", "http-request"],
        "HAProxy",
        "stick-table type ip size 100k expire 30s store http_req_rate(10s)\n\
         http-request track-sc0 src\n\
         http-request deny if { sc_http_req_rate(0) gt 20 }",
    ),
    (&["rateLimit"], "Traefik", "rateLimit:\n  average: 100\n  burst: 50"),
    (
        &["DOSPageCount", "DOSPageInterval", "DOSSiteCount"],
        "mod_evasive",
        "DOSPageCount 5\nDOSPageInterval 1\nDOSBlockingPeriod 10",
    ),
    (&["SecRule"], "ModSecurity", "SecRule ARGS \"@rx <script\" \"id:1,phase:2,deny\""),
    (
        &["failregex", "maxretry", "findtime"],
        "fail2ban",
        "[NAME]\nfailregex = ^<HOST> .* 401 \nmaxretry = 5\nfindtime = 10m",
    ),
    (
        &["leakspeed", "groupby"],
        "CrowdSec",
        "type: leaky\nname: NAME\ndescription: WORDS\nfilter: evt.Meta.log_type == 'http_access-log'\n\
         groupby: evt.Meta.source_ip\ncapacity: 5\nleakspeed: 10s",
    ),
];

/// Further words of languages that are read, for slips.
const ALSO_READ: [&str; 5] =
    ["RateBasedStatement", "requests_per_period", "rateLimitThreshold", "allow", "deny"];

/// Directives of nginx beside limits. A text with one of them is a configuration without a limit.
const OF_NGINX: [&str; 12] = [
    "http",
    "server",
    "location",
    "events",
    "upstream",
    "listen",
    "server_name",
    "proxy_pass",
    "map",
    "geo",
    "worker_processes",
    "log_format",
];

/// Whether a text begins as a configuration of nginx does.
pub(crate) fn is_of_nginx(text: &str) -> bool {
    let first = lines(text).find_map(|words| words.first().copied());
    let is_closed = text.contains(';') || text.contains('{');
    first.is_some_and(|first| is_closed && OF_NGINX.contains(&first.text))
}

/// The error of a text in none of the languages.
pub(crate) fn error(text: &str) -> RuleError {
    let words = || lines(text).flatten().take(WORDS_MAX);
    if let Some((word, language, nearest)) = words().find_map(unread) {
        return word.error(format_args!(
            "this is a word of {language}, which Weir does not read; the nearest is a rule such as \
             `{nearest}`"
        ));
    }
    let known = words().find_map(|word| {
        let parts = READ.iter().find(|(names, ..)| names.contains(&bare(word)));
        Some((word, parts?))
    });
    if let Some((word, (_, language, whole))) = known {
        return word.error(format_args!(
            "this is a word of {language}, but a part of the rule is missing; a whole one is such \
             as:\n{whole}"
        ));
    }
    let slip = words().find_map(|word| {
        let names = READ.iter().flat_map(|(names, ..)| names.iter().copied());
        Some((word, nearest_name(bare(word), names.chain(ALSO_READ))?))
    });
    if let Some((word, name)) = slip {
        return word.error(format_args!(
            "this is none of the languages that Weir reads; the nearest is `{name}`: did you mean \
             that?"
        ));
    }
    let first = words().next().map_or(0..0, |word| word.range());
    let message = match plain_rate::limit_of(text) {
        Some(limit) => format!(
            "this is none of the languages that Weir reads; in Weir's own it may be `{limit}`"
        ),
        None => format!(
            "this is none of the languages that Weir reads: {LANGUAGES}; the nearest is Weir's own, \
             such as `{CLIENT}`"
        ),
    };
    RuleError::new(first, message)
}

/// A word without the signs that stand around names.
fn bare(word: Word<'_>) -> &str {
    word.text.trim_matches(|next| "\"':;={}".contains(next))
}

/// The languages, for messages.
const LANGUAGES: &str = "limits of nginx, ingress-nginx, Caddy, HAProxy, \
                         Traefik, Envoy, Varnish, mod_evasive, iptables, nft and clouds, jails of \
                         fail2ban, scenarios of CrowdSec, rules of ModSecurity, policies of Anubis, lists of \
                         networks";

/// The language of a word, if it is a known one that is not read.
fn unread(word: Word<'_>) -> Option<(Word<'_>, &'static str, &'static str)> {
    let lower = word.text.to_ascii_lowercase();
    let known = lower.trim_start_matches(['"', '\'', '-', '<', '{']);
    let found = UNREAD.iter().find(|(begin, ..)| known.starts_with(begin));
    found.map(|(_, language, nearest)| (word, *language, *nearest))
}

#[cfg(test)]
mod tests {
    use super::{ALSO_READ, READ, UNREAD, error, is_of_nginx};
    use crate::files::RuleFiles;
    use crate::parse::parse_rules;

    #[test]
    fn known_languages_are_named_with_a_rule_that_is_read() {
        for (begin, language, nearest) in UNREAD {
            let text = format!("# a comment\n  {begin}x 20\n");
            let error = parse_rules(&text, "name", None, &RuleFiles::default()).expect_err(&text);
            assert!(error.message.contains(language), "{text}: {error}");
            assert!(text[error.range.clone()].starts_with(begin), "{text}: {error:?}");
            parse_rules(nearest, "name", None, &RuleFiles::default()).expect(nearest);
        }
    }

    #[test]
    fn slips_are_named() {
        for (text, nearest) in [
            ("limt_req_zone $a zone=b:1m rate=1r/s;", "limit_req_zone"),
            ("[a]\nfailrgex = x", "failregex"),
            ("DOSPageCoun 5", "DOSPageCount"),
        ] {
            let error = parse_rules(text, "name", None, &RuleFiles::default()).expect_err(text);
            assert!(error.message.contains(&format!("the nearest is `{nearest}`")), "{error}");
        }
        for word in ALSO_READ {
            assert!(error(word).message.contains(word), "{word}");
        }
    }

    #[test]
    fn what_a_part_of_a_rule_lacks_is_shown() {
        for (names, language, whole) in READ {
            parse_rules(whole, "name", None, &RuleFiles::default()).expect(whole);
            for name in names {
                let error = error(&format!("# a comment\n{name} = 1"));
                assert!(error.message.contains(language), "{name}: {error}");
                assert!(error.message.ends_with(whole), "{name}: {error}");
            }
        }
    }

    #[test]
    fn other_texts_are_none_of_the_languages() {
        for text in ["", "hello world", "{", "}", ";", "a: [", "\u{0}", "server", "fn main() {}"] {
            let error = parse_rules(text, "name", None, &RuleFiles::default()).expect_err(text);
            assert!(error.message.starts_with("this is none of the languages"), "{text}: {error}");
        }
        for text in ["server { listen 80; }", "# x\nhttp {\n}"] {
            assert!(is_of_nginx(text), "{text}");
            let error = parse_rules(text, "name", None, &RuleFiles::default()).expect_err(text);
            assert!(error.message.starts_with("there is no `limit_req` in it"), "{text}: {error}");
        }
    }
}
