//! Profiles, recorded calls and stacks of threads. They are taken while the request waits.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::time::sleep;
use weir_net::{Body, Client};
use weir_observe::call::{CallCounts, Recording};
use weir_profile::{
    Profile, ProfileError, ProfileKind, SampleRate, Sampling, ThreadStack, thread_stacks,
};
use weir_server::query_parameters;
use weir_view::{CallProfile, FunctionCalls, NamedStack, ThreadStacks, to_json};

use crate::answers::{json, sentence};
use crate::own_tasks;
use crate::parameters::{ParameterError, parse_seconds};
use crate::profile_stages::stage_of;
use crate::profile_store::{KEPT_MAX, ProfileStore};

/// The default duration of a profile, in seconds.
const PROFILE_SECONDS: u64 = 10;

// Headers with the metadata of a profile, because folded stacks have no room for it.

/// The number by which the profile can be requested again.
const PROFILE_ID: HeaderName = HeaderName::from_static("profile-id");
/// The amount that all samples together represent.
const PROFILE_TOTAL: HeaderName = HeaderName::from_static("profile-total");
/// The unit of that amount.
const PROFILE_UNIT: HeaderName = HeaderName::from_static("profile-unit");
/// The number of samples lost because a table was full.
const PROFILE_LOST: HeaderName = HeaderName::from_static("profile-lost");

/// A request for a profile, for recorded calls or for stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileRequest {
    /// A new profile.
    New(NewProfileRequest),
    /// A stored profile by its number, or the last one.
    Stored(ProfileFormat, Option<u64>),
    /// A recording of the calls of marked functions, of this duration.
    Calls(Duration),
    /// The current stacks of all threads.
    Stacks,
}

/// The parameters of a new profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewProfileRequest {
    format: ProfileFormat,
    kind: ProfileKind,
    duration: Duration,
    sample_rate: SampleRate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileFormat {
    Folded,
    /// With the stage before the thread.
    FoldedByStage,
    /// With the stage as a label.
    Pprof,
}

/// Takes profiles, and stores the last ones.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    store: ProfileStore,
}

impl ProfileRequest {
    /// Parses a path with its query; `None` if the path is not one of a profile.
    ///
    /// # Errors
    /// If a parameter is invalid.
    pub(crate) fn read(path: &str, query: Option<&str>) -> Option<Result<Self, ParameterError>> {
        let format = match path {
            "/profile/calls.json" => return Some(Self::calls(query)),
            "/threads/stacks.json" => return Some(Ok(Self::Stacks)),
            "/profile/folded" => ProfileFormat::Folded,
            // The second path is the convention of Go programs.
            "/profile/pprof" | "/debug/pprof/profile" => ProfileFormat::Pprof,
            _ => return None,
        };
        Some(Self::samples(format, query))
    }

    fn samples(format: ProfileFormat, query: Option<&str>) -> Result<Self, ParameterError> {
        let mut new = NewProfileRequest {
            format,
            kind: ProfileKind::Processor,
            duration: Duration::from_secs(PROFILE_SECONDS),
            sample_rate: SampleRate::default(),
        };
        let (mut wants_last, mut id) = (false, None);
        let mut format = format;
        for (name, value) in query_parameters(query) {
            match name.as_str() {
                "last" => wants_last = true,
                "id" => {
                    let wrong = |_| ParameterError::value("id", &value, "the number of a profile");
                    id = Some(value.parse().map_err(wrong)?);
                }
                "seconds" => new.duration = parse_seconds(&value)?,
                "by" => match value.as_str() {
                    "thread" => {}
                    "stage" if format == ProfileFormat::Folded => {
                        format = ProfileFormat::FoldedByStage;
                    }
                    // The label is always there.
                    "stage" => {}
                    other => return Err(ParameterError::value("by", other, "thread or stage")),
                },
                "kind" => new.kind = kind(&value)?,
                "hz" => {
                    let valid = value.parse().ok().and_then(SampleRate::new);
                    new.sample_rate = valid.ok_or_else(|| {
                        let expected = format!("a number from 1 to {}", SampleRate::HZ_MAX);
                        ParameterError::value("hz", &value, expected)
                    })?;
                }
                other => {
                    let known = "seconds, hz, kind, by, last or id";
                    return Err(ParameterError::unknown(other, known));
                }
            }
        }
        new.format = format;
        let wants_stored = wants_last || id.is_some();
        Ok(if wants_stored { Self::Stored(format, id) } else { Self::New(new) })
    }

