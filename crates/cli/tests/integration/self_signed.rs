//! `--tls-self-signed`: the fingerprint that is printed is that of the certificate which clients
//! get.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use crate::support::{Served, weir};

/// Accepts any certificate, as a person does who will compare its fingerprint.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the SHA-256 fingerprint of the certificate of a server, as browsers show it.
async fn fingerprint(host: &str) -> String {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    let stream = TcpStream::connect(host).await.expect("the server listens");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let stream = stream.expect("a handshake");
    let certificates = stream.get_ref().1.peer_certificates().expect("a certificate");
    let bytes: Vec<String> =
        Sha256::digest(&certificates[0]).iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

#[tokio::test]
async fn the_printed_fingerprint_is_that_of_the_certificate() {
    let arguments = ["--no-open", "--listen", "tls://127.0.0.1:0", "--tls-self-signed"];
    let mut command = weir(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut served = Served(command.spawn().expect("the binary runs"));
    let mut read_line = |is_stderr: bool| {
        let mut line = String::new();
        match is_stderr {
            true => BufReader::new(served.0.stderr.take().expect("a pipe")).read_line(&mut line),
            false => BufReader::new(served.0.stdout.take().expect("a pipe")).read_line(&mut line),
        }
        .expect("a line");
        line.trim_end().to_owned()
    };
    let (printed, address) = (read_line(true), read_line(false));
    let host = address.strip_prefix("https://").expect("TLS");
    let host = host.split('/').next().expect("a host");
    let expected = fingerprint(host).await;
    let printed = printed.strip_prefix("weir: SHA-256 fingerprint of the certificate: ");
    assert_eq!(printed, Some(&expected[..]));
}
