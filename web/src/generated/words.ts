// Generated from crates/view by `cargo xtask types`; do not edit.

/** The value that stands for records without the field. */
export const NO_VALUE = "(none)";

/** What is shown in place of an empty value. */
export const EMPTY_VALUE = "(empty)";

/** The value that stands for all values beyond the most frequent ones. */
export const REMAINDER_VALUE = "(all other values)";

/** The field with the class of the status. */
export const STATUS_CLASS = "status_class";

/** The status class of records without a valid status. */
export const NO_STATUS_CLASS = "other";

/** The titles of the top lists by field. Other lists have the field's name for a title. */
export const LIST_TITLES: Record<string, string> = {
  path: "Paths",
  client: "Clients",
  status: "Status",
  method: "Methods",
  host: "Hosts",
  referer: "Referers",
  user_agent: "User agents",
  request: "Malformed requests",
  query: "Query strings",
  user: "Users",
  protocol: "Protocols",
  message: "Messages",
  level: "Levels",
  action: "Actions",
};

/** The titles of the durations by field, in the order in which a report shows them. */
export const DURATION_TITLES = {
  request_time: "Request time",
  upstream_time: "Upstream time",
  wait_time: "Wait time",
  upstream_connect_time: "Upstream connect time",
  upstream_header_time: "Upstream header time",
  body_time: "Body time",
} as const;

/** The names of the known formats. */
export const FORMATS = [
  "VMAIN",
  "VCOMBINED",
  "VCOMMON",
  "COMBINED",
  "COMMON",
  "VARNISHNCSA",
  "PROXYCOMMON",
  "VIRTUALMIN",
  "BUNKERWEB",
  "LIGHTTPD",
  "GANDI",
  "KINSTA",
  "OVHCDN",
  "MAIN",
  "COMBINEDTIME",
  "ICECAST",
  "INGRESSNGINX",
  "INGRESSNGINX2019",
  "INGRESSNGINX2018",
  "NPM",
  "NPMSTANDARD",
  "NPMPLUS",
  "LITESPEED",
  "CPANEL",
  "JIRA",
  "CONFLUENCE711",
  "CONFLUENCE",
  "SSLREQUEST",
  "TRAEFIKCLF",
  "ENVOY",
  "ISTIO",
  "ISTIOMIXER",
  "HAPROXY",
  "HAPROXYTCP",
  "UWSGI",
  "DJANGO",
  "UVICORN",
  "GIN",
  "HEROKU",
  "PHPFPM",
  "BITBUCKET",
  "SQUID",
  "AWSALB",
  "AWSELB",
  "AWSNLB",
  "AWSS3",
  "CLOUDFRONT",
  "CLOUDFRONTREALTIME",
  "AZURESTORAGE",
  "W3C",
  "CLOUDSTORAGE",
  "CADDY",
  "CADDYCONSOLE",
  "TRAEFIK",
  "CLOUDFLARE",
  "AWSWAF",
  "AZUREGATEWAY",
  "ENVOYJSON",
  "HAPROXYJSON",
  "GITLABWORKHORSE",
  "WEIRGATEWAY",
  "GOOGLECLOUD",
  "AZUREFRONTDOOR",
  "AZUREGATEWAYV1",
  "AKAMAI",
  "AKAMAICLOUDMONITOR",
  "KONG",
  "PINO",
  "SURICATA",
  "MODSECURITYJSON",
  "HAR",
  "DATADOG",
  "AWSS3JSON",
  "GROKJSON",
  "JSONREQUEST",
  "JSON",
  "LTSV",
  "LOGRAGE",
  "LOGFMT",
  "NGINXERROR",
  "APACHEERROR",
  "APACHESYSLOG",
  "LIGHTTPDERROR",
  "FIREWALL",
  "FAIL2BAN",
  "CROWDSEC",
  "CROWDSECALERTS",
];

/** The names of what may wrap each line of a log. */
export const WRAPPERS = [
  "SYSLOG",
  "DOCKER",
  "CRI",
];
