//! `GET /profile/…`: profiles that are taken while the request waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use weir_net::Body;
use weir_profile::{Profile, ProfileError, SampleRate, Sampling};

/// The longest profile, in seconds. The samples of a minute say what an hour's would, and a client that has
/// gone is noticed in this time at the latest.
const SECONDS_MAX: u64 = 60;

/// How long samples are taken if the request does not say.
const SECONDS: u64 = 10;

/// The processor time of the profile, in milliseconds, which folded stacks have no place for.
const PROCESSOR_TIME_MS: HeaderName = HeaderName::from_static("processor-time-ms");

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProfileRequest {
    format: ProfileFormat,
    /// The last profile once more, and not a new one.
    is_last: bool,
    duration: Duration,
    sample_rate: SampleRate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileFormat {
    Folded,
    Pprof,
}

/// Takes profiles, and keeps the last one.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    last: Mutex<Option<Arc<Profile>>>,
}

impl ProfileRequest {
    /// The request for a path, with its query; `None` if the path is not one of a profile.
    ///
    /// # Errors
    /// If a parameter has no valid value: a sentence.
    pub(crate) fn read(path: &str, query: Option<&str>) -> Option<Result<Self, String>> {
        let format = match path {
            "/profile/folded" => ProfileFormat::Folded,
            // The second is where programs for Go look.
            "/profile/pprof" | "/debug/pprof/profile" => ProfileFormat::Pprof,
            _ => return None,
        };
        Some(Self::with_parameters(format, query.unwrap_or_default()))
    }

    fn with_parameters(format: ProfileFormat, query: &str) -> Result<Self, String> {
        let (mut seconds, mut sample_rate, mut is_last) = (SECONDS, SampleRate::default(), false);
        for parameter in query.split('&').filter(|it| !it.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "last" => is_last = true,
                "seconds" => {
                    let valid = value.parse().ok().filter(|it| (1..=SECONDS_MAX).contains(it));
                    seconds = valid.ok_or_else(|| {
                        format!("seconds={value}: write a number from 1 to {SECONDS_MAX}")
                    })?;
                }
                "hz" => {
                    let valid = value.parse().ok().and_then(SampleRate::new);
                    sample_rate = valid.ok_or_else(|| {
                        format!("hz={value}: write a number from 1 to {}", SampleRate::HZ_MAX)
                    })?;
                }
                other => return Err(format!("`{other}` is none of seconds, hz and last")),
            }
        }
        Ok(Self { format, is_last, duration: Duration::from_secs(seconds), sample_rate })
    }
}

impl Profiles {
    /// Takes the profile that a client asks for. If the client goes, the profile ends with its request.
    pub(crate) async fn answer(&self, request: Result<ProfileRequest, String>) -> Response<Body> {
        let request = match request {
            Ok(request) => request,
            Err(message) => return sentence(StatusCode::BAD_REQUEST, &message),
        };
        let profile = match request.is_last {
            true => self.last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            false => match take(request).await {
                Ok(profile) => Some(self.keep(profile)),
                Err(error) => return sentence(status(&error), &error.to_string()),
            },
        };
        match profile {
            Some(profile) => written(&profile, request.format),
            None => sentence(StatusCode::NOT_FOUND, "no profile has been taken yet"),
        }
    }

    fn keep(&self, profile: Profile) -> Arc<Profile> {
        let profile = Arc::new(profile);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(profile.clone());
        profile
    }
}

async fn take(request: ProfileRequest) -> Result<Profile, ProfileError> {
    let sampling = aside(move || Sampling::start(request.sample_rate)).await?;
    tokio::time::sleep(request.duration).await;
    aside(move || sampling.finish()).await
}

/// Calls a function that takes a while.
async fn aside<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, ProfileError> + Send + 'static,
) -> Result<T, ProfileError> {
    let called = tokio::task::spawn_blocking(function).await;
    called.unwrap_or_else(|_| Err(ProfileError::Refused("the program ends".to_owned())))
}

fn status(error: &ProfileError) -> StatusCode {
    match error {
        ProfileError::Running => StatusCode::CONFLICT,
        ProfileError::Refused(_) => StatusCode::SERVICE_UNAVAILABLE,
        ProfileError::Unsupported => StatusCode::NOT_IMPLEMENTED,
    }
}

fn written(profile: &Profile, format: ProfileFormat) -> Response<Body> {
    let (bytes, content_type) = match format {
        ProfileFormat::Folded => (profile.folded().into_bytes(), "text/plain; charset=utf-8"),
        ProfileFormat::Pprof => (profile.pprof(), "application/octet-stream"),
    };
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    let milliseconds = u64::try_from(profile.processor_time.as_millis()).unwrap_or(u64::MAX);
    headers.insert(PROCESSOR_TIME_MS, HeaderValue::from(milliseconds));
    response
}

fn sentence(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{message}\n")));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use super::{Duration, ProfileFormat, ProfileRequest, SampleRate};

    #[test]
    fn parameters_are_checked() {
        let read = |path: &str, query| ProfileRequest::read(path, query);
        let expected = |format, is_last, seconds, hz| {
            let (duration, sample_rate) = (Duration::from_secs(seconds), SampleRate::new(hz));
            let sample_rate = sample_rate.expect("a rate");
            Some(Ok(ProfileRequest { format, is_last, duration, sample_rate }))
        };
        let (folded, pprof) = (ProfileFormat::Folded, ProfileFormat::Pprof);
        assert_eq!(read("/profile/folded", None), expected(folded, false, 10, 99));
        let asked = read("/profile/pprof", Some("seconds=60&hz=999"));
        assert_eq!(asked, expected(pprof, false, 60, 999));
        let asked = read("/debug/pprof/profile", Some("last&seconds=1"));
        assert_eq!(asked, expected(pprof, true, 1, 99));
        assert_eq!(read("/profile", None), None);
        for query in ["seconds=0", "seconds=3600", "seconds=-1", "hz=1000", "hz=x", "second=1"] {
            let asked = read("/profile/folded", Some(query)).expect("a path of a profile");
            assert!(asked.is_err(), "{query}");
        }
    }
}
