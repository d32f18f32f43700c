//! Verifies the token of a request between the limits that do not depend on it and those that do.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::http::request::Parts;

use super::fields::AnswerFields;
use super::{RouteMatch, hit_or_miss, note_crawler};
use crate::access::authorize::authorize;
use crate::header_fields::RequestOrigin;
use crate::limits::{Admission, Arrival, LimitPhase};
use crate::record::OpenRecord;
use crate::refusal::Refusal;
use crate::routing::{RouteGuard, Routing};
use crate::token::{IssuerChoice, VerifiedBy, VerifiedToken};

/// Verifies the token of a request if its route needs one, and counts the request in all limits:
/// before that in those that do not depend on the token, and after it in the others. They come before
/// any other work for the client. They count even requests that are refused for another reason,
/// because a replay over the records sees those too.
pub(super) async fn verify_within_limits<'a>(
    routing: &Routing,
    request: &Parts,
    from: RequestOrigin<'_>,
    matched: Result<RouteMatch<'a>, Refusal>,
    record: &mut OpenRecord,
    fields: &mut AnswerFields,
) -> Result<RouteMatch<'a>, Refusal> {
    let mut counting = Counting { routing, request, from, admission: Admission::default() };
    let named = matched.as_ref().map_or(&[][..], |matched| &matched.route.config.limits);
    counting.count(LimitPhase::BeforeToken, named, None, record);
    let verified = match matched {
        Ok(matched) if counting.admission.rejected.is_none() => {
            note_crawler(routing, matched.signature.as_deref(), record);
            match matched.route.config.certificate.check(from.certificate) {
                Ok(()) => verify_token(request, matched, record, fields).await,
                Err(fault) => Err(fault.into()),
            }
        }
        other => other,
    };
    if counting.admission.rejected.is_none() {
        let token = verified.as_ref().ok().and_then(|matched| matched.token.as_deref());
        counting.count(LimitPhase::AfterToken, named, token, record);
    }
    let Admission { delay, rejected, .. } = counting.admission;
    record.set_admission(counting.admission);
    if let Some(rejection) = rejected {
        return Err(rejection.into());
    }
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
        record.lap("delay", || "by the limits");
    }
    verified
}

async fn verify_token<'a>(
    request: &Parts,
    matched: RouteMatch<'a>,
    record: &mut OpenRecord,
    fields: &mut AnswerFields,
) -> Result<RouteMatch<'a>, Refusal> {
    let token = match &matched.route.guard {
        RouteGuard::Open => None,
        RouteGuard::Unknown => return Err(Refusal::NO_ISSUER),
        RouteGuard::Issuers(issuers) => {
            fields.challenges.clone_from(&matched.route.challenges);
            Some(verify(issuers, request, record).await?)
        }
    };
    Ok(RouteMatch { token, ..matched })
}

/// Verifies the token of a request, and records its subject.
async fn verify(
    issuers: &IssuerChoice,
    request: &Parts,
    record: &mut OpenRecord,
) -> Result<Arc<VerifiedToken>, Refusal> {
    let authorized = authorize(issuers, request).await;
    record.lap("token", || match &authorized {
        Ok((_, VerifiedBy::Cache)) => "remembered",
        Ok(_) => "verified",
        Err(refusal) => refusal.name(),
    });
    let (token, by) = authorized?;
    record.token_cache = Some(hit_or_miss(by == VerifiedBy::Cache));
    record.subject = token.subject().cloned();
    Ok(token)
}

/// A request while it is counted in limits.
struct Counting<'a> {
    routing: &'a Routing,
    request: &'a Parts,
    from: RequestOrigin<'a>,
    admission: Admission,
}

impl Counting<'_> {
    /// Counts the request in the limits of a phase. Its time is the time of the decision, so that a
    /// slow check before it does not look like a clock jump.
    fn count(
        &mut self,
        phase: LimitPhase,
        named: &[String],
        token: Option<&VerifiedToken>,
        record: &OpenRecord,
    ) {
        let Self { routing, request, from, admission } = self;
        if routing.limits.have(phase) {
            let arrival = Arrival::new(request, from.client, None).with_token(token);
            let arrival = arrival.with_certificate(from.certificate);
            routing.limits.admit(admission, phase, named, &arrival, now_ns());
            record.lap("limits", || describe_admission(admission));
        }
    }
}

/// The decision of the limits, for the request's capture.
fn describe_admission(admission: &Admission) -> String {
    match &admission.decision {
        Some(decision) => format!("{}: {}", decision.limit, decision.verdict),
        None => "passed".to_owned(),
    }
}

/// The system time in nanoseconds since 1970.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
