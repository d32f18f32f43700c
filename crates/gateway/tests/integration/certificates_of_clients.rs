//! Certificates that clients present to the gateway.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, SanType, string::Ia5String};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use weir_gateway::Config;

use crate::backends::{Backend, answer_with};
use crate::certificates::{Authority, Folder};
use crate::gate::{Gate, PATIENCE, body, status};

/// A certificate and its key.
type Pair = (CertificateDer<'static>, Vec<u8>);

/// A gateway at a TLS address, and the authority of its clients.
struct Site {
    folder: Folder,
    servers: Authority,
    clients: Authority,
    tls: String,
    backend: Backend,
}

impl Site {
    async fn new(mode: &str) -> Self {
        let (folder, servers, clients) = (Folder::new(), Authority::new(), Authority::new());
        let (certificate, key) = servers.issue("127.0.0.1");
        let certificate = folder.write("gate.pem", "CERTIFICATE", &certificate);
        let key = folder.write("gate.key", "PRIVATE KEY", &key);
        let authority = folder.write("clients.pem", "CERTIFICATE", &clients.certificate);
        let tls = format!(
            "tls = {{ certificate = {certificate:?}, key = {key:?}, client_ca_file = {authority:?}, \
             client_certificates = \"{mode}\" }}\n"
        );
        let backend = Backend::answering(answer_with).await;
        Self { folder, servers, clients, tls, backend }
    }

    async fn gate(&self, more: &str) -> Gate {
        Gate::start_at("tls://127.0.0.1:0", &self.config(more)).await
    }

    /// `more` is for the route.
    fn config(&self, more: &str) -> String {
        format!("{}{}{more}\n", self.tls, self.backend.config())
    }

    /// A certificate of a service, with a URI as its name.
    fn service(&self, name: &str) -> Pair {
        self.clients.issue_as("billing.internal", |it| name_service(it, name))
    }

    async fn connect(
        &self,
        gate: &Gate,
        pair: Option<&Pair>,
        version: &'static SupportedProtocolVersion,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.servers.certificate.clone()).expect("an authority");
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(roots);
        let config = match pair {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => config
                .with_client_auth_cert(
                    vec![certificate.clone()],
                    PrivatePkcs8KeyDer::from(key.clone()).into(),
                )
                .expect("a pair"),
        };
        let tcp = TcpStream::connect(gate.address).await?;
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, tcp).await
    }

    /// Sends a request with a forged field, and returns the whole answer; the kind of the error if
    /// the gateway refuses the connection.
    async fn get(&self, gate: &Gate, pair: Option<&Pair>) -> String {
        self.get_over(gate, pair, &TLS13).await
    }

    async fn get_over(
        &self,
        gate: &Gate,
        pair: Option<&Pair>,
        version: &'static SupportedProtocolVersion,
    ) -> String {
        let exchange = async {
            let mut stream = self.connect(gate, pair, version).await?;
            let request = "GET / HTTP/1.1\r\nHost: gate\r\nClient-Cert: :forged:\r\n\
                           X-Client: forged\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        let answer = tokio::time::timeout(PATIENCE, exchange).await.expect("it ends");
        answer.unwrap_or_else(|error| format!("refused: {error}"))
    }
}

fn name_service(parameters: &mut CertificateParams, name: &str) {
    let uri = Ia5String::try_from(format!("spiffe://shop/{name}")).expect("ASCII");
    parameters.subject_alt_names.push(SanType::URI(uri));
    parameters.distinguished_name.push(DnType::CommonName, name);
}

/// A header field of the request that the backend has received.
fn received<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let prefix = format!("{name}: ");
    body(answer).lines().find_map(|line| line.strip_prefix(&*prefix))
}

const ASKED: &str = "client_certificate = \"required\"\n\
    forward_certificate = { Client-Cert = \"certificate\", X-Client = \"subject\", X-Names = \"names\" }";

#[tokio::test]
async fn the_handshake_verifies_certificates() {
    let day = |count: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(count * 86_400);
    for (mode, answer_to_none) in
        [("required", "refused: received fatal alert: "), ("optional", "HTTP/1.1 403")]
    {
        let site = Site::new(mode).await;
        let gate = site.gate(ASKED).await;
        let right = site.service("billing");
        let other = Authority::new().issue_as("x", |it| name_service(it, "billing"));
        let expired = site.clients.issue_as("x", |it| it.not_after = day(20_000).into());
        let early = site.clients.issue_as("x", |it| it.not_before = day(40_000).into());
        for version in [&TLS12, &TLS13] {
            for (pair, expected) in [
                (None, answer_to_none),
                (Some(&right), "HTTP/1.1 200"),
                (Some(&other), "refused: received fatal alert: "),
                (Some(&expired), "refused: received fatal alert: CertificateExpired"),
                (Some(&early), "refused: received fatal alert: CertificateExpired"),
            ] {
                let answer = site.get_over(&gate, pair, version).await;
                assert!(answer.starts_with(expected), "{mode}, {expected}: {answer}");
            }
        }
    }
}

