//! Replays of whole rules, against naive oracles.

mod limit_req;
mod lists;
mod presets;
mod windows;
