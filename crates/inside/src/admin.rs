//! The server of the address at which a program can be looked into.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, VARY};
use hyper::{Method, Request, Response};
use weir_log::Log;
use weir_net::socket::{Address, BindError, BindOptions, Listener, reserve_connections};
use weir_net::{Body, Client, HostGuard, ServeOptions, Server};
use weir_observe::task::TaskName;
use weir_server::{AccessToken, Refusal, asset, respond};
use weir_view::to_json;

use crate::address::AdminAddress;
use crate::answers::json;
use crate::glass::{self, GlassRequest};
use crate::inside::Inside;
use crate::log::{set_filter, tail};
use crate::metrics::{TextFormat, chosen_format};
use crate::own_tasks;
use crate::pages::page_file;
use crate::profiles::{ProfileRequest, Profiles};
use crate::route::History;
use crate::tasks::{TaskWatch, TasksRequest};

/// Connections at most. A collector has one, and so has a page; idle ones make room for new ones.
const CONNECTIONS_MAX: usize = 32;

/// How long a page may leave its connection idle, and how long the head of a request may take.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Numbers are not read more often than this: what is asked for more often gets the same text again.
const FRESH_FOR: Duration = Duration::from_millis(100);

/// A server on a listening socket that does not accept connections yet.
#[derive(Debug)]
pub struct AdminServer {
    server: Server,
    address: Address,
    token: Option<AccessToken>,
    log: Option<Log>,
}

/// What all requests share.
#[derive(Debug)]
struct Shared {
    inside: Inside,
    guard: HostGuard,
    token: Option<AccessToken>,
    log: Option<Log>,
    texts: Mutex<Texts>,
    profiles: Profiles,
    route: Mutex<DrawnRoute>,
    tasks: TaskWatch,
}

/// The stages of the last seconds, and the last text of the route.
#[derive(Debug, Default)]
struct DrawnRoute {
    history: History,
    text: Option<(Instant, Arc<str>)>,
}

/// The last text in each format, and when its numbers were read.
#[derive(Debug, Default)]
struct Texts {
    prometheus: Option<(Instant, Arc<str>)>,
    open_metrics: Option<(Instant, Arc<str>)>,
}

impl AdminServer {
    /// Listens at an address. With a token, only those who have it are let in.
    ///
    /// # Errors
    /// If the address is in use.
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
        })
    }

    /// Shows the messages of a log, and lets its filter be changed.
    #[must_use]
    pub fn with_log(self, log: Log) -> Self {
        Self { log: Some(log), ..self }
    }

    /// The address, with its port.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Answers requests about the parts until `shutdown` resolves.
    pub async fn serve(self, inside: Inside, shutdown: impl Future<Output = ()>) {
        let (guard, token, log) = (HostGuard::loopback(), self.token, self.log);
        let shared = Arc::new(Shared {
            inside,
            guard,
            token,
            log,
            texts: Mutex::default(),
            profiles: Profiles::default(),
            route: Mutex::default(),
            tasks: TaskWatch::default(),
        });
        let watched = shared.clone();
        let handler = move |request: Request<Incoming>, client: Client| {
            let (asked, shared) = (shared.asked(&request), shared.clone());
            async move {
                match asked {
                    Ok(Asked::Profile(request)) => {
                        respond(Ok(shared.profiles.answer(request, &client).await))
                    }
                    Ok(Asked::Glass(request)) => {
                        respond(Ok(glass::answer(&shared.inside, request, &client).await))
                    }
                    Ok(Asked::Tasks(request)) => respond(shared.tasks(request).await),
                    Ok(Asked::Filter) => {
                        respond(Ok(set_filter(shared.log.as_ref(), request).await))
                    }
                    Ok(Asked::Now(response)) => respond(Ok(response)),
                    Err(refusal) => respond(Err(refusal)),
                }
            }
        };
        let serving = async {
            tokio::select! {
                () = self.server.serve(handler, shutdown) => {}
                never = watched.tasks.forget_old_looks() => match never {},
            }
        };
        own_tasks::SERVER.observe(TaskName::Unnamed, serving).await;
    }
}

/// The answer to a page of another site that asks for tasks: times are taken more often for a while after it.
const TASKS_OF_OTHER_SITE: &str = "a page of another site sees no tasks";

/// The answer to a page of another site that sends a filter of the log.
const FILTER_OF_OTHER_SITE: &str = "a page of another site changes no filter";

/// The answer to a page of another site that asks for a profile.
const OTHER_SITE: &str = "a page of another site takes no profiles";

/// The answer to a page of another site that asks for a request.
const OTHER_SITE_LOOKS: &str = "a page of another site sees no requests";

/// Whether a browser says that a page of another site has sent the request, with `Sec-Fetch-Site` (W3C, Fetch
/// Metadata Request Headers). A picture or a script has no `Origin`.
fn comes_from_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"))
}

