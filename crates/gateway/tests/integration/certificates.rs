//! Certificates and their files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::pki_types::CertificateDer;

/// A folder of certificates, which is removed at the end of the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-client-certificates-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    pub(crate) fn write(&self, name: &str, kind: &str, der: &[u8]) -> String {
        let path = self.0.join(name);
        let text = STANDARD.encode(der);
        let pem = format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n");
        std::fs::write(&path, pem).expect("written");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The folder is for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key).expect("a certificate").der().clone();
        Self { certificate, issuer: Issuer::new(parameters, key) }
    }

    /// A certificate with this name and its key, in DER.
    pub(crate) fn issue(&self, name: &str) -> (CertificateDer<'static>, Vec<u8>) {
        self.issue_as(name, |_| ())
    }

    /// Like [`issue`](Self::issue), with changes.
    pub(crate) fn issue_as(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (CertificateDer<'static>, Vec<u8>) {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new([name.to_owned()]).expect("a name");
        change(&mut parameters);
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.der().clone(), key.serialize_der())
    }
}
