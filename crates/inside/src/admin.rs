//! The admin server.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, VARY};
use hyper::{Method, Request, Response};
use weir_log::Log;
use weir_net::socket::{Address, BindError, BindOptions, Listener, reserve_connections};
use weir_net::{Body, Client, GuardError, HostGuard, IncomingBody, ServeOptions, Server};
use weir_observe::task::TaskName;
use weir_server::{AccessToken, Refusal, respond};
use weir_sync::Lock;
use weir_view::to_json;

use crate::address::AdminAddress;
use crate::answers::json;
use crate::capture::{self, CaptureRequest};
use crate::inside::Inside;
use crate::log::{set_filter, tail};
use crate::metrics::{TextFormat, negotiate_format};
use crate::own_tasks;
use crate::pages::page_file;
use crate::parameters::ParameterError;
use crate::profiles::{ProfileRequest, Profiles};
use crate::route::History;
use crate::tasks::{TaskMonitor, TasksRequest};

/// The most connections. A collector and a page need one each; idle ones are closed in favour of
/// new ones.
const CONNECTIONS_MAX: usize = 32;

/// How long a connection may be idle, and how long the head of a request may take.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Responses are cached for this long, which bounds how often the numbers are collected.
const FRESH_FOR: Duration = Duration::from_millis(100);

/// An admin server whose socket is bound, and which does not accept connections before
/// [`Self::serve`].
#[derive(Debug)]
pub struct AdminServer {
    server: Server,
    address: Address,
    token: Option<AccessToken>,
    log: Option<Log>,
    /// The address of the page of the traffic.
    traffic: Option<String>,
}

/// The state that all requests share.
#[derive(Debug)]
struct Shared {
    inside: Inside,
    guard: HostGuard,
    token: Option<AccessToken>,
    log: Option<Log>,
    traffic: Option<String>,
    metrics: Lock<MetricsCache>,
    profiles: Profiles,
    route: Lock<RouteCache>,
    tasks: TaskMonitor,
}

/// The stages of the last seconds, and the last JSON of the route with its time.
#[derive(Debug, Default)]
struct RouteCache {
    history: History,
    text: Option<(Instant, Arc<str>)>,
}

/// The last text in each format with the time of its numbers.
#[derive(Debug, Default)]
struct MetricsCache {
    prometheus: Option<(Instant, Arc<str>)>,
    open_metrics: Option<(Instant, Arc<str>)>,
}

impl AdminServer {
    /// Binds an address. With a token, requests need it.
    ///
    /// # Errors
    /// If the address cannot be bound, for example because it is in use.
    pub async fn bind(
        address: &AdminAddress,
        token: Option<AccessToken>,
        options: BindOptions,
    ) -> Result<Self, BindError> {
        let listener = Listener::bind(address.socket_address(), &options).await?;
        weir_observe::task::enable();
        let address = listener.address().clone();
        let options = ServeOptions {
            connections_max: reserve_connections(CONNECTIONS_MAX).connections_max,
            header_timeout: HEADER_TIMEOUT,
            grace_period: Duration::from_millis(500),
            ..ServeOptions::default()
        };
        Ok(Self {
            server: Server::new([listener])
                .with_options(options)
                .with_task_kind(&own_tasks::CONNECTION),
            address,
            token,
            log: None,
            traffic: None,
        })
    }

    /// Adds a log, whose messages can be read and whose filter can be changed.
    #[must_use]
    pub fn with_log(self, log: Log) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Makes the pages link to the page of the traffic at this address.
    #[must_use]
    pub fn with_traffic(self, address: String) -> Self {
        Self { traffic: Some(address), ..self }
    }

    /// Returns the bound address, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Answers requests about the parts until `shutdown` resolves.
    pub async fn serve(self, inside: Inside, shutdown: impl Future<Output = ()> + Send) {
        self.run(inside, pin!(shutdown)).await;
    }

    /// Boxed so that the server is compiled in this crate, not in each crate that calls it.
    fn run<'a>(
        self,
        inside: Inside,
        shutdown: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let shared = Arc::new(Shared {
            inside,
            guard: HostGuard::loopback(),
            token: self.token,
            log: self.log,
            traffic: self.traffic,
            metrics: Lock::default(),
            profiles: Profiles::default(),
            route: Lock::default(),
            tasks: TaskMonitor::default(),
        });
        let monitored = shared.clone();
        let handler = move |request: Request<IncomingBody>, client: Client| {
            let (action, shared) = (shared.dispatch(&request), shared.clone());
            async move {
                match action {
                    Ok(Action::Profile(request)) => {
                        respond(Ok(shared.profiles.answer(request, &client).await))
                    }
                    Ok(Action::Capture(request)) => {
                        respond(Ok(capture::answer(&shared.inside, request, &client).await))
                    }
                    Ok(Action::ListTasks(request)) => respond(shared.tasks(request).await),
                    Ok(Action::SetFilter) => {
                        respond(Ok(set_filter(shared.log.as_ref(), request).await))
                    }
                    Ok(Action::Respond(response)) => respond(Ok(response)),
                    Err(refusal) => respond(Err(refusal)),
                }
            }
        };
        let serving = async move {
            tokio::select! {
                () = self.server.serve(handler, shutdown) => {}
                never = monitored.tasks.drop_old_snapshots() => match never {},
            }
        };
        Box::pin(own_tasks::SERVER.observe(TaskName::Unnamed, serving))
    }
}

