//! What takes its time: profiles, and the stacks of threads. It is taken while the request waits.

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
use weir_view::{CallProfile, FunctionCalls, NamedStack, ThreadStacks, to_json};

use crate::answers::{json, sentence};
use crate::kept_profiles::{KEPT_MAX, KeptProfiles};
use crate::own_tasks;

/// The longest profile, in seconds. The samples of a minute say what an hour's would.
const SECONDS_MAX: u64 = 60;

/// How long samples are taken if the request does not say.
const SECONDS: u64 = 10;

/// The number of a profile, by which it is had once more; what all samples together stand for, its unit, and the
/// samples for which there was no room: folded stacks have no place for them.
const PROFILE_ID: HeaderName = HeaderName::from_static("profile-id");
const PROFILE_TOTAL: HeaderName = HeaderName::from_static("profile-total");
const PROFILE_UNIT: HeaderName = HeaderName::from_static("profile-unit");
const PROFILE_LOST: HeaderName = HeaderName::from_static("profile-lost");

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileRequest {
    /// Samples.
    Samples(SamplesRequest),
    /// The samples with a number once more, or without one the last, and not new ones.
    Kept(ProfileFormat, Option<u64>),
    /// The calls of marked functions in a time.
    Calls(Duration),
    /// The stacks of all threads.
    Stacks,
}

/// What samples a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SamplesRequest {
    format: ProfileFormat,
    kind: ProfileKind,
    duration: Duration,
    sample_rate: SampleRate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileFormat {
    Folded,
    Pprof,
}

/// Takes profiles, and keeps the last ones.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    kept: KeptProfiles,
}

impl ProfileRequest {
    /// The request for a path, with its query; `None` if the path is not one of a profile.
    ///
    /// # Errors
    /// If a parameter has no valid value: a sentence.
    pub(crate) fn read(path: &str, query: Option<&str>) -> Option<Result<Self, String>> {
        let query = query.unwrap_or_default();
        let format = match path {
            "/profile/calls.json" => return Some(Self::calls(query)),
            "/threads/stacks.json" => return Some(Ok(Self::Stacks)),
            "/profile/folded" => ProfileFormat::Folded,
            // The second is where programs for Go look.
            "/profile/pprof" | "/debug/pprof/profile" => ProfileFormat::Pprof,
            _ => return None,
        };
        Some(Self::samples(format, query))
    }

    fn samples(format: ProfileFormat, query: &str) -> Result<Self, String> {
        let mut wanted = SamplesRequest {
            format,
            kind: ProfileKind::Processor,
            duration: Duration::from_secs(SECONDS),
            sample_rate: SampleRate::default(),
        };
        let (mut is_last, mut id) = (false, None);
        for (name, value) in parameters(query) {
            match name {
                "last" => is_last = true,
                "id" => {
                    let number = value.parse();
                    let wrong = |_| format!("id={value}: write the number of a profile");
                    id = Some(number.map_err(wrong)?);
                }
                "seconds" => wanted.duration = seconds(value)?,
                "kind" => wanted.kind = kind(value)?,
                "hz" => {
                    let valid = value.parse().ok().and_then(SampleRate::new);
                    wanted.sample_rate = valid.ok_or_else(|| {
                        format!("hz={value}: write a number from 1 to {}", SampleRate::HZ_MAX)
                    })?;
                }
                other => {
                    return Err(format!("`{other}` is none of seconds, hz, kind, last and id"));
                }
            }
        }
        let is_kept = is_last || id.is_some();
        Ok(if is_kept { Self::Kept(format, id) } else { Self::Samples(wanted) })
    }

    fn calls(query: &str) -> Result<Self, String> {
        let mut duration = Duration::from_secs(SECONDS);
        for (name, value) in parameters(query) {
            match name {
                "seconds" => duration = seconds(value)?,
                other => return Err(format!("`{other}` is not seconds")),
            }
        }
        Ok(Self::Calls(duration))
    }
}

/// The parameters of a query, each with its value.
fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let parameters = query.split('&').filter(|it| !it.is_empty());
    parameters.map(|it| it.split_once('=').unwrap_or((it, "")))
}

fn seconds(value: &str) -> Result<Duration, String> {
    let valid = value.parse().ok().filter(|it| (1..=SECONDS_MAX).contains(it));
    let seconds = valid.map(Duration::from_secs);
    seconds.ok_or_else(|| format!("seconds={value}: write a number from 1 to {SECONDS_MAX}"))
}

fn kind(value: &str) -> Result<ProfileKind, String> {
    match value {
        "processor" => Ok(ProfileKind::Processor),
        "waiting" => Ok(ProfileKind::Waiting),
        "allocated" => Ok(ProfileKind::Allocated),
        "held" => Ok(ProfileKind::Held),
        other => Err(format!("kind={other}: write processor, waiting, allocated or held")),
    }
}