#[tokio::test]
async fn the_backend_learns_the_certificate() {
    let site = Site::new("optional").await;
    let gate = site.gate(ASKED).await;
    let pair = site.clients.issue_as("billing.internal", |it| {
        it.distinguished_name.push(DnType::CommonName, "billing, \"ü\"");
    });
    let answer = site.get(&gate, Some(&pair)).await;
    let certificate = format!(":{}:", STANDARD.encode(&pair.0));
    assert_eq!(received(&answer, "client-cert"), Some(&*certificate));
    assert_eq!(received(&answer, "x-client"), Some("CN=billing\\, \\\"\\C3\\BC\\\""));
    assert_eq!(received(&answer, "x-names"), Some("billing.internal"));
    // A server would read this name as two.
    let pair = site.service("billing,orders");
    let answer = site.get(&gate, Some(&pair)).await;
    assert_eq!((status(&answer), body(&answer)), ("403", "there is no service for you here\n"));
}

#[tokio::test]
async fn only_the_gateway_states_a_certificate() {
    let site = Site::new("optional").await;
    let gate = site.gate(&ASKED.replace("client_certificate = \"required\"", "")).await;
    let (with, without) =
        (site.get(&gate, Some(&site.service("billing"))).await, site.get(&gate, None).await);
    assert_eq!(received(&with, "x-client"), Some("CN=billing"));
    assert_eq!(received(&with, "x-names"), Some("billing.internal,spiffe://shop/billing"));
    assert_eq!(status(&without), "200");
    assert!(!without.contains("forged") && !with.contains("forged"), "{without}{with}");
    let rows = gate.rows(2).await;
    let subjects: Vec<_> = rows.iter().map(|row| row.get("ssl_client_s_dn")).collect();
    assert_eq!(subjects, [Some(&"CN=billing".to_owned()), None]);
}

#[tokio::test]
async fn a_route_accepts_some_names() {
    let site = Site::new("optional").await;
    let names = "client_certificate = \"required\"\n\
                 client_names = [\"spiffe://shop/billing\", \"CN=orders\"]";
    let gate = site.gate(names).await;
    for (name, expected) in [("billing", "200"), ("orders", "200"), ("returns", "403")] {
        let answer = site.get(&gate, Some(&site.service(name))).await;
        assert_eq!(status(&answer), expected, "{name}: {answer}");
    }
    let answer = site.get(&gate, None).await;
    assert_eq!(body(&answer), "a client certificate is needed here\n");
    let rows = gate.rows(4).await;
    let ends: Vec<&str> = rows.iter().map(|row| &*row["outcome"]).collect();
    let expected = ["answered", "answered", "other_client_certificate", "no_client_certificate"];
    assert_eq!(ends, expected);
    assert_eq!(rows[2]["ssl_client_s_dn"], "CN=returns");
}

/// A name counts only as what it is: whoever may choose one kind of name cannot pass as another.
#[tokio::test]
async fn names_of_other_kinds_are_other_names() {
    let site = Site::new("optional").await;
    for (name, expected) in [
        ("dns:billing.internal", "200"),
        ("billing.internal", "200"),
        ("uri:billing.internal", "403"),
        ("subject:billing.internal", "403"),
        ("uri:spiffe://shop/billing", "200"),
        ("dns:spiffe://shop/billing", "403"),
        ("subject:CN=billing", "200"),
        ("dns:CN=billing", "403"),
    ] {
        let lines = format!("client_certificate = \"required\"\nclient_names = [\"{name}\"]");
        let gate = site.gate(&lines).await;
        let answer = site.get(&gate, Some(&site.service("billing"))).await;
        assert_eq!(status(&answer), expected, "{name}: {answer}");
    }
}

/// Requests on one connection before and after the end of its certificate, at a gateway with this mode
/// of `client_certificates` and these lines of its route.
async fn statuses_around_the_end(mode: &str, route: &str) -> [String; 2] {
    let site = Site::new(mode).await;
    let gate = site.gate(route).await;
    let end = SystemTime::now() + Duration::from_secs(4);
    let pair = site.clients.issue_as("x", |it| it.not_after = end.into());
    let mut stream = site.connect(&gate, Some(&pair), &TLS13).await.expect("a connection");
    let mut ask = async || {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: gate\r\n\r\n").await.expect("open");
        let mut answer = vec![0; 4096];
        let bytes = stream.read(&mut answer).await.expect("an answer");
        status(&String::from_utf8_lossy(&answer[..bytes])).to_owned()
    };
    let before = ask().await;
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(5)).await;
    [before, ask().await]
}

#[tokio::test]
async fn a_certificate_counts_until_its_end() {
    let guarded = "client_certificate = \"required\"";
    let (of_route, of_listener) = tokio::join!(
        statuses_around_the_end("optional", guarded),
        statuses_around_the_end("required", ""),
    );
    assert_eq!(of_route, ["200", "403"]);
    assert_eq!(of_listener, ["200", "403"], "the route itself asks for none");
}

