//! Header fields by which gateways tell a backend who the client is, where it comes from, or which
//! path and method it meant. A client's own value is removed.
//!
//! Sources: RFC 7239, RFC 9440, and the manuals of Apache (`mod_ssl`, `mod_auth_openidc`), nginx
//! (`X-Accel-*`), Envoy, Kong, Traefik, oauth2-proxy, Authentik, Pomerium, Vouch, Grafana
//! (`auth.proxy`), Tailscale, Cloudflare, Fastly, Akamai, and of the load balancers of Amazon, Google
//! and Microsoft. `Proxy` becomes `HTTP_PROXY` in CGI (CVE-2016-5385).

/// Whether a field is removed from what clients send. So are fields with an underscore or other marks
/// in their names: servers that follow CGI (RFC 3875 section 4.1.18) cannot distinguish them from names
/// with a hyphen.
pub(crate) fn is_identity_field(name: &str) -> bool {
    let before = PREFIXES.partition_point(|prefix| *prefix <= name);
    let may_begin = before.checked_sub(1).and_then(|index| PREFIXES.get(index));
    may_begin.is_some_and(|prefix| name.starts_with(prefix))
        || NAMES.binary_search(&name).is_ok()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Sorted.
const NAMES: [&str; 67] = [
    "ali-cdn-real-ip",
    "authorization-user",
    "cdn-src-ip",
    "client-cert",
    "client-cert-chain",
    "client-ip",
    "cluster-client-ip",
    "fastly-client-ip",
    "forwarded",
    "front-end-https",
    "iv-groups",
    "iv-user",
    "proxy",
    "proxy-client-ip",
    "true-client-ip",
    "true-client-port",
    "wl-proxy-client-ip",
    "x-access-token-subject",
    "x-anonymous-consumer",
    "x-arr-clientcert",
    "x-auth-email",
    "x-auth-groups",
    "x-auth-roles",
    "x-auth-subject",
    "x-auth-user",
    "x-client-cert",
    "x-client-dn",
    "x-client-ip",
    "x-client-verified",
    "x-client-verify",
    "x-cluster-client-ip",
    "x-coming-from",
    "x-credential-identifier",
    "x-email",
    "x-endpoint-api-userinfo",
    "x-forwarded",
    "x-groups",
    "x-host",
    "x-http-host-override",
    "x-http-method",
    "x-http-method-override",
    "x-id-token",
    "x-identity",
    "x-method-override",
    "x-originating-ip",
    "x-principal",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-rewrite-url",
    "x-role",
    "x-roles",
    "x-script-name",
    "x-sendfile",
    "x-subject",
    "x-token-subject",
    "x-url-scheme",
    "x-user",
    "x-user-email",
    "x-user-groups",
    "x-user-id",
    "x-user-name",
    "x-user-role",
    "x-user-roles",
    "x-userid",
    "x-userinfo",
    "x-username",
    "x-verified-user",
];

/// What further names begin with, sorted. None begins with another.
const PREFIXES: [&str; 36] = [
    "cf-access-",
    "cf-client-cert-",
    "cf-connecting-",
    "impersonate-",
    "oidc-claim-",
    "remote-",
    "shib-",
    "ssl-client-",
    "tailscale-user-",
    "x-accel-",
    "x-amzn-mtls-",
    "x-amzn-oidc-",
    "x-apigateway-api-",
    "x-appengine-user-",
    "x-auth-request-",
    "x-authenticated-",
    "x-authentik-",
    "x-azure-client",
    "x-azure-socket",
    "x-azure-user",
    "x-consumer-",
    "x-envoy-",
    "x-forwarded-",
    "x-goog-authenticated-user-",
    "x-goog-iap-",
    "x-jwt-",
    "x-ms-client-principal",
    "x-ms-token-",
    "x-oidc-",
    "x-original-",
    "x-pomerium-",
    "x-remote-",
    "x-saml-",
    "x-ssl-client-",
    "x-vouch-",
    "x-webauth-",
];

#[cfg(test)]
mod tests {
    use super::{NAMES, PREFIXES, is_identity_field};

    #[test]
    fn the_tables_can_be_searched() {
        assert!(NAMES.is_sorted() && PREFIXES.is_sorted());
        for pair in PREFIXES.windows(2) {
            assert!(!pair[1].starts_with(pair[0]), "{pair:?}");
        }
        for name in NAMES {
            assert!(!PREFIXES.iter().any(|prefix| name.starts_with(prefix)), "{name}");
        }
    }

    #[test]
    fn fields_that_state_an_identity_are_known() {
        for name in [
            "x-forwarded-for",
            "x-webauth-user",
            "client-cert",
            "client-cert-chain",
            "tailscale-user-login",
            "remote-user",
            "x-remote-user",
            "cf-connecting-ipv6",
            "x-ms-client-principal-id",
            "x_user",
            "x.user",
            "proxy",
        ] {
            assert!(is_identity_field(name), "{name}");
        }
        for name in [
            "accept",
            "authorization",
            "cookie",
            "host",
            "origin",
            "referer",
            "user-agent",
            "x-api-key",
            "x-csrf-token",
            "x-requested-with",
            "x-tenant",
            "proxy-status",
            "x-amz-date",
            "x-goog-api-key",
            "sec-fetch-user",
            "x",
            "zzz",
        ] {
            assert!(!is_identity_field(name), "{name}");
        }
    }

    /// The list in the documents is this one.
    #[test]
    fn the_fields_are_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gateway.md");
        let text = std::fs::read_to_string(path).expect("the document").to_ascii_lowercase();
        let missing = |written: String| (!text.contains(&written)).then_some(written);
        let names = NAMES.iter().map(|name| format!("`{name}`"));
        let prefixes = PREFIXES.iter().map(|prefix| format!("`{prefix}*`"));
        let missing: Vec<String> = names.chain(prefixes).filter_map(missing).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