impl Profiles {
    /// Takes what a client asks for. If the client goes, it ends.
    pub(crate) async fn answer(
        &self,
        request: Result<ProfileRequest, String>,
        client: &Client,
    ) -> Response<Body> {
        tokio::select! {
            answer = self.taken(request) => answer,
            // Nobody is there to read why.
            () = client.sending_closed() => sentence(StatusCode::REQUEST_TIMEOUT, "the client has gone"),
        }
    }

    async fn taken(&self, request: Result<ProfileRequest, String>) -> Response<Body> {
        match request {
            Err(message) => sentence(StatusCode::BAD_REQUEST, &message),
            Ok(ProfileRequest::Calls(duration)) => calls(duration).await,
            Ok(ProfileRequest::Stacks) => stacks().await,
            Ok(ProfileRequest::Kept(format, id)) => match self.kept.find(id) {
                Some((id, profile)) => written(&profile, id, format),
                None => sentence(StatusCode::NOT_FOUND, &not_kept(id)),
            },
            Ok(ProfileRequest::Samples(wanted)) => match take(wanted).await {
                Ok(profile) => {
                    let profile = Arc::new(profile);
                    let id = self.kept.keep(profile.clone());
                    written(&profile, id, wanted.format)
                }
                Err(error) => refused(&error),
            },
        }
    }
}

fn not_kept(id: Option<u64>) -> String {
    match id {
        None => "no profile has been taken yet".to_owned(),
        Some(_) => format!(
            "this profile is kept no longer, only the last {KEPT_MAX} are; take another one"
        ),
    }
}

async fn take(wanted: SamplesRequest) -> Result<Profile, ProfileError> {
    let sampling = aside(move || Sampling::start(wanted.kind, wanted.sample_rate)).await?;
    let mut sampling = EndedAside(Some(sampling));
    sleep(wanted.duration).await;
    let Some(sampling) = sampling.0.take() else { return Err(ProfileError::Unsupported) };
    aside(move || Ok(sampling.finish())).await
}

/// Samples that end on a thread of their own if the client goes: this takes a while, too.
struct EndedAside(Option<Sampling>);

impl Drop for EndedAside {
    fn drop(&mut self) {
        if let Some(sampling) = self.0.take() {
            tokio::task::spawn_blocking(move || drop(sampling));
        }
    }
}

/// Calls a function that takes a while.
async fn aside<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, ProfileError> + Send + 'static,
) -> Result<T, ProfileError> {
    let called = own_tasks::aside("profile", function).await;
    called.unwrap_or_else(|| Err(ProfileError::Refused("the program ends".to_owned())))
}

fn refused(error: &ProfileError) -> Response<Body> {
    let status = match error {
        ProfileError::Running => StatusCode::CONFLICT,
        ProfileError::Refused(_) => StatusCode::SERVICE_UNAVAILABLE,
        ProfileError::Unsupported => StatusCode::NOT_IMPLEMENTED,
    };
    sentence(status, &error.to_string())
}

fn written(profile: &Profile, id: u64, format: ProfileFormat) -> Response<Body> {
    let (bytes, content_type) = match format {
        ProfileFormat::Folded => (profile.folded().into_bytes(), "text/plain; charset=utf-8"),
        ProfileFormat::Pprof => (profile.pprof(), "application/octet-stream"),
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

/// Records the calls of marked functions for a while.
async fn calls(duration: Duration) -> Response<Body> {
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

/// The thread that takes the stacks has none itself, so it is not one of those that are listed.
async fn stacks() -> Response<Body> {
    let taken = own_tasks::alone("stacks", thread_stacks).await;
    let refused_thread = |error: io::Error| Err(ProfileError::Refused(error.to_string()));
    match taken.unwrap_or_else(refused_thread) {
        Ok(stacks) => {
            let threads = stacks.into_iter().map(named_stack).collect();
            json(to_json(&ThreadStacks { threads }))
        }
        Err(error) => refused(&error),
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
            let wanted = SamplesRequest { format, kind, duration, sample_rate };
            Some(Ok(ProfileRequest::Samples(wanted)))
        };
        let (folded, pprof) = (ProfileFormat::Folded, ProfileFormat::Pprof);
        let (processor, waiting) = (ProfileKind::Processor, ProfileKind::Waiting);
        assert_eq!(read("/profile/folded", None), samples(folded, processor, 10, 99));
        let asked = read("/profile/pprof", Some("seconds=60&hz=999&kind=waiting"));
        assert_eq!(asked, samples(pprof, waiting, 60, 999));
        let asked = read("/debug/pprof/profile", Some("last&seconds=1"));
        assert_eq!(asked, Some(Ok(ProfileRequest::Kept(pprof, None))));
        let asked = read("/profile/folded", Some("id=7"));
        assert_eq!(asked, Some(Ok(ProfileRequest::Kept(folded, Some(7)))));
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
