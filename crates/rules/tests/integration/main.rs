//! Replays of whole rules, against naive oracles.

mod fail2ban;
mod limit_req;
mod lists;
mod presets;
mod windows;