#[tokio::test]
async fn replaced_authorities_count_for_the_next_connection() {
    let site = Site::new("required").await;
    let gate = site.gate("").await;
    let (old, next) = (site.service("billing"), Authority::new());
    let new = next.issue("billing");
    assert_eq!(status(&site.get(&gate, Some(&old)).await), "200");
    site.folder.write("clients.pem", "CERTIFICATE", &next.certificate);
    assert!(site.get(&gate, Some(&old)).await.starts_with("refused"));
    assert_eq!(status(&site.get(&gate, Some(&new)).await), "200");
    // What cannot be used changes nothing.
    site.folder.write("clients.pem", "CERTIFICATE", b"none");
    assert_eq!(status(&site.get(&gate, Some(&new)).await), "200");
    assert!(site.get(&gate, None).await.starts_with("refused"));
}

#[tokio::test]
async fn a_limit_counts_by_certificate() {
    let site = Site::new("optional").await;
    let rules = site.folder.write("limits.conf", "RULES", b"");
    std::fs::write(&rules, "limit 2 in 1m by ssl_client_s_dn\n").expect("written");
    let limit = format!("[[limits]]\nrule_file = {rules:?}\nmode = \"enforce\"");
    let gate = site.gate(&limit).await;
    for (name, expected) in [("billing", ["200", "200", "429"]), ("orders", ["200", "200", "429"])]
    {
        let pair = site.service(name);
        for expected in expected {
            assert_eq!(status(&site.get(&gate, Some(&pair)).await), expected, "{name}");
        }
    }
}

#[tokio::test]
async fn mistakes_have_their_place() {
    let site = Site::new("required").await;
    let good = site.config(ASKED);
    let without_clients = {
        let start = site.tls.find(", client_ca_file").expect("it is there");
        good.replace(&site.tls[start..site.tls.len() - 3], "")
    };
    for (text, expected) in [
        (good.clone(), ""),
        (without_clients, "`client_certificate` needs client_ca_file = \"clients.pem\" in `tls`"),
        (
            good.replace("= \"required\" }", "= \"sometimes\" }"),
            "write \"required\" or \"optional\"",
        ),
        (good.replace("clients.pem", "gate.key"), "it holds no certificate in PEM"),
        (good.replace("clients.pem", "absent.pem"), "absent.pem"),
        (good.replace("certificate = \"required\"", "certificate = \"optional\""), "leave it out"),
        (good.replace("\"subject\"", "\"issuer\""), "`issuer` is not a part of a certificate"),
        (good.replace("X-Client =", "Host ="), "`Host` is not a header field that can be set"),
        (good.replace("X-Client =", "client-cert ="), "`client-cert` is set twice"),
        (
            good.replace(ASKED, "client_names = [\"x\"]"),
            "`client_names` needs client_certificate = \"required\"",
        ),
        (good.replace(ASKED, &format!("{ASKED}\nclient_names = []")), "the list is empty"),
        (
            good.replace(ASKED, &format!("{ASKED}\nclient_names = [\"a b\"]")),
            "`a b` may be a name of several kinds, or of none; write \"subject:...\", \"dns:...\"",
        ),
        (
            good.replace(
                ASKED,
                &format!("{ASKED}\nrequest_fields = {{ set = {{ X-Client = \"1\" }} }}"),
            ),
            "`x-client` is in `forward_certificate` too",
        ),
    ] {
        let text = format!("listen = [\"tls://127.0.0.1:0\"]\n{text}");
        let found = match Config::parse(&text, Path::new("/")) {
            Ok(_) => String::new(),
            Err(problems) => problems.iter().map(|it| format!("{it}\n")).collect(),
        };
        assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found}");
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn routes_with_certificates_are_guarded() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let file = folder.write("ca.pem", "CERTIFICATE", &authority.certificate);
    let (certificate, key) = authority.issue("x");
    let certificate = folder.write("x.pem", "CERTIFICATE", &certificate);
    let key = folder.write("x.key", "PRIVATE KEY", &key);
    let warnings = |mode: &str, route: &str| {
        let text = format!(
            "listen = [\"tls://127.0.0.1:0\"]\ntls = {{ certificate = {certificate:?}, key = {key:?}, \
             client_ca_file = {file:?}, client_certificates = \"{mode}\" }}\n[backends.one]\n\
             instances = [\"http://127.0.0.1:1\"]\npaths = \"strict\"\n[[routes]]\npath = \"/\"\n\
             backend = \"one\"\n{route}\n"
        );
        let config = Config::parse(&text, Path::new("/")).expect("a configuration");
        config.warnings.iter().map(|it| format!("{it}\n")).collect::<String>()
    };
    assert!(warnings("optional", "").contains("EVERYTHING IS ALLOWED"));
    assert_eq!(warnings("optional", "client_certificate = \"required\""), "");
    assert_eq!(warnings("required", ""), "");
}
