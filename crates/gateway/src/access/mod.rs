//! What a route asks of a request before it is forwarded: where its token is, what the token has to
//! say, which pages may read the answer, and what is passed on about the sender.

pub(crate) mod authorize;
pub(crate) mod challenge;
pub(crate) mod client_certificate;
pub(crate) mod cors;
pub(crate) mod forwarded_claims;
pub(crate) mod key_refresh;
pub(crate) mod requirement;
pub(crate) mod token_place;
