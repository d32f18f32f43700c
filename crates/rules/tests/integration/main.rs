//! Replays of whole rules, against naive oracles.

mod limit_req;
mod windows;