/// Returns the methods of an address, as in `Allow`.
fn methods_of(path: &str) -> &'static str {
    if path == "/log/filter" { "POST" } else { "GET, HEAD" }
}

/// Refuses a request that a page of another site sent, according to `Sec-Fetch-Site` (W3C, Fetch
/// Metadata Request Headers). `Origin` would not suffice: requests for images and scripts have
/// none. Only the requests that have a cost are checked: even after a list of tasks, polls are
/// timed more often.
fn check_site(headers: &HeaderMap) -> Result<(), Refusal> {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(GuardError::ForeignOrigin.into()),
    }
}

/// How to answer a request.
enum Action {
    /// Send a response that is ready.
    Respond(Response<Body>),
    /// Take a profile, which takes seconds, or return a stored one.
    Profile(Result<ProfileRequest, ParameterError>),
    /// Wait for a capture.
    Capture(Result<CaptureRequest, ParameterError>),
    /// List tasks on a blocking thread, because they may be many.
    ListTasks(TasksRequest),
    /// Replace the log filter by the request body.
    SetFilter,
}

impl Shared {
    /// Checks a request, and chooses the action that answers it.
    fn dispatch(&self, request: &Request<IncomingBody>) -> Result<Action, Refusal> {
        self.guard.check(request)?;
        if let Some(token) = &self.token
            && let Some(response) = token.check(request, None)?
        {
            return Ok(Action::Respond(response));
        }
        if request.uri().path() == "/log/filter" && request.method() == Method::POST {
            check_site(request.headers())?;
            return Ok(Action::SetFilter);
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return Err(Refusal::MethodNotAllowed(methods_of(request.uri().path())));
        }
        let path = request.uri().path();
        if let Some(profile) = ProfileRequest::read(path, request.uri().query()) {
            if request.method() == Method::HEAD {
                return Err(Refusal::MethodNotAllowed("GET"));
            }
            check_site(request.headers())?;
            return Ok(Action::Profile(profile));
        }
        if let Some(tasks) = TasksRequest::read(path, request.uri().query()) {
            check_site(request.headers())?;
            return Ok(Action::ListTasks(
                tasks.map_err(|error| Refusal::BadRequest(error.to_string()))?,
            ));
        }
        if let Some(capture) = CaptureRequest::read(path, request.uri().query()) {
            if request.method() == Method::HEAD {
                return Err(Refusal::MethodNotAllowed("GET"));
            }
            check_site(request.headers())?;
            return Ok(Action::Capture(capture));
        }
        let response = match path {
            "/metrics" => Some(self.metrics(request)),
            "/route.json" => Some(self.route()?),
            "/log.json" => Some(tail(self.log.as_ref(), request.uri().query())),
            "/log/filter" => return Err(Refusal::MethodNotAllowed(methods_of(path))),
            path => page_file(path, request, self.traffic.as_deref()),
        };
        response.map(Action::Respond).ok_or(Refusal::NotFound)
    }

    fn metrics(&self, request: &Request<IncomingBody>) -> Response<Body> {
        let accepted = request.headers().get_all(ACCEPT).iter();
        let accepted: Vec<&str> = accepted.filter_map(|value| value.to_str().ok()).collect();
        let format = negotiate_format(&accepted.join(","));
        let text = self.metrics_text(format);
        let mut response = Response::new(Body::from(text.to_string()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
        headers.insert(VARY, HeaderValue::from_static("accept"));
        response
    }

    fn route(&self) -> Result<Response<Body>, Refusal> {
        let mut cache = self.route.lock();
        let now = Instant::now();
        let fresh = cache.text.as_ref().filter(|(made, _)| now.duration_since(*made) < FRESH_FOR);
        let text = match fresh {
            Some((_, text)) => text.clone(),
            None => {
                let mut route = cache.history.route(now, self.inside.stages());
                route.limits = self.inside.limits();
                let text = to_json(&route).map_err(|error| Refusal::Internal(error.to_string()))?;
                let text: Arc<str> = text.into();
                cache.text = Some((now, text.clone()));
                text
            }
        };
        Ok(json(Ok(text.to_string())))
    }

    /// Lists tasks on a blocking thread: a text search over a hundred thousand tasks takes a tenth
    /// of a second.
    async fn tasks(self: &Arc<Self>, request: TasksRequest) -> Result<Response<Body>, Refusal> {
        let shared = self.clone();
        let answer = move || to_json(&shared.tasks.answer(Instant::now(), &request));
        let text = own_tasks::run_blocking("tasks", answer).await;
        text.map(json).ok_or_else(|| Refusal::Internal("the program is ending".to_owned()))
    }

    /// Returns the text of the metrics, cached for [`FRESH_FOR`]. The lock ensures that concurrent
    /// requests collect the numbers only once.
    fn metrics_text(&self, format: TextFormat) -> Arc<str> {
        let mut cache = self.metrics.lock();
        let entry = match format {
            TextFormat::Prometheus => &mut cache.prometheus,
            TextFormat::OpenMetrics => &mut cache.open_metrics,
        };
        let now = Instant::now();
        match entry {
            Some((made, text)) if now.duration_since(*made) < FRESH_FOR => text.clone(),
            _ => {
                let text: Arc<str> = self.inside.scrape().text(format).into();
                *entry = Some((now, text.clone()));
                text
            }
        }
    }
}