    fn calls(query: Option<&str>) -> Result<Self, ParameterError> {
        let mut duration = Duration::from_secs(PROFILE_SECONDS);
        for (name, value) in query_parameters(query) {
            match name.as_str() {
                "seconds" => duration = parse_seconds(&value)?,
                other => return Err(ParameterError::unknown(other, "seconds")),
            }
        }
        Ok(Self::Calls(duration))
    }
}

fn kind(value: &str) -> Result<ProfileKind, ParameterError> {
    match value {
        "processor" => Ok(ProfileKind::Processor),
        "waiting" => Ok(ProfileKind::Waiting),
        "allocated" => Ok(ProfileKind::Allocated),
        "held" => Ok(ProfileKind::Held),
        other => {
            let expected = "processor, waiting, allocated or held";
            Err(ParameterError::value("kind", other, expected))
        }
    }
}

impl Profiles {
    /// Answers a request. If the client disconnects, the profile ends.
    pub(crate) async fn answer(
        &self,
        request: Result<ProfileRequest, ParameterError>,
        client: &Client,
    ) -> Response<Body> {
        tokio::select! {
            answer = self.answer_connected(request) => answer,
            // This response cannot be delivered any more.
            () = client.sending_closed() => {
                sentence(StatusCode::REQUEST_TIMEOUT, "the client has disconnected")
            }
        }
    }

    async fn answer_connected(
        &self,
        request: Result<ProfileRequest, ParameterError>,
    ) -> Response<Body> {
        match request {
            Err(error) => sentence(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(ProfileRequest::Calls(duration)) => record_calls(duration).await,
            Ok(ProfileRequest::Stacks) => collect_stacks().await,
            Ok(ProfileRequest::Stored(format, id)) => match self.store.find(id) {
                Some((id, profile)) => profile_response(&profile, id, format),
                None => sentence(StatusCode::NOT_FOUND, &not_stored(id)),
            },
            Ok(ProfileRequest::New(request)) => match take_profile(request).await {
                Ok(profile) => {
                    let profile = Arc::new(profile);
                    let id = self.store.add(profile.clone());
                    profile_response(&profile, id, request.format)
                }
                Err(error) => error_response(&error),
            },
        }
    }
}

fn not_stored(id: Option<u64>) -> String {
    match id {
        None => "no profile has been taken yet".to_owned(),
        Some(_) => format!(
            "this profile is not stored any more: only the last {KEPT_MAX} are; take another one"
        ),
    }
}

async fn take_profile(request: NewProfileRequest) -> Result<Profile, ProfileError> {
    let sampling = run_blocking(move || Sampling::start(request.kind, request.sample_rate)).await?;
    let mut sampling = CancellableSampling(Some(sampling));
    sleep(request.duration).await;
    let Some(sampling) = sampling.0.take() else { return Err(ProfileError::Unsupported) };
    run_blocking(move || Ok(sampling.finish())).await
}

/// A sampling that may be cancelled. It is then dropped on a blocking thread, because that takes a
/// while.
struct CancellableSampling(Option<Sampling>);

impl Drop for CancellableSampling {
    fn drop(&mut self) {
        if let Some(sampling) = self.0.take() {
            tokio::task::spawn_blocking(move || drop(sampling));
        }
    }
}

/// Calls a function on a blocking thread.
async fn run_blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, ProfileError> + Send + 'static,
) -> Result<T, ProfileError> {
    let result = own_tasks::run_blocking("profile", function).await;
    result.unwrap_or_else(|| Err(ProfileError::Refused("the program is ending".to_owned())))
}

fn error_response(error: &ProfileError) -> Response<Body> {
    let status = match error {
        ProfileError::Running => StatusCode::CONFLICT,
        ProfileError::Refused(_) => StatusCode::SERVICE_UNAVAILABLE,
        ProfileError::Unsupported => StatusCode::NOT_IMPLEMENTED,
    };
    sentence(status, &error.to_string())
}

/// The type of folded stacks.
const TEXT: &str = "text/plain; charset=utf-8";

fn profile_response(profile: &Profile, id: u64, format: ProfileFormat) -> Response<Body> {
    let (bytes, content_type) = match format {
        ProfileFormat::Folded => (profile.folded().into_bytes(), TEXT),
        ProfileFormat::FoldedByStage => (profile.folded_by(stage_of).into_bytes(), TEXT),
        ProfileFormat::Pprof => (profile.pprof_with("stage", stage_of), "application/octet-stream"),
    };
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(PROFILE_ID, HeaderValue::from(id));
    headers.insert(PROFILE_TOTAL, HeaderValue::from(profile.total));
    headers.insert(PROFILE_UNIT, HeaderValue::from_static(profile.kind.unit()));
    headers.insert(PROFILE_LOST, HeaderValue::from(profile.lost));
    response
}

