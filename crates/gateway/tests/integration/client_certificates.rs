//! The certificate by which the gateway names itself to a backend.

use std::path::Path;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use weir_gateway::Config;

use crate::backends::{Backend, answer_with, read_request};
use crate::certificates::{Authority, Folder};
use crate::gate::{Gate, body, status};

/// A server that answers clients with a certificate of an authority: with that certificate's
/// length.
async fn server(authority: &Authority) -> Backend {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.clone()).expect("an authority");
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let (certificate, key) = authority.issue("127.0.0.1");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(vec![certificate], PrivatePkcs8KeyDer::from(key).into())
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Backend::start(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let sent = stream.get_ref().1.peer_certificates().expect("one")[0].len();
            while read_request(&mut stream).await.is_some() {
                let _ = stream.write_all(answer_with(&sent.to_string()).as_bytes()).await;
                let _ = stream.flush().await;
            }
        }
    })
    .await
}

fn config(address: &str, authority: &str, more: &str) -> String {
    format!(
        "[backends.one]\ninstances = [\"https://{address}\"]\nca_file = {authority:?}\n{more}\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\n"
    )
}

#[tokio::test]
async fn a_backend_may_ask_for_a_certificate() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let ca = folder.write("ca.pem", "CERTIFICATE", &authority.certificate);
    let backend = server(&authority).await;
    let address = backend.address.to_string();
    let (mine, key) = authority.issue("gateway.example");
    let (other, other_key) = Authority::new().issue("gateway.example");
    let files = |name: &str, certificate: &[u8], key: &[u8]| {
        let certificate = folder.write(&format!("{name}.pem"), "CERTIFICATE", certificate);
        let key = folder.write(&format!("{name}.key"), "PRIVATE KEY", key);
        format!("client_certificate = {{ certificate = {certificate:?}, key = {key:?} }}")
    };
    let good = config(&address, &ca, &files("mine", &mine, &key));
    let gate = Gate::start(&good).await;
    let answer = gate.get("/").await;
    assert_eq!((status(&answer), body(&answer)), ("200", mine.len().to_string().as_str()));
    // Without one, or with one of another authority, the backend refuses the connection.
    for more in [String::new(), files("other", &other, &other_key)] {
        gate.reload(&config(&address, &ca, &more));
        assert_eq!(status(&gate.get("/").await), "502", "{more}");
    }
    gate.reload(&good);
    assert_eq!(status(&gate.get("/").await), "200");
}

#[test]
fn files_of_a_certificate_are_checked() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let ca = folder.write("ca.pem", "CERTIFICATE", &authority.certificate);
    let [one, other] = ["one", "other"].map(|name| {
        let (certificate, key) = authority.issue(name);
        let certificate = folder.write(&format!("{name}.pem"), "CERTIFICATE", &certificate);
        [certificate, folder.write(&format!("{name}.key"), "PRIVATE KEY", &key)]
    });
    for (certificate, key, scheme, expected) in [
        (&*one[0], &*one[1], "https", ""),
        (
            &one[0],
            &other[1],
            "https",
            "client_certificate.certificate: the certificate and the key",
        ),
        (&one[1], &one[1], "https", "cannot be used: it has no certificate"),
        (&one[0], &one[0], "https", "client_certificate.key: "),
        ("/nowhere/x", &one[1], "https", "/nowhere/x cannot be used"),
        (&one[0], "/nowhere/x", "https", "/nowhere/x cannot be used"),
        (&one[0], &one[1], "http", "has no effect without https instances"),
    ] {
        let more =
            format!("client_certificate = {{ certificate = {certificate:?}, key = {key:?} }}");
        let text = config("127.0.0.1:1", &ca, &more).replace("https://", &format!("{scheme}://"));
        let text = format!("listen = [\"127.0.0.1:0\"]\n{text}");
        let found = match Config::parse(&text, Path::new("/")) {
            Ok(_) => String::new(),
            Err(problems) => problems.iter().map(|it| format!("{it}\n")).collect(),
        };
        assert_eq!(found.is_empty(), expected.is_empty(), "{more}: {found}");
        assert!(found.contains(expected), "{more}: {found}");
    }
}
