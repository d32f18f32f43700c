//! The TLS configuration of a listener.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{ConfigBuilder, RootCertStore, ServerConfig, WantsVerifier};
use weir_sync::Lock;

use super::address::Address;
use super::certificate::{ReloadingCertificate, not_pem, unusable};
use super::error::BindError;
use super::file_state::{FileState, FileWatch};
use super::options::{BindOptions, ClientCertificates};

/// The ALPN names of the protocols of a web server (RFC 7301), the preferred one first.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// The TLS acceptors of a listener.
#[derive(Clone)]
pub(crate) enum Acceptors {
    Fixed(AcceptorPair),
    /// Those of a listener that asks for certificates, whose authorities may change.
    Reloading(Arc<ReloadingAcceptors>),
}

/// The acceptors of one configuration.
#[derive(Clone)]
pub(crate) struct AcceptorPair {
    /// For any protocol. The client's ALPN list is ignored.
    pub(crate) any: TlsAcceptor,
    /// For HTTP. The client chooses the version by ALPN.
    pub(crate) http: TlsAcceptor,
}

impl Acceptors {
    /// The acceptors for the next connection.
    pub(crate) fn current(&self) -> AcceptorPair {
        match self {
            Self::Fixed(pair) => pair.clone(),
            Self::Reloading(acceptors) => acceptors.current(),
        }
    }
}

/// Creates the acceptors, with the certificate from the files or the self-signed one. Fails if
/// there is no certificate, a file is missing or malformed, or the key does not match the
/// certificate.
pub(crate) fn acceptors(address: &Address, options: &BindOptions) -> Result<Acceptors, BindError> {
    let provider = Arc::new(default_provider());
    let certificate: Arc<dyn ResolvesServerCert> = match (&options.tls, &options.self_signed) {
        (Some(files), _) => Arc::new(ReloadingCertificate::read(files.clone(), provider.clone())?),
        (None, Some(certificate)) => Arc::new(FixedCertificate(certificate.key.clone())),
        (None, None) => return Err(BindError::NoCertificate(address.clone())),
    };
    let versions =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = versions.map_err(|error| BindError::Io {
        address: address.clone(),
        error: io::Error::other(error),
    })?;
    match &options.client_certificates {
        None => {
            let config = builder.with_no_client_auth().with_cert_resolver(certificate);
            Ok(Acceptors::Fixed(AcceptorPair::new(config)))
        }
        Some(clients) => {
            let acceptors = ReloadingAcceptors::read(builder, certificate, clients.clone())?;
            Ok(Acceptors::Reloading(Arc::new(acceptors)))
        }
    }
}

impl AcceptorPair {
    fn new(mut config: ServerConfig) -> Self {
        // The server's order counts, because a client may prefer a weak cipher. The first is the
        // best.
        config.ignore_client_order = true;
        // A client that only sends would close with an unread session ticket. That resets the
        // connection, and its last bytes are lost.
        config.send_tls13_tickets = 0;
        let mut http = config.clone();
        http.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        let [any, http] = [config, http].map(|config| TlsAcceptor::from(Arc::new(config)));
        Self { any, http }
    }
}

/// Acceptors that ask for certificates of clients, and follow the file of the authorities.
pub(crate) struct ReloadingAcceptors {
    builder: ConfigBuilder<ServerConfig, WantsVerifier>,
    certificate: Arc<dyn ResolvesServerCert>,
    clients: ClientCertificates,
    last: Lock<(AcceptorPair, FileWatch<1>)>,
}

impl ReloadingAcceptors {
    fn read(
        builder: ConfigBuilder<ServerConfig, WantsVerifier>,
        certificate: Arc<dyn ResolvesServerCert>,
        clients: ClientCertificates,
    ) -> Result<Self, BindError> {
        let watch = FileWatch::new([FileState::read(&clients.authorities)]);
        let pair = acceptor_pair(&builder, &certificate, &clients)?;
        Ok(Self { builder, certificate, clients, last: Lock::new((pair, watch)) })
    }

    /// The acceptors with the authorities in the file, or the last ones that could be used.
    fn current(&self) -> AcceptorPair {
        let mut last = self.last.lock();
        let path = &self.clients.authorities;
        let (states, now) = ([FileState::read(path)], Instant::now());
        let (pair, watch) = &mut *last;
        if watch.is_outdated(&states, now) {
            let file = &*path.to_string_lossy();
            match acceptor_pair(&self.builder, &self.certificate, &self.clients) {
                Ok(read) => {
                    (*pair, *watch) = (read, FileWatch::new(states));
                    tracing::info!(
                        target: "weir_net",
                        file,
                        "{file}: the authorities of clients were read again"
                    );
                }
                Err(error) => {
                    if watch.note_failure(states, now) {
                        tracing::warn!(
                            target: "weir_net",
                            file,
                            "{file}: the authorities of clients have changed and cannot be used, so \
                             the last ones stay: {error}"
                        );
                    }
                }
            }
        }
        pair.clone()
    }
}

fn acceptor_pair(
    builder: &ConfigBuilder<ServerConfig, WantsVerifier>,
    certificate: &Arc<dyn ResolvesServerCert>,
    clients: &ClientCertificates,
) -> Result<AcceptorPair, BindError> {
    let builder = builder.clone().with_client_cert_verifier(clients.verifier()?);
    let mut config = builder.with_cert_resolver(certificate.clone());
    // A resumed session would not verify the certificate again.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(AcceptorPair::new(config))
}

impl ClientCertificates {
    /// Reads the file of the authorities, and discards what it holds.
    ///
    /// # Errors
    /// If it is missing or malformed, or holds no certificate.
    pub fn check(&self) -> Result<(), BindError> {
        self.verifier().map(drop)
    }

    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, BindError> {
        let path = &self.authorities;
        let authorities = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| not_pem(path, "certificate", error))?;
        if authorities.is_empty() {
            return Err(not_pem(path, "certificate", pem::Error::NoItemsFound));
        }
        let mut roots = RootCertStore::empty();
        for (index, authority) in authorities.into_iter().enumerate() {
            roots.add(authority).map_err(|_| {
                unusable(path, format!("its certificate {} is malformed", index + 1))
            })?;
        }
        let provider = Arc::new(default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let builder = if self.are_required { builder } else { builder.allow_unauthenticated() };
        builder.build().map_err(|error| unusable(path, error.to_string()))
    }
}

/// A certificate that never changes.
#[derive(Debug)]
struct FixedCertificate(Arc<CertifiedKey>);

impl ResolvesServerCert for FixedCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}