/// Records the calls of marked functions for a duration.
async fn record_calls(duration: Duration) -> Response<Body> {
    let recording = match Recording::start() {
        Ok(recording) => recording,
        Err(error) => return sentence(StatusCode::CONFLICT, &error.to_string()),
    };
    let start = Instant::now();
    sleep(duration).await;
    let seconds = start.elapsed().as_secs_f64();
    let calls = recording.finish().iter().map(function_calls).collect();
    json(to_json(&CallProfile { seconds, calls }))
}

fn function_calls(counts: &CallCounts) -> FunctionCalls {
    FunctionCalls {
        caller: counts.caller.map(str::to_owned),
        name: counts.name.to_owned(),
        calls: counts.calls,
        own: counts.own.as_secs_f64(),
        accumulated: counts.accumulated.as_secs_f64(),
    }
}

/// Collects the stacks of all threads. It runs on a new thread, because the calling thread's stack
/// is missing from the result.
async fn collect_stacks() -> Response<Body> {
    let stacks = own_tasks::run_on_new_thread("stacks", thread_stacks).await;
    let to_profile_error = |error: io::Error| Err(ProfileError::Refused(error.to_string()));
    match stacks.unwrap_or_else(to_profile_error) {
        Ok(stacks) => {
            let threads = stacks.into_iter().map(named_stack).collect();
            json(to_json(&ThreadStacks { threads }))
        }
        Err(error) => error_response(&error),
    }
}

fn named_stack(stack: ThreadStack) -> NamedStack {
    let ThreadStack { id, name, state, functions } = stack;
    let functions = functions.iter().map(|name| name.to_string()).collect();
    NamedStack { id, name, state: state.to_string(), functions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_checked() {
        let read = |path: &str, query| ProfileRequest::read(path, query);
        let samples = |format, kind, seconds, hz| {
            let (duration, sample_rate) = (Duration::from_secs(seconds), SampleRate::new(hz));
            let sample_rate = sample_rate.expect("a rate");
            let wanted = NewProfileRequest { format, kind, duration, sample_rate };
            Some(Ok(ProfileRequest::New(wanted)))
        };
        let (folded, pprof) = (ProfileFormat::Folded, ProfileFormat::Pprof);
        let (processor, waiting) = (ProfileKind::Processor, ProfileKind::Waiting);
        assert_eq!(read("/profile/folded", None), samples(folded, processor, 10, 99));
        let asked = read("/profile/pprof", Some("seconds=60&hz=999&kind=waiting"));
        assert_eq!(asked, samples(pprof, waiting, 60, 999));
        let asked = read("/debug/pprof/profile", Some("last&seconds=1"));
        assert_eq!(asked, Some(Ok(ProfileRequest::Stored(pprof, None))));
        let asked = read("/profile/folded", Some("id=7"));
        assert_eq!(asked, Some(Ok(ProfileRequest::Stored(folded, Some(7)))));
        let asked = read("/profile/folded", Some("by=stage&id=7"));
        let by_stage = ProfileFormat::FoldedByStage;
        assert_eq!(asked, Some(Ok(ProfileRequest::Stored(by_stage, Some(7)))));
        let asked = read("/profile/folded", Some("by=st%61ge"));
        assert_eq!(asked, samples(by_stage, processor, 10, 99));
        let asked = read("/profile/calls.json", Some("seconds=2"));
        assert_eq!(asked, Some(Ok(ProfileRequest::Calls(Duration::from_secs(2)))));
        assert_eq!(read("/threads/stacks.json", None), Some(Ok(ProfileRequest::Stacks)));
        assert_eq!(read("/profile", None), None);
        for (path, query) in [
            ("/profile/folded", "seconds=0"),
            ("/profile/folded", "seconds=3600"),
            ("/profile/folded", "seconds=-1"),
            ("/profile/folded", "hz=1000"),
            ("/profile/folded", "hz=x"),
            ("/profile/folded", "second=1"),
            ("/profile/folded", "by=name"),
            ("/profile/pprof", "kind=heap"),
            ("/profile/pprof", "id=x"),
            ("/profile/calls.json", "hz=1"),
            ("/profile/calls.json", "seconds=61"),
        ] {
            let asked = read(path, Some(query)).expect("a path of a profile");
            assert!(asked.is_err(), "{path}?{query}");
        }
    }
}