/// What a request is for.
enum Asked {
    /// Something that is known now.
    Now(Response<Body>),
    /// Something that takes its time.
    Profile(Result<ProfileRequest, String>),
    /// Something that has to be waited for.
    Glass(Result<GlassRequest, String>),
    /// The tasks, which may be many.
    Tasks(TasksRequest),
    /// Another filter of the log, which is in the body.
    Filter,
}

impl Shared {
    fn asked(&self, request: &Request<Incoming>) -> Result<Asked, Refusal> {
        self.guard.check(request)?;
        if let Some(token) = &self.token
            && let Some(response) = token.check(request, None)?
        {
            return Ok(Asked::Now(response));
        }
        if request.uri().path() == "/log/filter" && request.method() == Method::POST {
            return match comes_from_another_site(request.headers()) {
                true => Err(Refusal::BadRequest(FILTER_OF_OTHER_SITE.to_owned())),
                false => Ok(Asked::Filter),
            };
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return Err(Refusal::MethodNotAllowed);
        }
        let path = request.uri().path();
        if let Some(profile) = ProfileRequest::read(path, request.uri().query()) {
            if request.method() == Method::HEAD {
                return Err(Refusal::MethodNotAllowed);
            }
            let is_own = !comes_from_another_site(request.headers());
            return Ok(Asked::Profile(if is_own { profile } else { Err(OTHER_SITE.to_owned()) }));
        }
        if let Some(asked) = TasksRequest::read(path, request.uri().query()) {
            let asked = asked.map_err(Refusal::BadRequest)?;
            if comes_from_another_site(request.headers()) {
                return Err(Refusal::BadRequest(TASKS_OF_OTHER_SITE.to_owned()));
            }
            return Ok(Asked::Tasks(asked));
        }
        if let Some(glass) = GlassRequest::read(path, request.uri().query()) {
            if request.method() == Method::HEAD {
                return Err(Refusal::MethodNotAllowed);
            }
            let is_own = !comes_from_another_site(request.headers());
            return Ok(Asked::Glass(if is_own { glass } else { Err(OTHER_SITE_LOOKS.to_owned()) }));
        }
        let found = match path {
            "/metrics" => Some(self.metrics(request)),
            "/route.json" => Some(self.route()?),
            "/log.json" => Some(tail(self.log.as_ref(), request.uri().query())),
            "/log/filter" => return Err(Refusal::MethodNotAllowed),
            // What leads from the link with a token to the page, and the icon.
            "/assets/enter.js" | "/favicon.svg" => asset(path, request),
            path => page_file(path),
        };
        found.map(Asked::Now).ok_or(Refusal::NotFound)
    }

    fn metrics(&self, request: &Request<Incoming>) -> Response<Body> {
        let accepted = request.headers().get_all(ACCEPT).iter();
        let accepted: Vec<&str> = accepted.filter_map(|value| value.to_str().ok()).collect();
        let format = chosen_format(&accepted.join(","));
        let text = self.text(format);
        let mut response = Response::new(Body::from(text.to_string()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
        headers.insert(VARY, HeaderValue::from_static("accept"));
        response
    }

    fn route(&self) -> Result<Response<Body>, Refusal> {
        let mut drawn = self.route.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let fresh = drawn.text.as_ref().filter(|(made, _)| now.duration_since(*made) < FRESH_FOR);
        let text = match fresh {
            Some((_, text)) => text.clone(),
            None => {
                let route = drawn.history.route(now, self.inside.stages());
                let text = to_json(&route).map_err(|error| Refusal::Internal(error.to_string()))?;
                let text: Arc<str> = text.into();
                drawn.text = Some((now, text.clone()));
                text
            }
        };
        Ok(json(Ok(text.to_string())))
    }

    /// Of a hundred thousand tasks it takes a tenth of a second to find those with a text.
    async fn tasks(self: &Arc<Self>, asked: TasksRequest) -> Result<Response<Body>, Refusal> {
        let shared = self.clone();
        let answer = move || to_json(&shared.tasks.answer(Instant::now(), &asked));
        let text = own_tasks::aside("tasks", answer).await;
        text.map(json).ok_or_else(|| Refusal::Internal("the program ends".to_owned()))
    }

    /// The text of the metrics, made anew if it is not fresh. One request at a time makes it, so that many
    /// collectors cost no more than one.
    fn text(&self, format: TextFormat) -> Arc<str> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match format {
            TextFormat::Prometheus => &mut texts.prometheus,
            TextFormat::OpenMetrics => &mut texts.open_metrics,
        };
        let now = Instant::now();
        match kept {
            Some((made, text)) if now.duration_since(*made) < FRESH_FOR => text.clone(),
            _ => {
                let text: Arc<str> = self.inside.scrape().text(format).into();
                *kept = Some((now, text.clone()));
                text
            }
        }
    }
}
