//! The gateway: listens, and answers each request from a backend.

use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use weir_net::socket::{Address, BindError, BindOptions, Listener, TlsFiles};
use weir_net::{Body, Client, Scheme, ServeOptions, Server};

use crate::authorize::{authorize, claim_text};
use crate::backend::{Backend, watch};
use crate::config::{Config, Target};
use crate::forward::{Forwarded, Origination, forward};
use crate::record::{OpenRecord, Recorder};
use crate::routing::Routing;
use crate::token::{TokenRefusal, TokenVerifier, VerifiedBy, VerifiedToken};

/// A gateway on listening sockets that does not accept connections yet.
#[derive(Debug)]
pub struct Gateway {
    server: Server,
    shared: Arc<Shared>,
}

/// Replaces the configuration of a running gateway.
#[derive(Debug, Clone)]
pub struct GatewayHandle(Arc<Shared>);

/// What all requests share.
#[derive(Debug)]
struct Shared {
    routing: RwLock<Arc<Routing>>,
    recorder: Arc<Recorder>,
}

impl Gateway {
    /// Listens at the addresses of a configuration.
    ///
    /// # Errors
    /// If an address is in use, or its certificate cannot be used.
    pub async fn bind(config: &Config, options: ServeOptions) -> Result<Self, BindError> {
        let tls = config.tls.clone();
        let tls = tls.map(|files| TlsFiles { certificate: files.certificate, key: files.key });
        let bind = BindOptions { tls, ..BindOptions::default() };
        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.push(Listener::bind(address, &bind).await?);
        }
        let shared = Arc::new(Shared { routing: RwLock::default(), recorder: Recorder::new() });
        let gateway = Self { server: Server::new(listeners).with_options(options), shared };
        gateway.handle().replace(config);
        Ok(gateway)
    }

    /// The addresses at which it listens, with their ports.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.server.listeners().iter().map(Listener::address)
    }

    /// The records of its requests.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.shared.recorder
    }

    /// Replaces its configuration while it runs.
    pub fn handle(&self) -> GatewayHandle {
        GatewayHandle(self.shared.clone())
    }

    /// Answers requests until `shutdown` resolves, and then those in flight.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let shared = self.shared;
        let handler = move |request, client| answer(shared.clone(), request, client);
        self.server.serve(handler, shutdown).await;
    }
}

impl GatewayHandle {
    /// Uses another configuration for all requests from now on. Those in flight end under the old one. The
    /// addresses stay as they are.
    pub fn replace(&self, config: &Config) {
        let before = self.0.routing();
        let routing = Arc::new(Routing::new(config, Some(&before)));
        for backend in routing.backends() {
            let is_new = !before.backends().any(|kept| Arc::ptr_eq(kept, backend));
            if is_new && backend.config().health.is_some() {
                tokio::spawn(watch(Arc::downgrade(backend)));
            }
        }
        *self.0.routing.write().unwrap_or_else(PoisonError::into_inner) = routing;
    }
}

impl Shared {
    fn routing(&self) -> Arc<Routing> {
        self.routing.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A request that gets no answer from a backend.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    status: StatusCode,
    /// The name in records.
    reason: &'static str,
    /// What the client reads.
    text: &'static str,
    /// Whether a token was sent, if one was needed.
    challenge: Option<bool>,
}

impl Refusal {
    const fn new(status: StatusCode, reason: &'static str, text: &'static str) -> Self {
        Self { status, reason, text, challenge: None }
    }
}

const NO_ROUTE: Refusal =
    Refusal::new(StatusCode::NOT_FOUND, "no_route", "there is nothing here\n");
const NO_BACKEND: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "no_backend",
    "there is no service for you here
",
);

/// The answers to requests without a good token (RFC 6750 section 3).
const NO_TOKEN: &str = "Bearer realm=\"weir\"";
const INVALID_TOKEN: &str = "Bearer realm=\"weir\", error=\"invalid_token\"";

async fn answer(shared: Arc<Shared>, request: Request<Incoming>, client: Client) -> Response<Body> {
    let address = client.peer().ip();
    let mut record = OpenRecord::new(&shared.recorder, &request, address);
    let routing = shared.routing();
    let backend = match admit(&routing, &request, &mut record).await {
        Ok(backend) => backend,
        Err(refusal) => return refuse(record, refusal),
    };
    record.backend = Some(backend.name().clone());
    let is_tls = Scheme::of(&request) == Scheme::Https;
    let from = Origination { client: address, is_tls, forwarded_for: None };
    match forward(backend, Forwarded { request, from, record }).await {
        Ok(response) => response,
        Err((record, error)) => {
            let text = "the service did not answer\n";
            refuse(record, Refusal::new(error.status(), error.name(), text))
        }
    }
}

/// The backend of a request that may pass.
async fn admit<'a>(
    routing: &'a Routing,
    request: &Request<Incoming>,
    record: &mut OpenRecord,
) -> Result<&'a Arc<Backend>, Refusal> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let route = routing.route(request.uri(), host).ok_or(NO_ROUTE)?;
    record.route = Some(route.name.clone());
    let token = match routing.verifier(route) {
        None => None,
        Some(verifier) => Some(verify(verifier, request, record).await?),
    };
    let claim = match (&route.config.target, &token) {
        (Target::Claim { claim, .. }, Some(token)) => claim_text(token, claim),
        _ => None,
    };
    record.claim = claim.as_deref().map(Arc::from);
    routing.backend(route, claim.as_deref()).ok_or(NO_BACKEND)
}

/// Verifies the token of a request, and notes whose it is.
async fn verify(
    verifier: &TokenVerifier,
    request: &Request<Incoming>,
    record: &mut OpenRecord,
) -> Result<Arc<VerifiedToken>, Refusal> {
    let (token, by) = authorize(verifier, request).await.map_err(unauthorized)?;
    record.token_cache = Some(match by {
        VerifiedBy::Cache => "hit",
        VerifiedBy::Signature => "miss",
    });
    record.subject = token.subject().map(Arc::from);
    Ok(token)
}

/// The client is told nothing of the reason but whether it sent a token (RFC 6750 section 3).
fn unauthorized(refusal: TokenRefusal) -> Refusal {
    let text = "a valid token is needed here\n";
    let challenge = Some(refusal.was_token_sent());
    Refusal { status: StatusCode::UNAUTHORIZED, reason: refusal.name(), text, challenge }
}

fn refuse(record: Box<OpenRecord>, refusal: Refusal) -> Response<Body> {
    record.refuse(refusal.status, refusal.reason, refusal.text.len());
    let mut response = Response::new(Body::from(refusal.text));
    *response.status_mut() = refusal.status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    if let Some(was_token_sent) = refusal.challenge {
        let challenge = if was_token_sent { INVALID_TOKEN } else { NO_TOKEN };
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}
